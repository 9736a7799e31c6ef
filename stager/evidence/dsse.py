"""DSSE envelopes signed with an OpenSSH key file, made and checked by securesystemslib.

The envelope is written in one form only (canonical JSON), and anything else is refused on reading: the parts of an
envelope that no signature covers then have no room for change either.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stager.errors import UsageError
from stager.evidence.signers import Signer, fingerprint
from stager.evidence.statements import PAYLOAD_TYPE
from stager.extras import install_command
from stager.models.base import canonical_json


class BadSignature(UsageError):
    """A signed file is not what was signed, or not signed by anyone allowed."""


def sign(payload: bytes, key_file: Path, passphrase: bytes | None = None) -> tuple[bytes, str]:
    """Sign a payload with an OpenSSH private key; return the envelope and the key's fingerprint.

    Raises:
        UsageError: the ``attest`` extra is missing, or the key cannot be used (the sentence says what to do).
    """
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key
        from securesystemslib.dsse import Envelope
        from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]  # not in its __all__
    except ImportError as error:
        raise _missing_extra() from error
    try:
        key = load_ssh_private_key(key_file.read_bytes(), passphrase)
    except OSError as error:
        raise UsageError(f"The key {key_file} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"The key {key_file} cannot be used: {error}. A key with a passphrase signs through the agent: "
            f"load it with `ssh-add`, then name its public half, {key_file}.pub."
        ) from error
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    try:
        envelope.sign(CryptoSigner(key))
    except ValueError as error:
        raise UsageError(f"The key {key_file} is of a kind that cannot sign statements: {error}.") from error
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return canonical_json(envelope.to_dict()), fingerprint(public.split()[1])


def verify(content: bytes, signers: Sequence[Signer]) -> tuple[bytes, Signer]:
    """Return the payload of an envelope and the signer whose signature over it holds.

    Raises:
        BadSignature: not in the form it was written, or no signature by one of these signers holds.
        UsageError: the ``attest`` extra is missing.
    """
    try:
        from securesystemslib.dsse import Envelope
        from securesystemslib.exceptions import VerificationError
    except ImportError as error:
        raise _missing_extra() from error
    try:
        envelope = Envelope.from_dict(json.loads(content))
        unchanged = canonical_json(envelope.to_dict()) == content
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSignature(f"it is not a DSSE envelope ({error})") from error
    if not unchanged or envelope.payload_type != PAYLOAD_TYPE:
        raise BadSignature("the envelope is not in the form stager wrote it: it was changed")
    for signer in signers:
        key = _key(signer)
        try:
            if key is not None and envelope.verify([key], 1):
                return envelope.payload, signer
        except VerificationError:
            continue
    known = ", ".join(signer.fingerprint for signer in signers) or "none"
    raise BadSignature(
        f"no signature by an allowed key holds: the statement or the signature was changed, or it was signed by "
        f"another key (allowed: {known})"
    )


def pae(payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding of a payload: the bytes that are signed."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _key(signer: Signer) -> Any:  # noqa: ANN401 - the library's own type is only there with the extra
    """The signer's key as securesystemslib wants it; None for keys that only ssh-keygen understands (FIDO)."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]  # not in its __all__

    try:
        return SSlibKey.from_crypto(load_ssh_public_key(signer.public_key.encode()))
    except (ValueError, UnsupportedAlgorithm):
        return None


def _missing_extra() -> UsageError:
    return UsageError("Signed statements need an extra that is not installed.", next=install_command("stager[attest]"))

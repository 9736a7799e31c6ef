"""Detached signatures by ssh-keygen -Y, for keys whose raw signature cannot be had: agent and FIDO keys."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stager.errors import UsageError
from stager.evidence.dsse import BadSignature
from stager.evidence.signers import NAMESPACE, Signer

#: A FIDO key waits for a touch; nobody waits longer than this.
TOUCH_SECONDS = 60


def sign_command(key: Path) -> tuple[str, ...]:
    """The command that signs what comes on stdin with a key file, or with the agent if it is a public key."""
    return ("ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE)


def verify_command(allowed: Path, principal: str, signature: Path) -> tuple[str, ...]:
    """The command that checks a signature over what comes on stdin; an operator can type the same."""
    return ("ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", principal, "-n", NAMESPACE, "-s", str(signature))


def sign(message: bytes, key: Path) -> bytes:
    """Return the armoured signature over a message.

    Raises:
        UsageError: there is no ssh-keygen, or it would not sign (its own words are given).
    """
    done = _run(sign_command(key), message)
    if done.returncode != 0:
        raise UsageError(f"ssh-keygen would not sign with {key}: {_words(done.stderr)}.", next="ssh-add -L")
    return done.stdout


def verify(message: bytes, signature: bytes, signers: Sequence[Signer]) -> Signer:
    """Return the signer whose signature over the message holds.

    Raises:
        BadSignature: none does.
        UsageError: there is no ssh-keygen.
    """
    said = []
    with tempfile.TemporaryDirectory(prefix="stager-") as folder:
        signature_file = Path(folder, "message.sshsig")
        signature_file.write_bytes(signature)
        allowed = Path(folder, "allowed_signers")
        for signer in signers:
            # One line at a time, without its own options: those have been checked, and the answer names one signer.
            allowed.write_text(f'signer namespaces="{NAMESPACE}" {signer.public_key}\n')
            done = _run(verify_command(allowed, "signer", signature_file), message)
            if done.returncode == 0:
                return signer
            said.append(_words(done.stderr))
    raise BadSignature(
        "the detached signature does not hold: the statement or the signature was changed, or it was signed by "
        f"another key ({'; '.join(dict.fromkeys(said)) or 'no signer is allowed'})"
    )


def _run(command: tuple[str, ...], message: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, input=message, capture_output=True, timeout=TOUCH_SECONDS, check=False)
    except FileNotFoundError as error:
        raise UsageError("ssh-keygen is not installed here (Debian: openssh-client).") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"ssh-keygen did not answer within {TOUCH_SECONDS} s; does the key wait for a touch?"
        ) from error


def _words(stderr: bytes) -> str:
    return " ".join(stderr.decode(errors="replace").split())[:300].rstrip(".") or "it gave no reason"

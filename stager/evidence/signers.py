"""Who may sign: lines of OpenSSH's allowed_signers format, and the keys in them.

A line is ``PRINCIPALS [OPTIONS] KEYTYPE BASE64 [COMMENT]`` (ssh-keygen(1), ALLOWED SIGNERS).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from stager.errors import InvalidFile

#: What our signatures are made for; a signature made for mail or git does not count here.
NAMESPACE = "in-toto@stager"

_KEY_TYPE = re.compile(r"(ssh-(ed25519|rsa)|ecdsa-sha2-nistp\d+|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)\Z")


@dataclass(frozen=True)
class Signer:
    """One allowed signer: who, with which key, for which namespaces and until when."""

    principals: str
    key_type: str
    blob: str
    namespaces: str = ""
    valid_after: datetime | None = None
    valid_before: datetime | None = None

    @property
    def fingerprint(self) -> str:
        """The key's fingerprint as ssh-keygen -l prints it."""
        return fingerprint(self.blob)

    @property
    def public_key(self) -> str:
        """The key as in a .pub file."""
        return f"{self.key_type} {self.blob}"

    def may_sign(self, now: datetime) -> bool:
        """Whether this line allows our namespace at this time."""
        named = not self.namespaces or any(fnmatchcase(NAMESPACE, part) for part in self.namespaces.split(","))
        begun = self.valid_after is None or now >= self.valid_after
        return named and begun and (self.valid_before is None or now < self.valid_before)


def fingerprint(blob: str) -> str:
    """Return ``SHA256:...`` of a public key's base64 form."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(base64.b64decode(blob)).digest()).decode().rstrip("=")


def parse_signers(lines: Iterable[str]) -> list[Signer]:
    """Read allowed_signers lines; blank lines and comments are skipped.

    Raises:
        InvalidFile: a line is none; all of them are named.
    """
    signers, complaints = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            signers.append(_parse(line))
        except ValueError as error:
            complaints.append(f"signer {number}: {error}: {line.strip()[:60]}")
    if complaints:
        raise InvalidFile("\n".join(complaints))
    return signers


def _parse(line: str) -> Signer:
    words = shlex.split(line.strip(), comments=True)
    options: dict[str, str] = {}
    place = 1
    while place < len(words) and not _KEY_TYPE.match(words[place]):
        for option in _split_options(words[place]):
            name, _, value = option.partition("=")
            options[name.lower()] = value
        place += 1
    if place + 1 >= len(words):
        raise ValueError("expected PRINCIPALS [OPTIONS] KEYTYPE BASE64")
    unknown = set(options) - {"namespaces", "valid-after", "valid-before"}
    if unknown:  # cert-authority among them: a certificate is more than these checks understand
        raise ValueError(f"option {', '.join(sorted(unknown))} is not supported here")
    try:
        base64.b64decode(words[place + 1], validate=True)
    except binascii.Error:
        raise ValueError("the key is not base64") from None
    return Signer(
        principals=words[0],
        key_type=words[place],
        blob=words[place + 1],
        namespaces=options.get("namespaces", ""),
        valid_after=_moment(options["valid-after"]) if "valid-after" in options else None,
        valid_before=_moment(options["valid-before"]) if "valid-before" in options else None,
    )


def _split_options(word: str) -> list[str]:
    """Split at commas, but not at those between two namespaces (shlex has taken the quotes away)."""
    return re.split(r",(?=[a-zA-Z-]+=|cert-authority)", word)


def _moment(text: str) -> datetime:
    for form in ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"):
        plain = text.removesuffix("Z")
        if len(plain) == len(datetime(2000, 1, 1, tzinfo=UTC).strftime(form)):
            moment = datetime.strptime(plain, form)  # noqa: DTZ007 - the zone is added on the next line
            return moment.replace(tzinfo=UTC) if text.endswith("Z") else moment.astimezone()
    raise ValueError(f"expected a time such as 20270101 or 202701011200Z, not {text}")

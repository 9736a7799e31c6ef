"""Reading a policy file, or the one that is shipped with stager."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from stager.errors import InvalidFile
from stager.evidence.signers import Signer, parse_signers
from stager.models.policy import Policy
from stager.models.source import read

DEFAULT = "default-policy.yaml"


def load_policy(path: Path | None) -> Policy:
    """Read a policy; None means the default one.

    Raises:
        InvalidFile: it cannot be read or does not say what it must; every complaint at once.
    """
    if path is None:
        return read_policy(default_text(), f"the default policy ({DEFAULT})")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: the policy cannot be read ({error}).", next="stager gate --help") from error
    return read_policy(text, str(path))


def read_policy(text: str, name: str) -> Policy:
    """Read a policy from text; ``name`` is the file in the complaints.

    Raises:
        InvalidFile: it does not say what it must.
    """
    policy = read(text, name, Policy)
    try:
        parse_signers(policy.signers)
    except InvalidFile as error:
        raise InvalidFile(f"{name}: signers: {error.message}") from error
    return policy


def default_text() -> str:
    """Return the default policy as it is shipped, with its comments."""
    return files("stager.evidence").joinpath(DEFAULT).read_text(encoding="utf-8")


def signers_file(path: Path) -> list[Signer]:
    """Read an allowed_signers file.

    Raises:
        InvalidFile: it cannot be read, or a line of it is none.
    """
    try:
        return parse_signers(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: the allowed signers cannot be read ({error}).") from error
    except InvalidFile as error:
        raise InvalidFile(f"{path}: {error.message}") from error

"""Reading a policy file, or the one that is shipped with stager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from stager.errors import InvalidFile
from stager.evidence.signers import Signer, parse_signers
from stager.models.complaint import Complaint, invalid
from stager.models.policy import Policy
from stager.models.source import Source

DEFAULT = "default-policy.yaml"


#: Probe -> the claims it answers.
Catalogue = Mapping[str, Iterable[str]]


def load_policy(path: Path | None, catalogue: Catalogue | None = None) -> Policy:
    """Read a policy; None means the default one.

    Args:
        path: the file.
        catalogue: the probes there are, each with its claims; a policy that asks for another could never be met.

    Raises:
        InvalidFile: it cannot be read or does not say what it must; every complaint at once.
    """
    if path is None:
        return read_policy(default_text(), f"the default policy ({DEFAULT})", catalogue)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = _unreadable(error)
        raise InvalidFile(f"{path}: the policy cannot be read: {why}.", next="stager gate --help") from error
    return read_policy(text, str(path), catalogue)


def read_policy(text: str, name: str, catalogue: Catalogue | None = None) -> Policy:
    """Read a policy from text; ``name`` is the file in the complaints.

    Raises:
        InvalidFile: it does not say what it must.
    """
    source = Source.parse(text, name)
    if source.at(("candidate",)) and source.at(("production",)) and not source.at(("claims",)):
        raise InvalidFile(
            f"{name}: this is a playbook, not a policy: a policy lists the claims that a build must have shown."
            + (f" The policy that this playbook names is {own}." if (own := source.at(("policy",))) else ""),
            next="stager gate --help",
        )
    policy, found = source.check(Policy)
    found += _unknown_claims(source, catalogue or {})
    if policy is None or found:
        raise invalid(found)
    try:
        parse_signers(policy.signers)
    except InvalidFile as error:
        raise InvalidFile(f"{name}: signers: {error.message}") from error
    return policy


def _unknown_claims(source: Source, catalogue: Catalogue) -> Iterator[Complaint]:
    """Yield a complaint for each probe that does not exist, and each claim that its probe does not answer."""
    claims = source.at(("claims",))
    if not catalogue or not isinstance(claims, list):
        return
    for number, entry in enumerate(claims):
        probe, claim = (entry.get("probe"), entry.get("claim")) if isinstance(entry, dict) else (None, None)
        if isinstance(probe, str):
            yield from source.unknown(probe, catalogue, ("claims", number, "probe"))
        if isinstance(probe, str) and isinstance(claim, str) and probe in catalogue:
            yield from source.unknown(claim, catalogue[probe], ("claims", number, "claim"))


def _unreadable(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text"


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
        raise InvalidFile(f"{path}: the allowed signers cannot be read: {_unreadable(error)}.") from error
    except InvalidFile as error:
        raise InvalidFile(f"{path}: {error.message}") from error

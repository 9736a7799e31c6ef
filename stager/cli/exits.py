"""What each exit code means, in the words of the README and of every ``--help``."""

from __future__ import annotations

from collections.abc import Iterable

from stager.errors import (
    CandidateFailed,
    HostHeld,
    InvalidFile,
    LeftForPerson,
    NotRestored,
    Refused,
    StagerError,
    Stopped,
    Unreachable,
    UsageError,
)

#: What may come of taking production down and bringing it back.
DOWN_AND_UP = (Refused, LeftForPerson, NotRestored, Unreachable, HostHeld, Stopped)
#: What may come of starting a playbook's build in between.
STAGING = (InvalidFile, *DOWN_AND_UP, CandidateFailed)

MEANINGS: dict[int, str] = {
    0: "done, and what was asked is true",
    1: "a fault in stager itself",
    2: "wrong use of the command line",
    3: "playbook, marker or policy file invalid: file, line, key and what was expected are named",
    4: "preflight refused (all reasons are given), or production did not drain; nothing was stopped",
    5: "the candidate did not become ready, or died (with the end of its log)",
    6: "some claim failed, is inconclusive, or could not be measured",
    7: "the gate says no",
    8: "cleaned up and production restored, but something was left for a person",
    9: "production is not as it was, or the connection was lost in mid-run: act now",
    10: "host unreachable, its key unknown or changed, or the login refused",
    11: "another run holds the host",
    129: "hung up; cleanup has run",
    130: "interrupted; cleanup has run",
    143: "terminated; cleanup has run",
}


def codes_of(errors: Iterable[type[StagerError]]) -> tuple[int, ...]:
    """Return the exit codes of a command that may raise these errors, with those every command has."""
    codes = {0, 1, 2}
    for error in errors:
        codes |= {129, 130, 143} if issubclass(error, Stopped) else {error.exit_code}
    return tuple(sorted(codes | {UsageError.exit_code}))


def table(codes: Iterable[int]) -> str:
    """Return the lines of a help text: one code and its meaning each."""
    return "\n".join(f"  {code:>3}  {MEANINGS[code]}" for code in codes)

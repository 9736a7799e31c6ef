"""The error tree, and the exit codes it carries.

StagerError                  1    a fault in stager itself
├── UsageError               2    wrong use of the command line
├── InvalidFile              3    playbook, marker or policy: file, line, key, what was expected
├── Refused                  4    preflight said no, with every reason; nothing was stopped
│   └── NotDrained           4    production still worked when its drain time was over
├── CandidateFailed          5    did not become ready, or died; carries the end of its log
├── NotShown                 6    a claim failed, is inconclusive or could not be measured
├── GateRefused              7    the gate says no
├── LeftForPerson            8    restored, but something was left for a person
├── NotRestored              9    production is not as it was
│   └── ConnectionLost       9    the link broke in mid-run; the host's verdict is not known yet
├── Unreachable              10   no route, no answer, timed out
│   ├── HostKeyRefused       10   key unknown, changed, or of another type
│   └── LoginRefused         10   no key or agent was accepted
├── HostHeld                 11   another run holds the host
│   └── Fenced               11   our run was ended by the host's guard; a late change was refused
└── Stopped                  129, 130, 143   hung up, interrupted, terminated

Every error says three things besides its message: its ``kind``, what became of the host, and
the command to type next. Printing is done in one place (``stager.cli.main``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

UNTOUCHED = "untouched"
RESTORED = "restored"
CHANGED = "changed"
UNKNOWN = "unknown"

#: Gravest first (design: Gravity of exit codes).
GRAVITY: tuple[int, ...] = (9, 8, 1, 129, 130, 143, 5, 6, 7, 4, 11, 10, 3, 2, 0)


def gravest(codes: Iterable[int]) -> int:
    """Return the gravest of some exit codes; an unknown code counts as a fault of stager's own (1)."""
    known = [code if code in GRAVITY else 1 for code in codes]
    return min(known, key=GRAVITY.index, default=0)


class StagerError(Exception):
    """A fault in stager itself, and the root of every error it raises.

    Args:
        message: one or more full sentences for the operator.
        host_state: what became of the host: untouched, restored, changed or unknown, or a sentence.
        next: the command to type next; empty where there is none.
        details: anything a script may want besides; goes into the JSON document.
    """

    exit_code: ClassVar[int] = 1
    default_host_state: ClassVar[str] = UNKNOWN

    def __init__(self, message: str, *, host_state: str | None = None, next: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.host_state = host_state if host_state is not None else self.default_host_state
        self.next = next
        self.details: Mapping[str, Any] = details

    @property
    def kind(self) -> str:
        """The class name in kebab case, e.g. ``host-held``."""
        name = type(self).__name__
        return "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))

    @property
    def code(self) -> int:
        """The process exit code."""
        return self.exit_code

    def document(self) -> dict[str, Any]:
        """The JSON form fixed by the contract."""
        return {
            "error": {
                "code": self.code,
                "kind": self.kind,
                "message": self.message,
                "host_state": self.host_state,
                "next": self.next,
                **self.details,
            }
        }


class UsageError(StagerError):
    """Wrong use of the command line."""

    exit_code = 2
    default_host_state = UNTOUCHED


class InvalidFile(StagerError):
    """A file the operator wrote does not say what it must; one sentence per complaint."""

    exit_code = 3
    default_host_state = UNTOUCHED


class Refused(StagerError):
    """Preflight said no. ``reasons`` holds all of them, not the first."""

    exit_code = 4
    default_host_state = UNTOUCHED

    def __init__(
        self, reasons: Iterable[str], *, host_state: str | None = None, next: str = "", **details: Any
    ) -> None:
        self.reasons = tuple(reasons)
        super().__init__(
            "\n".join(self.reasons), host_state=host_state, next=next, reasons=list(self.reasons), **details
        )


class NotDrained(Refused):
    """Production still had work when its drain time was over; nothing was stopped."""


class CandidateFailed(StagerError):
    """The candidate did not become ready, or died; ``log`` is the end of its output."""

    exit_code = 5
    default_host_state = RESTORED


class NotShown(StagerError):
    """Some claim failed, is inconclusive or could not be measured."""

    exit_code = 6
    default_host_state = UNTOUCHED


class GateRefused(StagerError):
    """The gate says no."""

    exit_code = 7
    default_host_state = UNTOUCHED


class LeftForPerson(StagerError):
    """Cleaned up and restored, but something was left for a person to decide."""

    exit_code = 8
    default_host_state = RESTORED


class NotRestored(StagerError):
    """Production is not as it was, whoever did it."""

    exit_code = 9
    default_host_state = CHANGED


class ConnectionLost(NotRestored):
    """The connection broke in mid-run; the guard on the host restores without us."""

    default_host_state = UNKNOWN


class Unreachable(StagerError):
    """The host cannot be reached."""

    exit_code = 10
    default_host_state = UNTOUCHED


class HostKeyRefused(Unreachable):
    """The host's key is unknown, has changed, or is of another type than the known one."""


class LoginRefused(Unreachable):
    """The host accepted none of our keys."""


class HostHeld(StagerError):
    """Another run holds the host."""

    exit_code = 11
    default_host_state = UNTOUCHED


class Fenced(HostHeld):
    """The host's guard ended our run meanwhile and refuses our late change."""

    default_host_state = "this run was ended by the guard on the host; nothing we asked for was done"


class Stopped(StagerError):
    """Hung up (129), interrupted (130) or terminated (143); cleanup has run."""

    default_host_state = RESTORED

    def __init__(self, signum: int, *, host_state: str | None = None, next: str = "") -> None:
        words = {1: "hung up", 2: "interrupted", 15: "terminated"}
        super().__init__(
            f"stager was {words.get(signum, f'ended by signal {signum}')}.", host_state=host_state, next=next
        )
        self.signum = signum

    @property
    def code(self) -> int:
        """128 plus the signal's number."""
        return 128 + self.signum

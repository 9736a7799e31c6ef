"""What the host program refuses or cannot do, as the controller will read it."""

from __future__ import annotations

from typing import Any, Dict


class Fault(Exception):
    """An answer of the kind ``error``; ``kind`` decides the controller's exit code."""

    kind = "fault"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def document(self) -> Dict[str, Any]:
        """The error as it goes into the frame."""
        return dict(self.details, kind=self.kind, message=self.message)


class Refused(Fault):
    """Nothing was changed; ``reasons`` are all the reasons."""

    kind = "refused"

    def __init__(self, *reasons: str, **details: Any) -> None:
        super().__init__("\n".join(reasons), reasons=list(reasons), **details)


class NotDrained(Refused):
    """Production still had work when its time was over."""

    kind = "not-drained"


class Held(Fault):
    """Another run holds the host; ``owner`` is its record."""

    kind = "held"


class Fenced(Fault):
    """The run went on without the caller: a restore or another controller took it over."""

    kind = "fenced"


class CandidateFailed(Fault):
    """The candidate did not become ready, or died; ``log`` is the end of its output."""

    kind = "candidate-failed"


class NotRestored(Fault):
    """Production is not as it was."""

    kind = "not-restored"

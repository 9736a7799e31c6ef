"""From what the host answered, or did not, to our own errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stager.errors import (
    CandidateFailed,
    ConnectionLost,
    Fenced,
    HostHeld,
    InvalidFile,
    LeftForPerson,
    NotDrained,
    NotRestored,
    Refused,
    StagerError,
    Unreachable,
)

_BY_KIND: dict[str, type[StagerError]] = {
    "candidate-failed": CandidateFailed,
    "fenced": Fenced,
    "held": HostHeld,
    "invalid": InvalidFile,
    "left": LeftForPerson,
    "not-restored": NotRestored,
}
_WITH_REASONS: dict[str, type[Refused]] = {"refused": Refused, "not-drained": NotDrained}


def from_answer(error: Mapping[str, Any]) -> StagerError:
    """Return the error an answer's ``error`` object stands for; an unknown kind is a fault of stager's own."""
    rest = {k: v for k, v in error.items() if k not in ("kind", "message", "host_state", "next", "reasons", "details")}
    details = {**rest, **(error.get("details") or {})}
    for taken in ("message", "host_state", "next", "reasons"):
        details.pop(taken, None)
    kind, message = str(error.get("kind", "")), str(error.get("message") or "The host gave no reason.")
    host_state, step = error.get("host_state"), str(error.get("next") or "")
    if kind in _WITH_REASONS:
        reasons = [str(r) for r in error.get("reasons") or [message]]
        return _WITH_REASONS[kind](reasons, host_state=host_state, next=step, **details)
    return _BY_KIND.get(kind, StagerError)(message, host_state=host_state, next=step, **details)


def broken(address: str, why: str, *, fence: int | None, restore_by: str | None, on_host: str) -> StagerError:
    """Return what a broken channel means: nothing was changed yet, or the guard on the host takes over.

    Args:
        address: the host.
        why: a clause, e.g. ``"nothing was heard for 20 s"``.
        fence: the run's fence number; None before the first change.
        restore_by: a time, e.g. ``"03:12"``, where it is known.
        on_host: the command to type on the host itself.
    """
    why = why.rstrip(".")
    if fence is None:
        return Unreachable(f"The connection to {address} broke: {why}. Nothing had been changed there.", next="")
    guard = (
        f"The guard there restores production by {restore_by}" if restore_by else "The guard there restores production"
    )
    return ConnectionLost(
        f"The connection to {address} was lost in mid-run: {why}. {guard} without us; "
        "to do it now, type the command on the host itself.",
        host_state=f"not known from here; {guard[0].lower()}{guard[1:]}",
        next=on_host,
        restore_by=restore_by,
    )


def unusable_python(address: str, hello: Mapping[str, Any]) -> Refused:
    """Return why the host's Python will not do."""
    missing = hello.get("missing") or []
    if missing:
        why = (
            f"python3 on {address} lacks {', '.join(missing)} from its own standard library (a minimal package). "
            "Install the full one."
        )
        step = "apt-get install python3"
    else:
        why = f"python3 on {address} is {hello.get('python')}; stager needs 3.9 or newer there."
        step = f"ssh {address} ls /usr/bin/python3*"  # shows whether a newer one is there beside it
    return Refused([why], next=step)


def no_python(address: str, python: str, stderr: str) -> Refused:
    """Return that there is no Python on the host."""
    said = clause(stderr)
    return Refused(
        [f"{address} has no {python}{said}. stager's part on the host needs Python 3.9 or newer."],
        next="apt-get install python3",
    )


def unusable_state(address: str, hello: Mapping[str, Any]) -> Refused:
    """Return why the state folder will not do."""
    return Refused(
        [f"{address} cannot keep stager's program in {hello.get('state')}: {hello.get('said')}."],
        next=f"ls -ld {hello.get('state')}",
    )


def no_sudo(address: str, user: str, python: str, stderr: str) -> Refused:
    """Return that sudo wants a password or forbids it, with the line that allows it."""
    why = (
        f"sudo on {address} does not let {user} run {python} without a password{clause(stderr)}. stager never answers "
        "a prompt. Add this line to a file in /etc/sudoers.d (it is worth full root): "
        f"{user} ALL=(root) NOPASSWD: {python}"
    )
    return Refused(
        [why],
        next="visudo -f /etc/sudoers.d/stager",
        sudoers=f"{user} ALL=(root) NOPASSWD: {python}",
    )


def no_start(address: str, status: int | None, stderr: str, noise: str) -> Refused:
    """Return that the program did not start, with whatever was said in its place."""
    said = clause(stderr) or clause(noise)
    ended = f"ended with status {status}" if status is not None else "ended"
    return Refused([f"stager's program did not start on {address}: the command {ended}{said}."], next=f"ssh {address}")


def clause(text: str) -> str:
    """Return the last few printed lines, in brackets, as one clause."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return f" ({' / '.join(lines[-3:])})".rstrip(".") if lines else ""

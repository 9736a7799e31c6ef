"""One conversation with one host about one playbook: connected, asked, and told what to do."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from stager.clock import SystemClock
from stager.host.base import Host
from stager.host.connect import connect
from stager.host.onhost import OnHost
from stager.models.playbook import HostSpec
from stager.models.record import Step

CLOCK = SystemClock()
Listener = Callable[[str, dict[str, Any]], None]


def quiet(step: str, event: dict[str, Any]) -> None:
    """Listen to nothing."""


class Session:
    """A host with its program, and the steps done there so far.

    Args:
        host: the connection.
        onhost: the program on it.
        listen: told of each step's beginning (``{"event": "begin"}``), its events and its end (``{"event": "end"}``).
    """

    def __init__(self, host: Host, onhost: OnHost, listen: Listener = quiet) -> None:
        self.host = host
        self.onhost = onhost
        self.listen = listen
        self.steps: list[Step] = []

    @property
    def state(self) -> str:
        """The state folder on the host."""
        return str(self.onhost.hello["state"])

    def call(self, verb: str, step: str, **args: Any) -> Any:  # noqa: ANN401
        """Ask for one thing, passing its events on under the step's name."""
        return self.onhost.call(verb, args, on_event=lambda event: self.listen(step, event))

    @contextmanager
    def step(self, name: str, *, changed: bool, note: str = "") -> Iterator[None]:
        """Time one step and keep it for the record, also when it fails."""
        self.listen(name, {"event": "begin"})
        begun = CLOCK.monotonic()
        try:
            yield
        finally:
            seconds = CLOCK.monotonic() - begun
            self.steps.append(Step(name=name, seconds=round(seconds, 3), changed=changed, note=note))
            self.listen(name, {"event": "end", "seconds": seconds})

    def granted(self, answer: dict[str, Any]) -> None:
        """Take a fence that the host granted, and remember when its guard would restore."""
        self.onhost.fence = int(answer["fence"])
        self.onhost.run = str(answer["run_id"])
        self.onhost.pace(float(answer["spec"]["guard"]["lease"]))
        self.expect(float(answer["restore_in"]))

    def expect(self, seconds: float) -> None:
        """Remember when the guard restores if nothing is heard of us from now on (this machine's clock, for people)."""
        by = datetime.now(UTC).astimezone() + timedelta(seconds=seconds)
        self.onhost.restore_by = f"{by:%H:%M}"


@contextmanager
def open_session(spec: HostSpec, listen: Listener = quiet) -> Iterator[Session]:
    """Connect, start the program there, and close both at the end.

    Raises:
        Unreachable, HostKeyRefused, LoginRefused: no connection.
        Refused: no usable Python or state folder there.
    """
    host = connect(spec)
    try:
        with OnHost(host, become=spec.become, state=spec.state) as onhost:
            yield Session(host, onhost, listen)
    finally:
        host.close()


def owner_record(verb: str) -> dict[str, Any]:
    """Who asks: written into the host's index, so that another user sees who holds it."""
    return {
        "holder": f"{getpass.getuser()}@{socket.gethostname()}",
        "controller_pid": os.getpid(),
        "verb": verb,
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }

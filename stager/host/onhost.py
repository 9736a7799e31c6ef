"""The conversation with ``stager/onhost``: one command, one channel, framed JSON."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Self

from stager.errors import StagerError, Unreachable
from stager.host import failures
from stager.host.base import Host
from stager.host.boot import Booted, boot
from stager.host.inbox import End
from stager.host.liveness import Liveness
from stager.host.outbox import Outbox
from stager.host.program import Program, build_program
from stager.onhost import protocol

Listener = Callable[[dict[str, Any]], None]


class OnHost:
    """The program on the host, started and spoken to.

    ``hello`` is what it said first; ``exchanges`` counts requests with their answers (handshake, beats and events are
    none). ``fence``, ``restore_by`` (a time in words) and ``run`` (its id) are set by whoever learns them, and decide
    what a broken channel means.

    Args:
        host: where to start it.
        become: ``"sudo"`` to run it as root by ``sudo -n``.
        state: its state folder; None for the default of the user it runs as.
        program: other bytes than the installed ``stager/onhost``.
        python: the interpreter there.
        beat_every: seconds between signs of life while waiting.
        ping_after: seconds of silence before the host is asked for one.
        dead_after: seconds of silence that make it dead.

    Raises:
        Refused: no usable Python, no sudo, no state folder; the host is untouched.
        Unreachable: the connection broke.
    """

    def __init__(
        self,
        host: Host,
        *,
        become: str = "none",
        state: str | None = None,
        program: Program | None = None,
        python: str = "python3",
        beat_every: float = 5.0,
        ping_after: float = 10.0,
        dead_after: float = 20.0,
    ) -> None:
        self.exchanges = 0
        self.fence: int | None = None
        self.restore_by: str | None = None
        self.run: str | None = None
        self._address = host.address
        self._beat_every = beat_every
        self._booted: Booted = boot(host, become=become, state=state, program=program or build_program(), python=python)
        self.hello: dict[str, Any] = self._booted.hello
        self._ids = 0
        self._live = Liveness(ping_after, dead_after, time.monotonic())
        self._events: deque[dict[str, Any]] = deque(maxlen=1000)
        self._calling = threading.Lock()
        self._outbox = Outbox(self._booted.pipe)
        self._over: StagerError | None = None
        self._ended: StagerError | None = None

    def call(
        self,
        verb: str,
        args: Mapping[str, Any] | None = None,
        *,
        on_event: Listener | None = None,
        timeout: float | None = None,
    ) -> Any:  # noqa: ANN401
        """Ask for one thing and wait for its answer, giving signs of life meanwhile.

        Args:
            verb: what to do.
            args: JSON-ready.
            on_event: called with each event of the request, and first with those that came since the last one.
            timeout: seconds to wait for the answer; None waits as long as the host lives.

        Returns:
            The answer's ``result``.

        Raises:
            ConnectionLost: the channel broke after the run's first change (``fence`` is set).
            Unreachable: it broke before.
            StagerError: what the host answered, by its kind.
        """
        with self._calling:
            while on_event and self._events:
                on_event(self._events.popleft())
            wanted = self._next_id()
            self._send({"id": wanted, "verb": verb, "args": dict(args or {}), "fence": self.fence})
            answer = self._wait(wanted, on_event, timeout)
            self.exchanges += 1
        if answer.get("ok"):
            return answer.get("result")
        raise failures.from_answer(answer.get("error") or {})

    def pace(self, lease: float) -> None:
        """Give signs of life often enough for a lease of so many seconds: three at least within it."""
        self._beat_every = min(self._beat_every, lease / 3)

    def beat(self) -> None:
        """Give a sign of life between calls; notice a dead host, and a run that is over; never waits for either.

        Raises:
            ConnectionLost, Unreachable: as for ``call``.
            Fenced: the run is another's, or was ended. CandidateFailed: it was ended because the candidate died.
        """
        self._send({"verb": "beat"})
        if self._calling.acquire(blocking=False):  # a call under way watches the channel itself
            try:
                while (message := self._take(0.0)) is not None:
                    self._keep(message)
                self._tend()
            finally:
                self._calling.release()
        if self._ended is not None:
            raise self._ended

    def ask_whether_ours(self) -> None:
        """Ask the host whether the run goes on and is ours.

        Raises:
            Fenced, CandidateFailed, ConnectionLost, Unreachable: as for ``beat``.
        """
        self.call("ping")

    def close(self) -> None:
        """Close the channel; the guard on the host goes by its lease."""
        self._over = self._over or self._broken("it was closed by us")
        self._outbox.close()
        self._booted.pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, wanted: int, on_event: Listener | None, timeout: float | None) -> dict[str, Any]:
        began = time.monotonic()
        until = began + timeout if timeout is not None else None
        beat_at = began + self._beat_every
        while True:
            now = time.monotonic()
            message = self._take(min(t for t in (beat_at, self._live.next_at(), until) if t is not None) - now)
            if message is not None:
                if message.get("id") == wanted and "ok" in message:
                    return message
                if "event" in message and message["event"] != protocol.OVER and on_event:
                    on_event(message)
                else:
                    self._keep(message)
            now = time.monotonic()
            if now >= beat_at:
                self._send({"verb": "beat"})
                beat_at = now + self._beat_every
            self._tend()
            if until is not None and now >= until:
                raise self._broken(f"it did not answer within {timeout:.0f} s, though it is alive")

    def _take(self, timeout: float) -> dict[str, Any] | None:
        message = self._booted.inbox.take(timeout)
        if isinstance(message, End):
            raise self._end(message.why or f"the program there ended{failures.clause(self._booted.pipe.stderr_tail())}")
        if message is not None:
            self._live.heard(time.monotonic())
        return message

    def _keep(self, message: dict[str, Any]) -> None:
        """Keep an event nobody waits for yet; answers that came too late, and pongs, are dropped."""
        if message.get("event") == protocol.OVER:
            self._ended = failures.from_answer(message["error"])
        elif "event" in message:
            self._events.append(message)

    def _tend(self) -> None:
        verdict = self._live.verdict(time.monotonic())
        if verdict == "dead":
            raise self._end(f"nothing was heard for {self._live.dead_after:.0f} s")
        if verdict == "ask":
            self._live.asked(time.monotonic())
            self._send({"id": self._next_id(), "verb": "ping"})

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids

    def _send(self, message: dict[str, Any]) -> None:
        if self._over is not None:
            raise self._over
        try:
            self._outbox.send(protocol.encode(message))
        except Unreachable as error:
            raise self._end(error.message.rstrip(".")) from error

    def _end(self, why: str) -> StagerError:
        self._over = self._broken(why)
        self._outbox.close()
        self._booted.pipe.close()
        return self._over

    def _broken(self, why: str) -> StagerError:
        return failures.broken(
            self._address,
            why,
            fence=self.fence,
            restore_by=self.restore_by,
            on_host=self._booted.restore_command(self.run),
        )

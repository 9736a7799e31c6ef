"""An answer while it comes in: bytes and times go in, the finished record comes out. No sockets."""

from __future__ import annotations

from stager.client.assembly import Assembly
from stager.client.limits import LimitExceeded, Limits
from stager.client.record import Completion, Ended, Read
from stager.client.requests import CompletionRequest
from stager.client.sse import SseParser


class Incoming:
    """Gathers one answer. Whoever reads the socket sets ``status``, ``is_events`` and the times it knows."""

    def __init__(self, request: CompletionRequest, limits: Limits, started_ns: int) -> None:
        self.request = request
        self.started_ns = started_ns
        self.sent_ns: int | None = None
        self.headers_ns: int | None = None
        self.reused_connection = False
        self.status: int | None = None
        self.is_events = False
        self._limits = limits
        self._assembly = Assembly(limits)
        self._parser = SseParser(limits)
        self._reads: list[Read] = []
        self._body = bytearray()
        self._raw = bytearray()
        self._raw_truncated = False
        self._size = 0
        self._first_event_ns: int | None = None

    @property
    def deltas(self) -> int:
        """How many non-empty pieces of output have come so far."""
        return len(self._assembly.deltas)

    def take(self, piece: bytes, now_ns: int) -> None:
        """Take what one read brought.

        Raises:
            LimitExceeded: a bound on bytes, reads, lines or events is passed.
        """
        self._size += len(piece)
        if self.request.keep_raw:
            room = max(0, self._limits.raw - len(self._raw))
            self._raw += piece[:room]
            self._raw_truncated |= len(piece) > room
        if self._size > self._limits.body:
            raise LimitExceeded(f"the answer is longer than {self._limits.body} bytes")
        if len(self._reads) >= self._limits.reads:
            raise LimitExceeded(f"the answer came in more than {self._limits.reads} reads")
        if not self.is_events:
            self._body += piece
            self._reads.append(Read(now_ns, len(piece), 0))
            return
        events = self._parser.feed(piece)
        self._reads.append(Read(now_ns, len(piece), len(events)))
        if events and self._first_event_ns is None:
            self._first_event_ns = now_ns
        for event in events:
            self._assembly.event(event, now_ns)

    def finish(self, ended: Ended, error: str | None, now_ns: int) -> Completion:
        """Close the answer and return its record."""
        assembly = self._assembly
        if self.is_events:
            if self._parser.close():
                assembly.fault("the stream ended in the middle of an event", unreadable=ended is Ended.COMPLETE)
        elif self._body and ended is Ended.COMPLETE:
            assembly.chunk(self._body.decode(errors="replace"), self._reads[-1].at_ns)
        if self.status is not None and not 200 <= self.status < 300 and ended is Ended.COMPLETE:
            ended = Ended.REFUSED
            error = assembly.error or f"status {self.status}: {self._body[:200].decode(errors='replace')}"
        if ended is Ended.COMPLETE:
            self._protocol_faults()
        if self._parser.broken_text:
            assembly.fault(f"{self._parser.broken_text} lines were not valid UTF-8", unreadable=True)
        return Completion(
            path=self.request.path,
            streamed=self.request.streamed,
            started_ns=self.started_ns,
            sent_ns=self.sent_ns,
            headers_ns=self.headers_ns,
            ended_ns=now_ns,
            ended=ended,
            status=self.status,
            reused_connection=self.reused_connection,
            reads=tuple(self._reads),
            deltas=tuple(assembly.deltas),
            tool_calls=assembly.tool_calls,
            finish_reasons=tuple(assembly.finish_reasons),
            usage=assembly.usage,
            done_markers=assembly.done_markers,
            after_done=assembly.after_done,
            comments=self._parser.comments,
            first_event_ns=self._first_event_ns,
            faults=tuple(assembly.faults),
            error=error or assembly.error,
            extras=assembly.extras,
            raw=bytes(self._raw),
            raw_truncated=self._raw_truncated,
            unreadable=tuple(assembly.unreadable),
        )

    def _protocol_faults(self) -> None:
        """Note what a whole answer lacks or has too much of; none of it hinders reading it."""
        assembly = self._assembly
        if self.request.streamed and not self.is_events:
            assembly.fault("a stream was asked for and the answer is not text/event-stream", unreadable=True)
        if not self.is_events:
            return
        if assembly.done_markers == 0:
            assembly.fault("the stream ended without [DONE]")
        if assembly.done_markers > 1:
            assembly.fault(f"[DONE] came {assembly.done_markers} times")
        if assembly.after_done:
            assembly.fault(f"{assembly.after_done} events came after [DONE]")

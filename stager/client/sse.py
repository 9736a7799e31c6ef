"""Server-sent events: bytes in, events out, after the WHATWG rule. No sockets, no clock.

Source of the rule: HTML Living Standard, section 9.2.6 "Interpreting an event stream". Lines end in
LF, CR or CRLF, also mixed; a leading byte order mark is dropped; lines that begin with a colon are
comments; one space after the colon of a field is optional; an event without data is not dispatched;
an event that the stream ends in the middle of is discarded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stager.client.limits import LimitExceeded, Limits

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event: its type (``message`` unless named) and its data, lines joined with LF."""

    name: str
    data: str


class SseParser:
    """Feed it bytes as they come; it hands out the events each piece completes.

    ``comments`` counts comment lines, ``broken_text`` lines that were not valid UTF-8 (decoded with
    replacement characters), so that a caller can see keep-alives and faults.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._tail = bytearray()
        self._searched = 0
        self._at_start = True
        self._swallow_lf = False
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self.comments = 0
        self.broken_text = 0
        self.last_id = ""

    def feed(self, piece: bytes) -> list[Event]:
        """Return the events completed by these bytes, in order.

        Raises:
            LimitExceeded: a line or an event is longer than the limits allow.
        """
        if self._swallow_lf and piece:
            self._swallow_lf = False
            if piece[:1] == b"\n":
                piece = piece[1:]
        self._tail += piece
        if self._at_start and not self._skip_bom():
            return []
        events: list[Event] = []
        start = 0
        while (end := _LINE_END.search(self._tail, max(start, self._searched))) is not None:
            self._bound_line(end.start() - start)
            event = self._line(bytes(self._tail[start : end.start()]))
            if event is not None:
                events.append(event)
            start = end.end()
            # A CR that ends the piece ends the line now; should its LF follow, it belongs to the same line end.
            self._swallow_lf = start == len(self._tail) and self._tail[start - 1 : start] == b"\r"
        del self._tail[:start]
        self._searched = len(self._tail)
        self._bound_line(len(self._tail))
        return events

    def close(self) -> bool:
        """End the stream; return whether an unfinished line or event had to be discarded."""
        unfinished = bool(self._tail or self._data)
        self._tail.clear()
        self._reset()
        return unfinished

    def _skip_bom(self) -> bool:
        """Drop a leading byte order mark; False while too few bytes came to know."""
        if len(self._tail) < len(_BOM) and _BOM.startswith(self._tail):
            return False
        if self._tail.startswith(_BOM):
            del self._tail[: len(_BOM)]
        self._at_start = False
        return True

    def _bound_line(self, size: int) -> None:
        if size > self._limits.line:
            raise LimitExceeded(f"a line of the event stream is longer than {self._limits.line} bytes")

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.broken_text += 1
            text = line.decode(errors="replace")
        if text.startswith(":"):
            self.comments += 1
            return None
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._size += len(line)
            if self._size > self._limits.event:
                raise LimitExceeded(f"one event is longer than {self._limits.event} bytes")
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self.last_id = value
        return None

    def _dispatch(self) -> Event | None:
        event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
        self._reset()
        return event

    def _reset(self) -> None:
        self._name = ""
        self._data = []
        self._size = 0

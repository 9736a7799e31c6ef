"""The one way a command speaks: words for people, and with ``--json`` exactly one document for scripts."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from rich.console import Console

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Return a text that cannot steer a terminal: control characters other than newline and tab become visible."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\r\n", "\n"))


class Output:
    """People read stdout, or stderr when ``--json`` has stdout for its one document.

    A reader that went away (``| head``) silences the output; it never ends the work.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        verbose: int = 0,
        changes_host: bool = False,
        asks_host: bool = False,
        typed: Sequence[str] = (),
    ) -> None:
        self.as_json = as_json
        self.verbose = verbose
        self.changes_host = changes_host
        self.asks_host = asks_host or changes_host
        self.typed = tuple(typed)
        self.emitted = False

    @cached_property
    def console(self) -> Console:
        """A rich console on the stream people read; markup is off, because host text is not ours."""
        from rich.console import Console  # rich is slow to load, and many commands print no table

        stream = _Patient(sys.stderr if self.as_json else sys.stdout)
        return Console(file=cast("IO[str]", stream), markup=False, highlight=False)

    def say(self, text: str = "") -> None:
        """Write a line for people."""
        self._write(sys.stderr if self.as_json else sys.stdout, plain(text) + "\n")

    def warn(self, text: str) -> None:
        """Write a line for people on stderr, whatever else is asked for."""
        self._write(sys.stderr, plain(text) + "\n")

    def detail(self, text: str, level: int = 1) -> None:
        """Write a line on stderr if ``-v`` was given so often."""
        if self.verbose >= level:
            self.warn(text)

    def show(self, renderable: Any) -> None:  # noqa: ANN401 - whatever rich can draw
        """Draw a table or another rich value for people; text in it cannot steer the terminal either."""
        from rich.segment import Segment, Segments

        from stager.cli.whole import keep_names_whole

        text = self.console.render_str(renderable) if isinstance(renderable, str) else renderable
        room = self.console.options.update(width=max(self.console.width, keep_names_whole(text)))
        drawn = [
            piece if piece.control else Segment(plain(piece.text), piece.style)
            for piece in self.console.render(text, room)
        ]
        self.console.print(Segments(drawn), end="", crop=False)

    def emit(self, document: Any) -> None:  # noqa: ANN401 - any JSON-ready value
        """Write the command's one JSON document; without ``--json`` this does nothing.

        Raises:
            RuntimeError: a document was written before.
        """
        if not self.as_json:
            return
        if self.emitted:
            raise RuntimeError("a command writes one JSON document, and this would be its second")
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        self.emitted = True
        self._write(sys.stdout, text + "\n")

    def _write(self, stream: IO[str], text: str) -> None:
        _Patient(stream).write(text)


@dataclass
class Said:
    """The words behind ``stager``, and where a command leaves its output: an error met later speaks the same way."""

    typed: tuple[str, ...] = ()
    output: Output | None = None


class _Patient:
    """A stream whose reader may leave, and whose encoding may lack a character."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()
        except BrokenPipeError:
            hush(self._stream)
        return len(text)

    def flush(self) -> None:
        flush(self._stream)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._stream, name)


def flush(stream: IO[str]) -> None:
    """Flush a stream whose reader may have left."""
    try:
        stream.flush()
    except BrokenPipeError:
        hush(stream)


def hush(stream: IO[str]) -> None:
    """Send what is still to be written nowhere, so that the interpreter's last flush does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)

"""One request inside the lab engine: what it reads, what it has said, and who still listens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence as Ordered
from dataclasses import dataclass, field
from enum import Enum

from stager.lab.ask import Ask
from stager.lab.knobs import Knobs
from stager.lab.model import Reply, babble, reply


class Phase(Enum):
    """Where a request stands."""

    WAITING = "waiting"
    READING = "reading"
    SPEAKING = "speaking"
    OVER = "over"


def visible_tokens(tokens: Ordered[str], knobs: Knobs) -> tuple[str, ...]:
    """Return the part of a prompt that the model is really shown."""
    shown = tuple(tokens)
    if 0 < knobs.drop_head_over < len(shown):
        shown = shown[-knobs.drop_head_over :]
    if 0 < knobs.drop_middle_over < len(shown):
        kept = knobs.drop_middle_over // 2
        shown = shown[:kept] + shown[-kept:]
    if 0 < knobs.drop_tail_over < len(shown):
        shown = shown[: knobs.drop_tail_over]
    return shown


@dataclass(eq=False)
class Sequence:
    """One request in the engine. ``out`` gets each token's text, then None."""

    number: int
    ask: Ask
    shown: tuple[str, ...]
    room: int
    phase: Phase = Phase.WAITING
    unread: int = 0
    spoken: list[str] = field(default_factory=list)
    finish: str | None = None
    error: str | None = None
    abandoned: bool = False
    ghost: bool = False
    salt: str = ""
    reply: Reply | None = None
    text: str = ""
    out: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)

    @property
    def held(self) -> int:
        """Tokens this sequence keeps in the cache."""
        return len(self.shown) - self.unread + len(self.spoken)

    def admit(self) -> None:
        """Give the sequence a slot: it starts reading its prompt."""
        self.phase = Phase.READING
        self.unread = len(self.shown)

    def read(self, budget: int) -> int:
        """Read up to ``budget`` prompt tokens; return how many were read."""
        taken = min(budget, self.unread)
        self.unread -= taken
        if self.unread == 0:
            self.phase = Phase.SPEAKING
        return taken

    def understand(self, text: str) -> None:
        """Make up the reply from the text the model is shown."""
        self.text = text
        self.reply = reply(text, self.ask.tool)

    def next_token(self) -> str:
        """Return the next token this sequence says."""
        assert self.reply is not None
        index = len(self.spoken)
        if index < len(self.reply.tokens):
            return self.reply.tokens[index]
        return babble(self.text + self.salt, index)

    def say(self, token: str) -> None:
        """Add one token, and end the sequence where it must end."""
        assert self.reply is not None
        self.spoken.append(token)
        if self.reply.stops and len(self.spoken) == len(self.reply.tokens) and not self.ask.ignore_eos:
            self.end("tool_calls" if self.reply.call else "stop")
        elif len(self.spoken) >= min(self.ask.max_tokens, self.room):
            self.end("length")

    def end(self, finish: str | None, error: str | None = None) -> None:
        """End the sequence with a reason, or with an error."""
        self.phase = Phase.OVER
        self.finish, self.error = finish, error

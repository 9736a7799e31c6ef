"""An engine as data: its endpoints, what its numbers really are, what it costs to ask, how it is asked.

Adding one is one file with one ``Engine`` in it. Nothing here talks to a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from stager.engines.reading import Reading

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A real one-token answer, asked for as JSON over POST: what "ready" and "healthy" mean."""

    path: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StepCounter:
    """Two counters whose differences give tokens per engine step between two idle points.

    ``includes_prompt``: the token counter also counts prompt tokens, which are then taken off.
    """

    tokens: Reading
    steps: Reading
    includes_prompt: bool
    source: str


@dataclass(frozen=True, slots=True)
class Tokenize:
    """An endpoint that counts tokens: POST ``{text_key: text, **extra}``; a list or a number is at ``pointer``."""

    path: str
    text_key: str
    pointer: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Engine:
    """One kind of engine.

    Attributes:
        name: as written in a playbook.
        read_in: the version its statements were read in.
        health: the path that says it lives. ``health_floor`` is the seconds one answer takes by design,
            ``health_generates`` says that asking it runs a generation (SGLang).
        warm: a cheap path that always answers something, to open connections with.
        chat, completions: the paths of the two completion routes; ``completions`` is empty where there is none.
        active, waiting, busy: gauges in order of preference; the first that answers is used.
        steps: engine-step counters, None where it counts none.
        configured: capacity fields: recorded as claims, never as evidence.
        exact_length: body keys that keep a generation going to ``max_tokens``; a value ``"max_tokens"`` stands for
            that number.
        uncached: body keys that keep a prompt out of prefix caches.
        cancel_grace: seconds a disconnect may take to show, before the current step's own time.
        tokenize: where prompts can be counted by the server itself.
        finish_aliases: finish reasons of its own -> the OpenAI word they stand for.
        quirks: what a reader of its numbers must know.
    """

    name: str
    read_in: str = "not read"
    health: str = "/health"
    health_floor: float = 0.0
    health_generates: bool = False
    warm: str = "/v1/models"
    chat: str = CHAT
    completions: str = COMPLETIONS
    active: tuple[Reading, ...] = ()
    waiting: tuple[Reading, ...] = ()
    busy: tuple[Reading, ...] = ()
    steps: StepCounter | None = None
    configured: tuple[Reading, ...] = ()
    exact_length: Mapping[str, Any] = field(default_factory=dict)
    uncached: Mapping[str, Any] = field(default_factory=dict)
    cancel_grace: float = 5.0
    tokenize: Tokenize | None = None
    finish_aliases: Mapping[str, str] = field(default_factory=dict)
    quirks: tuple[str, ...] = ()

    def token_request(self, model: str) -> TokenRequest:
        """A real chat completion of one token."""
        return TokenRequest(self.chat, self.chat_body(model, "Say yes.", max_tokens=1, stream=False))

    def chat_body(
        self,
        model: str,
        text: str,
        *,
        max_tokens: int,
        stream: bool = True,
        exact: bool = False,
        **more: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        """The body of a chat completion with one user message; ``more`` is added as it is."""
        return self._body(model, max_tokens, exact, stream) | {"messages": [{"role": "user", "content": text}]} | more

    def text_body(
        self,
        model: str,
        text: str,
        *,
        max_tokens: int,
        stream: bool = True,
        exact: bool = False,
        **more: Any,  # noqa: ANN401
    ) -> dict[str, Any]:
        """The body of a raw text completion, where the engine has that route."""
        return self._body(model, max_tokens, exact, stream) | {"prompt": text} | more

    def generation(
        self, model: str, text: str, *, max_tokens: int, exact: bool = True, stream: bool = True
    ) -> tuple[str, dict[str, Any]]:
        """Path and body of a generation whose timing is to be judged.

        The raw route is preferred: no reasoning or tool parser stands between step and stream
        (minefield trap 80: such a parser showed 1,812 tokens/s on a 60 tokens/s lane).
        """
        if self.completions:
            return self.completions, self.text_body(model, text, max_tokens=max_tokens, stream=stream, exact=exact)
        return self.chat, self.chat_body(model, text, max_tokens=max_tokens, stream=stream, exact=exact)

    def finish_word(self, reason: str | None) -> str | None:
        """A finish reason in the OpenAI vocabulary."""
        return None if reason is None else self.finish_aliases.get(reason, reason)

    def document(self) -> dict[str, Any]:
        """The adapter as JSON-ready data, for digests and reports."""
        return asdict(self)

    def _body(self, model: str, max_tokens: int, exact: bool, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "max_tokens": max_tokens, "temperature": 0.0, "stream": stream}
        if stream:
            body["stream_options"] = {"include_usage": True}
        if exact:
            body |= {key: max_tokens if value == "max_tokens" else value for key, value in self.exact_length.items()}
        return body | dict(self.uncached)

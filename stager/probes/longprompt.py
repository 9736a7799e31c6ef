"""A long prompt of known length with facts in it, asked one question at a time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from stager.client.completion import CompletionRequest
from stager.probes.counting import Yardstick, expected_tokens, sentences
from stager.probes.needles import Needle, hide
from stager.probes.requests import chat_request
from stager.probes.target import Target

#: Usage may differ so much from the server's own count of what was sent (anchors/probes.md section 3).
USAGE_TOLERANCE = 0.02
#: Tokens by which template and specials may differ from the measured overhead.
USAGE_TOLERANCE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Haystack:
    """A text with needles in it, and how many filler sentences it is made of."""

    text: str
    needles: tuple[Needle, ...]
    filler: int

    def asking(self, question: str) -> str:
        """Return the user message that asks one question about the text."""
        return f"{self.text}\n\n{question}"


def build(rng: random.Random, yardstick: Yardstick, tokens: int, needles: Sequence[Needle]) -> Haystack:
    """Return a haystack whose chat prompt, with one question, has about so many tokens."""
    asked = yardstick.sentences_for(tokens) - len(needles) - 1
    filler = sentences(rng, max(1, asked))
    return Haystack(hide(filler, needles), tuple(needles), len(filler))


async def expected(target: Target, yardstick: Yardstick, hay: Haystack, question: str, within: float) -> float:
    """Return the prompt tokens that asking this question should count."""
    n_sentences = hay.filler + len(hay.needles) + 1
    return await expected_tokens(target, yardstick, hay.asking(question), n_sentences, within)


def question_request(
    target: Target, hay: Haystack, question: str, max_tokens: int, *, fresh: bool
) -> CompletionRequest:
    """Return the chat request that asks one question.

    Only the first (``fresh``) is kept out of prefix caches: the text is new in every run, so later questions
    may reuse what the first one made the engine read.
    """
    request = chat_request(target, hay.asking(question), max_tokens=max_tokens)
    body = request.body if fresh else {k: v for k, v in request.body.items() if k not in target.engine.uncached}
    return CompletionRequest(request.path, body, keep_raw=False)


def usage_off(said: int | None, wanted: float) -> str | None:
    """Say how the counted prompt differs from what was sent, or None where it does not."""
    if said is None:
        return "usage.prompt_tokens was asked for and did not come"
    if abs(said - wanted) <= max(USAGE_TOLERANCE_TOKENS, USAGE_TOLERANCE * wanted):
        return None
    return f"usage counts {said} prompt tokens, {wanted:.0f} were sent"

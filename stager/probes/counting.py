"""Counts tokens with the server's own tokenizer, and makes up filler text of a wanted length."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from stager.client.connection import Connection, connect
from stager.engines.reading import Unreadable, resolve
from stager.probes.ask import NO_ANSWER
from stager.probes.logbook import Logbook, broken
from stager.probes.requests import ask_once, chat_request, limits_for
from stager.probes.target import Target

#: Four lists of eight: every eight sentences use each of them once, so a text's tokens grow evenly with its length.
_DECKS = (
    ("miller", "sailor", "gardener", "teacher", "tailor", "painter", "farmer", "baker"),
    ("carried", "painted", "counted", "found", "repaired", "washed", "sold", "measured"),
    ("a basket", "the old boat", "two chairs", "a long rope", "the lamp", "some apples", "a map", "the clock"),
    (
        "by the river",
        "near the mill",
        "on the hill",
        "at the market",
        "by the church",
        "in the garden",
        "in town",
        "at sea",
    ),
)


class NoCount(Exception):
    """The server gave no token count at all, so no length can be aimed at or checked.

    ``broke`` says that its answer never came or could not be read: then the experiment is broken, not undecided.
    """

    def __init__(self, words: str, *, broke: bool = False) -> None:
        super().__init__(words)
        self.broke = broke

    def note(self, book: Logbook, so: str) -> None:
        """Write down what follows from it."""
        (book.fault if self.broke else book.doubt)(f"{so}: {self}")


def sentences(rng: random.Random, count: int) -> list[str]:
    """Return plain sentences, different in every run, so that no prefix cache knows them."""
    dealt = [_deal(rng, deck, count) for deck in _DECKS]
    return [f"The {who} {did} {what} {where}." for who, did, what, where in zip(*dealt, strict=True)]


def _deal(rng: random.Random, deck: Sequence[str], count: int) -> list[str]:
    """Deal so many cards from one shuffled deck after the other."""
    cards: list[str] = []
    while len(cards) < count:
        cards += rng.sample(deck, len(deck))
    return cards[:count]


@dataclass(frozen=True, slots=True)
class Yardstick:
    """How texts turn into prompt tokens on this server.

    Attributes:
        per_sentence: tokens of one filler sentence, on average.
        overhead: tokens the chat template adds to one user message.
        how: where the numbers come from, in words.
        exact: whether ``expected`` asks the server's tokenizer rather than a fitted line.
    """

    per_sentence: float
    overhead: float
    how: str
    exact: bool

    def sentences_for(self, tokens: int) -> int:
        """Return how many filler sentences come nearest to a prompt of so many tokens."""
        return max(1, round((tokens - self.overhead) / self.per_sentence))


async def tokenized(connection: Connection, target: Target, text: str, within: float) -> int:
    """Return the number of tokens of a text, as the server's own tokenizer counts it.

    Raises:
        NoCount: it has no such endpoint, or did not answer with a count.
    """
    tokenize = target.engine.tokenize
    if tokenize is None:
        raise NoCount(f"{target.engine.name} has no tokenizer endpoint")
    try:
        answer = await connection.post_json(tokenize.path, {tokenize.text_key: text, **tokenize.extra}, within=within)
        found = resolve(json.loads(answer.body), tokenize.pointer) if answer.ok else None
    except (*NO_ANSWER, Unreadable, ValueError, RecursionError) as error:
        raise NoCount(f"{tokenize.path} gave no count: {type(error).__name__}: {error}") from error
    if isinstance(found, list):
        return len(found)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    raise NoCount(f"{tokenize.path} gave no count")


async def count(target: Target, text: str, within: float) -> int:
    """As ``tokenized``, on a connection of its own."""
    limits = limits_for(len(text), within)
    async with connect(target.base_url, limits) as connection:
        return await tokenized(connection, target, text, within)


async def take_measure(target: Target, rng: random.Random, within: float) -> Yardstick:
    """Measure how sentences turn into prompt tokens, from the server's tokenizer and one or two short chats.

    Raises:
        NoCount: the server counts nothing: no tokenizer endpoint and no usage.
    """
    few, more = sentences(rng, 8), sentences(rng, 40)
    used_few = await _usage(target, " ".join(few), within)
    try:
        own_few = await count(target, " ".join(few), within)
        own_more = await count(target, " ".join(more), within)
        return Yardstick(own_more / 40, used_few - own_few, "the server's tokenizer, and one short chat", exact=True)
    except NoCount:
        used_more = await _usage(target, " ".join(more), within)
        slope = (used_more - used_few) / 32
        if slope <= 0:
            raise NoCount("usage.prompt_tokens does not grow with the prompt") from None
        return Yardstick(slope, used_few - 8 * slope, "a line through the usage of two short chats", exact=False)


async def expected_tokens(target: Target, yardstick: Yardstick, text: str, n_sentences: int, within: float) -> float:
    """Return how many prompt tokens a chat with this text should count."""
    if yardstick.exact:
        return await count(target, text, within) + yardstick.overhead
    return yardstick.overhead + n_sentences * yardstick.per_sentence


async def _usage(target: Target, text: str, within: float) -> int:
    completion = await ask_once(target, chat_request(target, text, max_tokens=1), within)
    if completion.prompt_tokens is None:
        why, torn = completion.error or completion.ended.value, broken(completion)
        raise NoCount(f"a short chat brought no usage ({torn or why})", broke=torn is not None)
    return completion.prompt_tokens

"""A tiny deterministic model: it answers only from the text it is shown, so a lie about the prompt shows."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass

from stager.lab.tokens import pieces

_QUESTION = re.compile(r"(?:^|(?<=[.!?\n>]))\s*([^.!?\n>]+)\?")
_SENTENCE = re.compile(r"[^.!?\n>]*\d[^.!?\n>]*\.")
_WORD = re.compile(r"[a-z]{4,}")
_IDLE_WORDS = frozenset({"what", "which", "does", "with", "have", "this", "that", "from"})
_NUMBERS = re.compile(r"-?\d+")
_CANARY = re.compile(r"[A-Z]{3,}-\d{3,}")
_WORDS = ("river", "stone", "paper", "light", "cloud", "field", "glass", "water", "north", "green", "table", "winter")


@dataclass(frozen=True)
class Call:
    """A tool call: the function's name and its arguments."""

    name: str
    arguments: dict[str, int]


@dataclass(frozen=True)
class Reply:
    """What the model says: some tokens, perhaps a tool call, and whether it then stops by itself."""

    tokens: tuple[str, ...]
    call: Call | None = None
    stops: bool = True


def last_user_text(text: str) -> str:
    """Return what the user said last; the whole text where there are no roles."""
    return text.rpartition("<|user|>")[2].partition("<|end|>")[0]


def call_for(text: str, tool: str) -> Call | None:
    """Return ``tool(a, b)`` with the last two whole numbers the user named."""
    numbers = [int(n) for n in _NUMBERS.findall(last_user_text(text))]
    return Call(tool, {"a": numbers[-2], "b": numbers[-1]}) if len(numbers) >= 2 else None


def call_tokens(call: Call) -> tuple[str, ...]:
    """Return the tokens a call's arguments are made of."""
    return tuple(pieces(json.dumps(call.arguments)))


def _answer(text: str, questions: list[str]) -> Reply:
    """Answer each question with the sentence of the text that holds a number and every word that was asked for."""
    said = []
    for question in dict.fromkeys(questions):
        asked = set(_WORD.findall(question.lower())) - _IDLE_WORDS
        found = [s for s in _SENTENCE.findall(text) if all(word in s.lower() for word in asked)]
        said.append(found[0].strip() if asked and found else "The text does not say.")
    return Reply(tuple(pieces(" ".join(said))))


def babble(text: str, index: int) -> str:
    """Return the index-th token of the endless text that this prompt leads to."""
    seed = zlib.crc32(text.encode()) + index * 2_654_435_761
    return " " + _WORDS[(seed >> 7) % len(_WORDS)]


def reply(text: str, tool: str | None = None) -> Reply:
    """Return what the model says to a text.

    It calls a tool with two numbers, goes on with the canary of the last line, answers questions from the
    text alone, and otherwise talks without end.
    """
    if tool is not None and (call := call_for(text, tool)) is not None:
        return Reply(call_tokens(call), call=call)
    if canaries := _CANARY.findall(text[-60:]):
        return Reply(tuple(pieces(f"{canaries[-1]}\n") * 400), stops=False)
    if questions := _QUESTION.findall(text[-600:]):
        return _answer(text, questions)
    return Reply((), stops=False)

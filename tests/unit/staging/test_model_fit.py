"""Whose word the device memory is, and what is told when a claim cannot hold."""

from __future__ import annotations

from typing import Any

import pytest

from stager.context.fit import MIB
from stager.context.recorded import reasons_against
from stager.context.sources import Described
from stager.models.candidate import Candidate, Limits
from stager.models.candidate import Claims as Claimed
from stager.staging.model_fit import device_memory, fit_of, may_refuse
from tests.unit.context.test_fit import NOTES

CARDS = [
    {"index": 0, "uuid": "GPU-a", "name": "RTX 3090", "memory.total": 24576},
    {"index": 1, "uuid": "GPU-b", "name": "RTX 4090", "memory.total": 24564},
]


def candidate(**fields: Any) -> Candidate:
    """A candidate that says as little as it may."""
    return Candidate(launch=("/usr/bin/server", "--port", "{port}"), **fields)


def facts(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """What the host said, as far as it is asked here."""
    return {"host": {"gpus": cards}}


@pytest.mark.parametrize(
    ("visible", "names", "mib"),
    [("", "RTX 3090, RTX 4090", 49140), ("1", "RTX 4090", 24564), ("GPU-a", "RTX 3090", 24576), ("7", "", None)],
)
def test_cards_that_the_candidate_sees_are_added_up(visible: str, names: str, mib: int | None) -> None:
    """All cards count, or those that CUDA_VISIBLE_DEVICES names by number or uuid; none gives no number."""
    found = device_memory(candidate(env={"CUDA_VISIBLE_DEVICES": visible} if visible else {}), CARDS)

    assert found == (None if mib is None else mib * MIB, names)


def test_the_candidates_own_limit_comes_first() -> None:
    """A limit in the playbook is what the claims are held against, whatever the cards have."""
    limited = candidate(limits=Limits(device_memory=22 << 30))

    assert device_memory(limited, CARDS) == (22 << 30, "candidate/limits/device_memory")


def test_a_card_that_does_not_say_its_size_gives_no_number() -> None:
    """Memory that cannot be read is not known, and is never taken for nothing."""
    assert device_memory(candidate(), [{**CARDS[0], "memory.total": None}]) == (None, "")


def test_nothing_is_asked_for_where_nothing_could_be_refused() -> None:
    """Without a card and without a claimed context no header could speak against the claims."""
    assert not may_refuse(candidate(claims=Claimed(slots=4)), facts([]))
    assert may_refuse(candidate(claims=Claimed(slots=4)), facts(CARDS))
    assert may_refuse(candidate(claims=Claimed(context=4096)), facts([]))


def test_what_was_reckoned_is_kept_for_the_gate() -> None:
    """The facts that go into the evidence give the reasons that preflight gave, and say whose word the card is."""
    wanted = candidate(engine="llama.cpp", claims=Claimed(slots=4, context=262_144))
    fit = fit_of("/m.gguf", Described(NOTES, 10 << 30), wanted, facts(CARDS[:1]))
    kept = fit.facts()

    assert reasons_against(kept) == list(fit.fit.reasons) != []
    assert (kept.slots, kept.context, kept.memory, kept.memory_from) == (4, 262_144, 24576 * MIB, "RTX 3090")


def test_what_the_engine_stores_by_itself_is_not_called_assumed() -> None:
    """llama.cpp stores fp16 where its launch says nothing; of an engine that is not known the smallest is assumed."""
    described = Described(NOTES, 10 << 30)
    known = fit_of("/m.gguf", described, candidate(engine="llama.cpp"), facts(CARDS))
    other = fit_of("/m.gguf", described, candidate(engine="openai"), facts(CARDS))

    assert "fp16 cache:" in known.lines()[1]
    assert "(assumed: the launch names no format)" in other.lines()[1]

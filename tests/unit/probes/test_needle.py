"""Needles: hidden where they should be, asked one by one, their length counted twice over."""

import random

import pytest

from stager.engines.openai import OPENAI
from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.counting import Yardstick, sentences
from stager.probes.longprompt import build, usage_off
from stager.probes.needles import MOST, hide, pick_needles
from tests.unit.probes.bench import finding

YARDSTICK = Yardstick(per_sentence=10, overhead=8, how="-", exact=False)


def test_needles_stand_at_their_depths() -> None:
    """The first stands before all filler, the last behind it, the middle one in the middle."""
    needles = pick_needles(random.Random(1), (0.0, 0.5, 1.0))
    text = hide([f"filler {i}." for i in range(10)], needles)
    at = [text.index(needle.sentence) / len(text) for needle in needles]
    assert at[0] == 0
    assert 0.3 < at[1] < 0.6
    assert text.endswith(needles[2].sentence)


def test_all_carriers_differ() -> None:
    """No two needles of a run share a secret, a sentence or a question."""
    needles = pick_needles(random.Random(1), [i / MOST for i in range(MOST)])
    for part in ("secret", "sentence", "question"):
        assert len({getattr(needle, part) for needle in needles}) == MOST


def test_filler_grows_evenly() -> None:
    """Every eight sentences are made of the same words, whatever the run, so tokens grow in a straight line."""

    def words(seed: int, half: int) -> list[str]:
        return sorted(" ".join(sentences(random.Random(seed), 16)[8 * half :][:8]).split())

    assert words(1, 0) == words(1, 1) == words(2, 0) == words(2, 1)


def test_filler_differs_from_run_to_run() -> None:
    """Two runs send different texts, so that no prefix cache knows them."""
    assert sentences(random.Random(1), 20) != sentences(random.Random(2), 20)


def test_a_haystack_has_about_the_length_asked_for() -> None:
    """Filler, needles and question together make up the tokens that were asked for."""
    hay = build(random.Random(1), YARDSTICK, 1000, pick_needles(random.Random(1), (0.5,)))
    assert (hay.filler + 1 + 1) * YARDSTICK.per_sentence + YARDSTICK.overhead == pytest.approx(1000, rel=0.02)


@pytest.mark.parametrize(("said", "fine"), [(1000, True), (1019, True), (1021, False), (500, False), (None, False)])
def test_usage_may_differ_by_two_in_a_hundred(said: int | None, fine: bool) -> None:
    """A larger difference, or no count at all, is told."""
    assert (usage_off(said, 1000) is None) is fine


def test_the_honest_engine_tells_all_and_makes_nothing_up() -> None:
    """Three depths are retrieved, the counts agree, and the control without needles tells none of their secrets."""
    found = finding("needle", prompt_tokens=3000)
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["needles_found"].value == 3
    assert found.measurements["prompt_tokens"].value == found.measurements["prompt_tokens_expected"].value
    assert found.measurements["absent_fact_invented"].value is False
    assert {end.finish_reason for end in found.termination.streams} == {"stop"}


def test_a_line_through_two_chats_serves_where_nothing_counts() -> None:
    """Without a tokenizer endpoint the expected length comes from the usage of two short chats."""
    found = finding("needle", target={"engine": OPENAI}, prompt_tokens=3000)
    assert found.verdict is Verdict.PASSED, found.reasons


def test_a_server_without_usage_cannot_be_aimed_at() -> None:
    """Where no count comes at all, the verdict is inconclusive and says why."""
    found = finding("needle", Knobs(usage_missing=True), target={"engine": OPENAI}, prompt_tokens=3000)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "cannot be aimed at" in found.reasons[0]


def test_a_leak_from_the_prompt_before_is_told() -> None:
    """A control that knows an earlier prompt's secret fails."""
    found = finding("needle", Knobs(previous_prompt_leaks=True), prompt_tokens=3000)
    assert found.verdict is Verdict.FAILED
    assert "only an earlier prompt held" in found.reasons[0]


def test_a_prompt_that_does_not_fit_is_a_refusal() -> None:
    """A prompt that the engine refuses is refuted with the engine's own words."""
    found = finding("needle", prompt_tokens=9000)
    assert found.verdict is Verdict.FAILED
    assert "context size" in found.reasons[0]

"""Honest ends: the reason, the usage, and what really arrived."""

import pytest

from stager.client.completion import CompletionRequest
from stager.client.record import Usage
from stager.engines.openai import OPENAI
from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.finish import Case, FinishParameters, judge_count, judge_end
from stager.probes.logbook import Logbook
from tests.unit.probes.answers import answer
from tests.unit.probes.bench import finding


def _case(wanted: str, max_tokens: int = 32) -> Case:
    return Case("case", CompletionRequest("/", {}), wanted, max_tokens)


def _judged(wanted: str, word: str | None, tokens: int | None, **changes) -> Logbook:
    book = Logbook("honest-ends", FinishParameters())
    usage = None if tokens is None else Usage(10, tokens, None, with_choices=False)
    judge_end(book, _case(wanted), answer(usage=usage, **changes), word)
    return book


@pytest.mark.parametrize(
    ("wanted", "word", "tokens", "verdict"),
    [
        ("length", "length", 32, Verdict.PASSED),
        ("length", "length", 30, Verdict.PASSED),  # drafting engines stop a little short
        ("length", "stop", 32, Verdict.FAILED),
        ("length", "length", 7, Verdict.FAILED),
        ("length", "length", 63, Verdict.FAILED),
        ("stop", "stop", 3, Verdict.PASSED),
        ("stop", "length", 3, Verdict.FAILED),
        ("stop", "length", 32, Verdict.INCONCLUSIVE),  # the model talked on: nothing to hold the engine against
        ("stop", "tool_calls", 3, Verdict.FAILED),
        ("stop", None, 3, Verdict.FAILED),
        ("stop", "", 3, Verdict.FAILED),
        ("stop", "abort", 3, Verdict.FAILED),
        ("stop", "stop", None, Verdict.FAILED),
    ],
)
def test_an_end_is_judged_with_its_count(wanted: str, word: str | None, tokens: int | None, verdict: Verdict) -> None:
    """The reason alone never decides: it is held against the tokens that were allowed and counted."""
    assert _judged(wanted, word, tokens).verdict is verdict


def test_a_breach_of_the_stream_fails() -> None:
    """A missing [DONE] is told in the client's words."""
    book = _judged("stop", "stop", 3, faults=("the stream ended without [DONE]",))
    assert book.verdict is Verdict.FAILED
    assert "[DONE]" in book.reasons()[0]


@pytest.mark.parametrize(("said", "arrived", "verdict"), [(32, 31, "passed"), (32, 24, "failed"), (2, 4, "passed")])
def test_usage_must_equal_what_arrived(said: int, arrived: int, verdict: str) -> None:
    """Small differences come from re-tokenizing; larger ones are tokens that were lost or made up."""
    book = Logbook("honest-ends", FinishParameters())
    judge_count(book, _case("length"), answer(usage=Usage(1, said, None, with_choices=False)), arrived)
    assert book.verdict.value == verdict


def test_the_honest_engine_passes() -> None:
    """Five cases, streamed and plain, on both routes; the counts are in the evidence."""
    found = finding("finish")
    assert found.verdict is Verdict.PASSED, found.reasons
    assert (
        found.measurements["chat_stream_cut_usage"].value == found.measurements["chat_stream_cut_arrived"].value == 32
    )


def test_an_engine_that_cannot_count_still_has_its_ends_judged() -> None:
    """Without a tokenizer endpoint the comparison of usage with arrivals is named as not proven."""
    found = finding("finish", target={"engine": OPENAI})
    assert found.verdict is Verdict.PASSED, found.reasons
    assert any("usage equals what arrived" in sentence for sentence in found.not_proven)


def test_an_error_in_the_stream_fails() -> None:
    """An error under status 200, without [DONE], is the server's own refutation."""
    assert finding("finish", Knobs(error_without_done=True)).verdict is Verdict.FAILED

"""How reasons become a verdict, and what counts as a broken answer."""

import asyncio

from stager.engines.llamacpp import LLAMACPP
from stager.lab.hostile import attack_server
from stager.lab.knobs import Knobs
from stager.lab.server import serve
from stager.models.evidence import Verdict
from stager.probes.logbook import Logbook, broken
from stager.probes.requests import ask_once, chat_request
from stager.probes.target import Target
from stager.probes.truth import TruthParameters


def _book() -> Logbook:
    return Logbook("answering", TruthParameters())


def _asked(url: str):
    target = Target(url, LLAMACPP, "lab")
    return ask_once(target, chat_request(target, "Say yes.", max_tokens=8), 2.0)


def test_the_gravest_reason_decides() -> None:
    """Failed outranks error, error outranks inconclusive, and every reason is kept in that order."""
    book = _book()
    assert book.verdict is Verdict.PASSED
    book.doubt("could not tell")
    assert book.verdict is Verdict.INCONCLUSIVE
    book.fault("broke")
    assert book.verdict is Verdict.ERROR
    book.fail("is not so")
    assert book.verdict is Verdict.FAILED
    assert book.reasons() == ("is not so", "broke", "could not tell")


def test_nothing_sampled_never_passes() -> None:
    """A book that is closed without samples is inconclusive, whatever else it holds."""
    target = Target("http://127.0.0.1:9", LLAMACPP, "m")
    result = _book().result(target, sampled="nothing", sample_count=0, ended_because="-", not_proven=("anything",))
    assert result.finding.verdict is Verdict.INCONCLUSIVE


def test_a_servers_own_error_refutes_and_a_broken_line_does_not() -> None:
    """An error the server reports is a refutation; an answer that breaks on its way is a fault of the experiment."""

    async def go() -> tuple[Logbook, Logbook]:
        reported, torn = _book(), _book()
        async with serve(knobs=Knobs(answers_errors=True)) as url:
            assert not reported.usable(await _asked(url), "the request")
        async with attack_server("length-lie") as url:
            assert not torn.usable(await _asked(url), "the request")
        return reported, torn

    reported, torn = asyncio.run(go())
    assert reported.verdict is Verdict.FAILED
    assert torn.verdict is Verdict.ERROR


def test_text_that_is_not_utf8_is_a_broken_answer() -> None:
    """An answer whose bytes are not text cannot be judged."""

    async def go() -> str | None:
        async with attack_server("wrong-utf8") as url:
            return broken(await _asked(url))

    assert "UTF-8" in (asyncio.run(go()) or "")

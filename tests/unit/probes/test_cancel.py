"""A client that leaves must leave nothing behind."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import ValidationError

from stager.client.completion import How
from stager.client.load import run_load
from stager.client.ticks import ticks
from stager.engines.openai import OPENAI
from stager.lab.knobs import Knobs, Shape
from stager.lab.process import lab_process
from stager.models.evidence import Finding, Verdict
from stager.probes.base import ProbeResult, run_probe
from stager.probes.calibrate_settings import LAB_ENGINE, lab_target
from stager.probes.cancel import CancelParameters, CancelProbe
from stager.probes.cancel_bench import Bench, token_seconds
from stager.probes.cancel_cells import Phase
from stager.probes.cancel_streams import leaving, start
from stager.probes.cancel_watch import Soon, full_width, next_token, slow
from stager.probes.requests import ask_once, limits_for
from stager.probes.target import Claims, Target, Unseen
from tests.unit.probes.bench import finding, results
from tests.unit.probes.cases import completion

CLAIMS = ("decoding", "prefilling", "queued", "unstreamed")
QUICK = {"phases": ["decode"], "ways": ["close"], "races": 4, "unstreamed": False}


def _by_claim(*args, **kwargs) -> dict[str, Finding]:
    return {result.finding.claim: result.finding for result in results("cancel", *args, **kwargs)}


def test_the_honest_engine_lets_go_in_every_phase_and_way() -> None:
    """Twelve cells and the races: the gauge is back, the neighbour is whole, the next token comes as before."""
    found = _by_claim(races=8)
    assert {claim: one.verdict for claim, one in found.items()} == dict.fromkeys(CLAIMS, Verdict.PASSED)
    assert [found[claim].sample_count for claim in CLAIMS] == [11, 3, 3, 3]
    for one in found.values():
        recoveries = [m.value for name, m in one.measurements.items() if name.endswith("_recovery")]
        assert len(recoveries) == 3
        assert max(recoveries) < 0.3
        assert one.measurements["neighbour_comparable"].value is True


def test_a_request_that_waits_on_without_its_client_fails_the_queue_alone() -> None:
    """With every slot held it must leave the queue within the deadline; the other phases keep their own verdicts."""
    found = _by_claim(Knobs(ghost_in_queue=True), ways=["close"], races=4)
    assert found["decoding"].verdict is found["prefilling"].verdict is Verdict.PASSED
    queued = found["queued"]
    assert queued.verdict is Verdict.FAILED
    assert "requests_deferred still read 1" in queued.reasons[0]
    assert "every slot held: it waited on for a slot, and left the queue" in queued.reasons[0]
    assert queued.measurements["queued_close_out_of_queue"].value is None
    assert queued.measurements["queued_close_out_of_queue_once_slots_were_free"].value < 0.3


@pytest.mark.parametrize("phase", list(Phase))
def test_a_client_that_asked_for_no_stream_must_be_missed_too(phase: Phase) -> None:
    """In every phase: an engine that watches its streams only passes the phase's claim and fails the unstreamed one."""
    found = _by_claim(Knobs(ghost_unless_streamed=True), phases=[phase], ways=["close"], races=0)
    assert found[phase.claim].verdict is Verdict.PASSED, found[phase.claim].reasons
    assert any("see the claim unstreamed" in sentence for sentence in found[phase.claim].not_proven)
    plain = found["unstreamed"]
    assert plain.verdict is Verdict.FAILED
    assert all(reason.startswith((f"{phase}_close_plain:", "slots are still held")) for reason in plain.reasons)


def test_a_phase_is_not_judged_on_what_the_one_before_left() -> None:
    """An engine that a cancel brought down gets one refutation; the later phases say that they were not tried."""
    found = _by_claim(Knobs(cancel_kills_engine=True), ways=["close"], races=0, timeout=0.6, deadline=0.2)
    assert found["decoding"].verdict is Verdict.FAILED
    assert found["prefilling"].verdict is found["queued"].verdict is Verdict.INCONCLUSIVE
    assert "not tried: the engine had not come to rest after decoding failed" in found["queued"].reasons[0]


@pytest.mark.parametrize(
    ("idle", "later", "verdict"),
    [(0, 90, Verdict.FAILED), (5, 20, Verdict.PASSED), (90, 95, Verdict.PASSED), (None, 90, Verdict.PASSED)],
)
def test_a_busy_device_may_refute_and_an_idle_one_confirms_nothing(idle, later, verdict) -> None:
    """Utilisation that stays above idle past the deadline fails the claim; without an idle reading it says nothing."""
    readings = iter([idle])

    async def busy() -> int:
        percent = next(readings, later)
        if percent is None:
            raise Unseen("no card is there")
        return percent

    found = finding("cancel", target={"device_busy": busy}, **QUICK)
    assert found.verdict is verdict, found.reasons
    if verdict is Verdict.FAILED:
        assert "never less than 90 % busy" in found.reasons[0]
    assert any("an idle gauge or device confirms nothing" in sentence for sentence in found.not_proven)
    assert any("no card is there" in sentence for sentence in found.not_proven) is (idle is None)


def test_a_late_token_of_a_slow_machine_is_no_ghost() -> None:
    """Late at the usual pace refutes; late with every token after it late as well could be the machine: a doubt."""
    refuted: list[str] = []
    doubted: list[str] = []
    for soon in (Soon(0.1), Soon(3.0, "late"), Soon(3.0, "later", slower=True)):
        soon.note(refuted.append, doubted.append)
    assert refuted == ["late"]
    assert len(doubted) == 1
    assert doubted[0].startswith("later; but with no ghost left tokens came slower too")


def test_an_answer_without_a_pace_excuses_nothing() -> None:
    """Only tokens that came slowly speak for a slow machine: an empty answer, or one token, does not."""
    step = 10**9
    assert slow([completion([0, step, 2 * step])], 0.01)
    assert not slow([completion([0, step]), completion([0])], 0.01)
    assert not slow([completion([])], 0.01)


def test_a_ghost_does_not_excuse_itself_by_slowing_what_comes_after_it() -> None:
    """Where sequences take turns ghosts slow every token: the pace counts only once they are over, and is good then."""

    async def go() -> tuple[Soon, float]:
        async with lab_process() as lab:
            shape = Shape(slots=8, step_s=0.04)
            url = await lab.start(shape, Knobs(time_slicing=True, ghost_behind_true_gauge=True))
            target = replace(lab_target(url, shape), claims=Claims(slots=8, context=24))
            bench = Bench(target, 20.0, 0.1, 64, None, None)
            control = await ask_once(target, bench.short(), 20.0)
            bench.ttft, bench.token_s = control.ttft, token_seconds(control)
            bench.wide_token_s = 8 * bench.token_s
            cuts = [leaving(How.CLOSE, bench, after_deltas=1) for _ in range(7)]
            await asyncio.gather(*(start(bench, bench.victim(cut)).task for cut in cuts))
            began = ticks()
            return await next_token(bench, bench.ghost_until_ns(began)), (ticks() - began) / 1e9

    soon, took = asyncio.run(go())
    assert soon.late, soon
    assert soon.slower is False
    assert took > 3.0  # the tries were slowed, and the pace was asked for after them


def test_ghosts_that_take_turns_with_every_slot_do_not_pass_for_a_slow_machine() -> None:
    """Where there is room beside ghosts nobody waits, all is slower: the pace counts once they are over."""

    async def go() -> Soon:
        async with lab_process() as lab:
            shape = Shape(slots=8, step_s=0.04)
            url = await lab.start(shape, Knobs(time_slicing=True, ghost_behind_true_gauge=True))
            target = replace(lab_target(url, shape), claims=Claims(slots=3, context=24))
            bench = Bench(target, 20.0, 0.1, 64, None, None)
            alone = await ask_once(target, bench.short(), 20.0)
            bench.ttft, bench.token_s = alone.ttft, token_seconds(alone)
            wide = await run_load(url, [bench.short() for _ in range(3)], "/health", limits_for(64, 20.0))
            bench.wide_ttft = max(one.ttft for one in wide.completions)
            bench.wide_token_s = min(token_seconds(one) for one in wide.completions)
            cuts = [leaving(How.CLOSE, bench, after_deltas=1) for _ in range(5)]
            await asyncio.gather(*(start(bench, bench.victim(cut)).task for cut in cuts))
            return await full_width(bench, bench.ghost_until_ns(ticks()))

    soon = asyncio.run(go())
    assert "of 3 requests at once the last began after" in soon.late, soon
    assert soon.slower is False


def test_only_one_step_of_a_long_prompt_is_added_to_the_deadline() -> None:
    """A job whose client left may read on to the end of a step of 2,048 tokens, not to the end of its prompt."""
    bench = Bench(lab_target("http://x", Shape()), 1.0, 2.5, 8192, None, None, prefill_s=8.0, wide_ttft=0.5)
    assert bench.deadline(reading=False) == 3.0
    assert bench.deadline(reading=True) == 4.5


def test_a_ghost_is_told_from_a_gauge_that_lies() -> None:
    """A gauge that stays high over free slots fails too, and the evidence says that the slots were free."""
    stuck = finding("cancel", Knobs(gauge_stuck_high=True), **QUICK)
    assert stuck.verdict is Verdict.FAILED
    assert stuck.measurements["slots_free_again"].value is True


def test_a_ghost_behind_a_quiet_gauge_is_found_from_outside() -> None:
    """Where the gauge says zero over a living job, filling every slot shows who must wait."""
    found = finding("cancel", Knobs(ghost_behind_true_gauge=True), **QUICK)
    assert found.verdict is Verdict.FAILED
    assert any("slots are still held" in reason for reason in found.reasons)


def test_an_engine_without_a_gauge_is_judged_from_outside() -> None:
    """Neighbour, next first token and full width decide; the missing count is named as not proven."""
    engine = replace(OPENAI, cancel_grace=0.3)
    found = finding("cancel", target={"engine": engine}, **QUICK)
    assert found.verdict is Verdict.PASSED, found.reasons
    assert any("own count" in sentence for sentence in found.not_proven)


def test_through_a_forward_only_an_orderly_close_is_measurable() -> None:
    """Reset and half-close are named as not measurable over an SSH forward, and are not tried."""
    found = finding("cancel", target={"path": "ssh-forward"}, **{**QUICK, "ways": list(How)})
    assert found.verdict is Verdict.PASSED, found.reasons
    assert {name for name in found.measurements if name.endswith("_recovery")} == {"decode_close_recovery"}
    assert any("reset and half-close: not measurable" in sentence for sentence in found.not_proven)


def test_a_job_too_short_to_haunt_is_inconclusive() -> None:
    """If a victim would end by itself before the deadline, no ghost could show."""
    engine = replace(LAB_ENGINE, cancel_grace=30.0)
    claims = Claims(slots=4, context=512)
    found = finding("cancel", target={"engine": engine}, claims=claims, prompt_tokens=100, deadline=30.0, **QUICK)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "no ghost could show" in found.reasons[0]


def test_a_request_that_was_over_before_its_client_left_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that answers long requests at once, with an error or in a token, does not pass for one that lets go."""
    monkeypatch.setattr(Bench, "victim_tokens", 2)
    found = finding("cancel", **QUICK)
    assert found.verdict is Verdict.INCONCLUSIVE
    over = [reason for reason in found.reasons if "the request was over before its client left" in reason]
    assert {reason.split(":")[0] for reason in over} == {"decode_close", "race"}


@pytest.mark.parametrize("knobs", [Knobs(), Knobs(ghost_in_queue=True)])
def test_a_queue_without_a_gauge_is_never_passed(knobs: Knobs) -> None:
    """Where nobody can see a request wait or leave, the claim about the queue is inconclusive, with that reason."""
    engine = replace(LAB_ENGINE, waiting=())
    found = finding("cancel", knobs, target={"engine": engine}, phases=["queued"], ways=["close"], races=0)
    assert found.verdict in (Verdict.INCONCLUSIVE, Verdict.FAILED)
    assert any("no gauge of its queue" in reason for reason in found.reasons)
    if knobs == Knobs():
        assert found.verdict is Verdict.INCONCLUSIVE, found.reasons


@pytest.mark.parametrize(("ghost", "verdict"), [(False, Verdict.PASSED), (True, Verdict.FAILED)])
def test_an_engine_of_one_slot_is_left_while_it_reads(ghost: bool, verdict: Verdict) -> None:
    """With one slot no neighbour takes it, so the client really leaves a prefill: a ghost in it is found."""
    knobs, shape = Knobs(ghost_in_prefill=ghost), Shape(slots=1)
    found = finding("cancel", knobs, shape, phases=["prefill"], ways=["close"], races=0)
    assert found.verdict is verdict, found.reasons
    assert found.measurements["prefill_control"].value < 0.24  # a neighbour's 48 tokens are not in it
    assert any("beside the only claimed slot" in sentence for sentence in found.not_proven)


def test_a_probe_that_ran_out_of_time_answers_only_what_was_asked() -> None:
    """A phase that was left out gets no finding either when the probe breaks or is stopped."""

    class Hasty(CancelProbe):
        def time_limit(self, parameters: CancelParameters) -> float:
            return 0.05

        async def run(self, target: Target, parameters: CancelParameters) -> tuple[ProbeResult, ...]:
            await asyncio.sleep(60)
            return ()

    parameters = CancelParameters.model_validate({"phases": ["decode"], "unstreamed": False})
    got = asyncio.run(run_probe(Hasty(), lab_target("http://127.0.0.1:9", Shape()), parameters))
    assert [(one.finding.claim, one.finding.verdict) for one in got] == [("decoding", Verdict.ERROR)]


def test_a_playbook_in_which_no_client_leaves_is_refused() -> None:
    """Neither clients with a stream nor such without leave nothing to try."""
    with pytest.raises(ValidationError, match="no client would leave"):
        CancelParameters(streamed=False, unstreamed=False)
    assert CancelProbe().asked(CancelParameters(streamed=False)) == ("unstreamed",)


def test_without_claimed_slots_a_queue_is_not_known() -> None:
    """Nobody can queue behind slots that nobody claims."""
    found = finding("cancel", claims=Claims(context=8192), phases=["queued"], ways=["close"], races=0)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "claims no slots" in found.reasons[0]

"""A client that leaves must leave nothing behind."""

from dataclasses import replace

from stager.engines.openai import OPENAI
from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.calibrate_settings import LAB_ENGINE
from stager.probes.target import Claims
from tests.unit.probes.bench import finding

QUICK = {"ways": ["close"], "races": 4}


def test_the_honest_engine_lets_go_in_every_phase_and_way() -> None:
    """Nine cells and the races: the gauge is back, the neighbour is whole, the next token comes as before."""
    found = finding("cancel", races=8)
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["cancels"].value == 17
    recoveries = {name for name in found.measurements if name.endswith("_recovery")}
    assert len(recoveries) == 9
    assert all(found.measurements[name].value < 0.3 for name in recoveries)
    assert found.measurements["neighbour_comparable"].value is True


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
    found = finding("cancel", target={"path": "ssh-forward"}, phases=["decode"], races=4)
    assert found.verdict is Verdict.PASSED, found.reasons
    assert {name for name in found.measurements if name.endswith("_recovery")} == {"decode_close_recovery"}
    assert any("reset and half-close: not measurable" in sentence for sentence in found.not_proven)


def test_a_job_too_short_to_haunt_is_inconclusive() -> None:
    """If a victim would end by itself before the deadline, no ghost could show."""
    engine = replace(LAB_ENGINE, cancel_grace=30.0)
    claims = Claims(slots=4, context=512)
    found = finding(
        "cancel", target={"engine": engine}, claims=claims, phases=["decode"], prompt_tokens=100, deadline=30.0, **QUICK
    )
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "no ghost could show" in found.reasons[0]


def test_without_claimed_slots_a_queue_is_not_known() -> None:
    """Nobody can queue behind slots that nobody claims."""
    found = finding("cancel", claims=Claims(context=8192), phases=["queued"], ways=["close"], races=0)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "claims no slots" in found.reasons[0]

"""Health during a long prefill: due samples, errors, the slowest answer, the longest gap."""

import pytest

from stager.client.sampler import Sample
from stager.lab.knobs import Knobs, Shape
from stager.models.evidence import Verdict
from stager.probes.health_series import client_stalls, complaints, doubts, series
from tests.unit.probes.bench import finding, results

MS = 1_000_000


def _sample(due_ms: float, took_ms: float, status: int | None = 200, error: str | None = None) -> Sample[int]:
    due, end = round(due_ms * MS), round((due_ms + took_ms) * MS)
    return Sample(due, due, end, status, error)


def _series(*taken: Sample[int], end_ms: float = 1000):
    return series("/health", taken, 0, round(end_ms * MS))


def test_only_what_was_due_in_the_span_counts() -> None:
    """A sample due before or after the prefill is left out; one that was due in it counts however late its answer."""
    found = _series(_sample(-100, 5), _sample(500, 900), _sample(1000, 5))
    assert (found.expected, found.obtained) == (1, 1)
    assert found.slowest == pytest.approx(0.9)


def test_latency_counts_from_the_intended_time() -> None:
    """Quantiles are nearest rank, so the maximum is a latency that occurred."""
    found = _series(*(_sample(100 * i, i + 1) for i in range(10)))
    assert found.quantile(0.5) == pytest.approx(0.005)
    assert found.quantile(0.99) == found.slowest == pytest.approx(0.010)


def test_a_silence_is_a_gap_even_without_a_slow_answer() -> None:
    """Failed answers leave a gap between good ones, and the gap counts like a slow answer."""
    found = _series(_sample(0, 1), _sample(100, 1, status=503), _sample(900, 1))
    assert found.longest_gap == pytest.approx(0.9)
    told = complaints(found, 0.5)
    assert any("status 503" in words for words in told)
    assert any("no good answer for 0.900 s" in words for words in told)


def test_what_this_client_slept_through_is_no_fault_of_the_engine() -> None:
    """An answer counts without the time in which due questions did not go out; what is left of it may refute."""

    def late(due_ms: int, asked_ms: int, answered_ms: int) -> Sample[int]:
        return Sample(due_ms * MS, asked_ms * MS, answered_ms * MS, 200, None)

    asleep = [late(0, 0, 5), late(100, 100, 905), late(200, 900, 910), late(300, 900, 912), late(950, 950, 955)]
    stalls = client_stalls([asleep])
    assert stalls == [(200 * MS, 900 * MS)]
    found = series("/health", asleep, 0, 1000 * MS, stalls)
    assert found.slowest == pytest.approx(0.805)
    assert found.slowest_but_ours == pytest.approx(0.105)
    assert complaints(found, 0.5) == []
    assert "this client stood still" in doubts(found, 0.5)[0]
    assert doubts(found, 1.0) == []
    assert "once took 0.805 s" in complaints(found, 0.1)[0]
    assert doubts(found, 0.1) == []


def test_a_good_series_has_no_complaints() -> None:
    """Prompt answers all the way through leave nothing to say."""
    assert complaints(_series(*(_sample(50 * i, 2) for i in range(20))), 0.5) == []


def test_the_honest_engine_stays_readable() -> None:
    """Both findings pass, with samples of the health endpoint and of every gauge's endpoint."""
    found = {r.finding.claim: r.finding for r in results("health")}
    assert {f.verdict for f in found.values()} == {Verdict.PASSED}, [f.reasons for f in found.values()]
    assert found["readable"].measurements["health_obtained"].value >= 20
    assert found["readable"].measurements["idle_afterwards"].value is True
    assert {"metrics_max", "slots_max"} <= set(found["gauges-readable"].measurements)


def test_each_endpoint_has_its_own_verdict() -> None:
    """A gauge that hangs during prefill fails the gauges' claim and leaves the health endpoint's alone."""
    found = {r.finding.claim: r.finding.verdict for r in results("health", Knobs(slots_hang_in_prefill=True))}
    assert found == {"readable": Verdict.PASSED, "gauges-readable": Verdict.FAILED}


def test_a_prefill_too_short_for_enough_samples_is_inconclusive() -> None:
    """A handful of questions says nothing about a maximum."""
    found = finding("health", shape=Shape(), prompt_tokens=500)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "questions were due" in found.reasons[0]

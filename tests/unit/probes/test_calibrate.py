"""The calibration: every probe catches the liars meant for it and passes the honest engine."""

import asyncio
from datetime import UTC, datetime

import pytest

from stager.lab.knobs import Knobs
from stager.lab.lie import Lie
from stager.lab.lies import LIES
from stager.models.evidence import Finding, Termination, Verdict
from stager.probes.base import ProbeResult
from stager.probes.calibrate import Calibrated, Trial, calibrate, caught, gravest
from stager.probes.calibrate_settings import SETTINGS, lab_target
from stager.probes.catalog import PROBES

LIE = Lie("lie", "finish", Knobs(dead=True), "It lies.")
HIDING = Lie("lie", "finish", Knobs(dead=True), "It hides.", unmeasurable=True)


def _result(verdict: Verdict) -> ProbeResult:
    now = datetime.now(UTC)
    found = Finding(
        claim="c",
        parameters={},
        started_at=now,
        ended_at=now,
        sampled="s",
        sample_count=1,
        termination=Termination(reason="r"),
        measurements={},
        configured=(),
        verdict=verdict,
        reasons=("because",),
        not_proven=("anything",),
    )
    return ProbeResult(found, lab_target("http://x", SETTINGS["finish"].shape).vantage(), b"{}")


@pytest.mark.parametrize(
    ("verdicts", "plain", "hiding"),
    [
        (["failed"], True, True),
        (["passed", "failed"], True, True),
        (["passed"], False, False),
        (["inconclusive"], False, True),
        (["error"], False, False),
        (["error", "inconclusive"], False, False),
        (["passed", "inconclusive"], False, True),
    ],
)
def test_a_liar_is_caught_by_a_refutation(verdicts: list[str], plain: bool, hiding: bool) -> None:
    """Failed catches; inconclusive only where the lie hides the truth; a broken experiment catches nobody."""
    results = [_result(Verdict(verdict)) for verdict in verdicts]
    assert caught(LIE, results) is plain
    assert caught(HIDING, results) is hiding


def test_several_claims_are_read_as_the_gravest() -> None:
    """Failed outranks everything, passed nothing."""
    results = [_result(Verdict.PASSED), _result(Verdict.INCONCLUSIVE)]
    assert gravest(results) is Verdict.INCONCLUSIVE


def test_the_document_has_the_contracts_keys() -> None:
    """Client, liars and honest trials each carry the keys that scripts read."""
    liar = Trial("lie", "finish", False, Verdict.FAILED, True, 1.0, ("because",))
    honest = Trial("", "finish", False, Verdict.PASSED, True, 1.0, ())
    document = Calibrated((liar, honest), 0.3, 900.0).document()
    assert document["client"] == {"jitter_ms_p99": 0.3, "events_per_second": 900.0}
    (liar_row,), (honest_row,) = document["liars"], document["honest"]
    assert {"lie": "lie", "probe": "finish", "caught": True, "verdict": "failed"}.items() <= liar_row.items()
    assert {"probe": "finish", "verdict": "passed"}.items() <= honest_row.items()


def test_every_probe_has_a_liar_and_a_setting() -> None:
    """No probe is without a lie it must catch, and no lie without its probe."""
    assert {lie.probe for lie in LIES} == set(PROBES) == set(SETTINGS)


@pytest.mark.parametrize("probe", PROBES)
def test_no_liar_passes_and_the_honest_engine_never_fails(probe: str) -> None:
    """Each probe against its liars and the honest engine; on a noisy machine one trial may stay inconclusive."""
    found = asyncio.run(calibrate(only=[probe]))

    assert [t for t in found.trials if t.lie and t.verdict is Verdict.PASSED] == []
    assert [t for t in found.trials if not t.lie and t.verdict is Verdict.FAILED] == []
    assert len([t for t in found.trials if not t.right]) <= 1

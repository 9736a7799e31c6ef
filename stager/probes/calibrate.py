"""Holds every probe against the liar it is meant to catch, and against the honest engine it must pass."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from stager.client.ticks import ticks
from stager.lab.knobs import Knobs, Shape
from stager.lab.lie import Lie
from stager.lab.lies import LIES
from stager.lab.process import LabProcess, lab_process
from stager.models.evidence import PRECEDENCE, Verdict
from stager.probes import calibration
from stager.probes.base import ProbeResult, run_probe
from stager.probes.calibrate_settings import FOR_LIE, SETTINGS, Setting, lab_target
from stager.probes.catalog import PROBES

#: The pace and width the client is measured at: the lab's own step, and the streams every probe uses there.
CLIENT_STEP_MS = 5.0
CLIENT_STREAMS = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """One probe against one engine.

    ``lie`` is empty for the honest engine, whose legal quirks may be on (``quirks``). ``right`` says whether the
    probe did what it must: caught the liar, or passed the honest engine.
    """

    lie: str
    probe: str
    quirks: bool
    verdict: Verdict
    right: bool
    seconds: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """All trials, and how good the client's own clock was."""

    trials: tuple[Trial, ...]
    jitter_ms_p99: float | None
    events_per_second: float | None

    @property
    def liars_uncaught(self) -> tuple[Trial, ...]:
        """Liars that were not caught."""
        return tuple(trial for trial in self.trials if trial.lie and not trial.right)

    @property
    def honest_unpassed(self) -> tuple[Trial, ...]:
        """Trials of the honest engine that did not pass."""
        return tuple(trial for trial in self.trials if not trial.lie and not trial.right)

    def document(self) -> dict[str, Any]:
        """The JSON form fixed by the contract, with seconds and reasons beside."""
        return {
            "client": {"jitter_ms_p99": self.jitter_ms_p99, "events_per_second": self.events_per_second},
            "liars": [
                {"lie": t.lie, "probe": t.probe, "caught": t.right, "verdict": t.verdict.value, **_beside(t)}
                for t in self.trials
                if t.lie
            ],
            "honest": [
                {"probe": t.probe, "verdict": t.verdict.value, "quirks": t.quirks, **_beside(t)}
                for t in self.trials
                if not t.lie
            ],
        }


def _beside(trial: Trial) -> dict[str, Any]:
    return {"seconds": round(trial.seconds, 2), "reasons": list(trial.reasons)}


async def calibrate(
    told: Callable[[Trial], None] = lambda _: None, only: Collection[str] = (), *, liars: bool = True
) -> Calibrated:
    """Run the honest engine, the honest one with every legal quirk, and then the liars, one after the other.

    Args:
        told: called after each trial.
        only: names of probes; all of them if empty.
        liars: whether to run the liars at all.
    """
    trials: list[Trial] = []

    def note(trial: Trial) -> None:
        trials.append(trial)
        told(trial)

    wanted = [name for name in PROBES if not only or name in only]
    async with lab_process() as lab:
        jitter, rate = await _client(lab)
        for quirks in (False, True):
            for name in wanted:
                note(await _honest(lab, name, quirks=quirks))
        for lie in LIES if liars else ():
            if lie.probe in wanted:
                note(await _liar(lab, lie))
    return Calibrated(tuple(trials), jitter, rate)


async def _client(lab: LabProcess) -> tuple[float | None, float | None]:
    """Measure this client against a source that emits in lock-step."""
    target = lab_target(await lab.start(), Shape())
    try:
        found = await calibration.calibrate(target, CLIENT_STREAMS, CLIENT_STEP_MS)
    except calibration.NoSource:
        return None, None
    return found.jitter_p99_ms, found.events_per_second


async def _honest(lab: LabProcess, name: str, *, quirks: bool) -> Trial:
    setting = SETTINGS.get(name, Setting())
    shape = replace(setting.shape, crlf=quirks)
    results, seconds = await _run(lab, name, shape, Knobs(), dict(setting.parameters))
    verdict = gravest(results)
    return Trial("", name, quirks, verdict, verdict is Verdict.PASSED, seconds, _reasons(results))


async def _liar(lab: LabProcess, lie: Lie) -> Trial:
    setting = SETTINGS.get(lie.probe, Setting())
    shape = lie.shape or setting.liars_shape or setting.shape
    parameters = {**setting.parameters, **setting.for_liars, **FOR_LIE.get(lie.name, {})}
    results, seconds = await _run(lab, lie.probe, shape, lie.knobs, parameters)
    return Trial(lie.name, lie.probe, False, gravest(results), caught(lie, results), seconds, _reasons(results))


async def _run(
    lab: LabProcess, name: str, shape: Shape, knobs: Knobs, parameters: dict[str, Any]
) -> tuple[tuple[ProbeResult, ...], float]:
    probe = PROBES[name]
    target = lab_target(await lab.start(shape, knobs), shape)
    begun = ticks()
    results = await run_probe(probe, target, probe.parameters.model_validate(parameters))
    return results, (ticks() - begun) / 1e9


def gravest(results: Collection[ProbeResult]) -> Verdict:
    """Read several claims' verdicts as one, in the fixed precedence."""
    return min((result.finding.verdict for result in results), key=PRECEDENCE.index)


def caught(lie: Lie, results: Collection[ProbeResult]) -> bool:
    """Whether a liar was found out: some claim failed; where the lie only hides the truth, inconclusive is enough.

    A broken experiment (``error``) catches nobody.
    """
    verdicts = {result.finding.verdict for result in results}
    if Verdict.ERROR in verdicts and Verdict.FAILED not in verdicts:
        return False
    return Verdict.FAILED in verdicts or (lie.unmeasurable and Verdict.INCONCLUSIVE in verdicts)


def _reasons(results: Collection[ProbeResult]) -> tuple[str, ...]:
    return tuple(reason for r in results if r.finding.verdict is not Verdict.PASSED for reason in r.finding.reasons[:4])

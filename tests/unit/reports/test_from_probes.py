"""From a probe to the page: what the probes really write is what the store keeps and the report draws."""

from __future__ import annotations

import asyncio
from pathlib import Path

from stager.engines.catalog import engine_named
from stager.evidence.store import Provenance, Store
from stager.lab.knobs import Knobs, Shape
from stager.lab.process import lab_process
from stager.models.exhibit import Exhibit
from stager.probes.base import ProbeResult, run_probe
from stager.probes.catalog import PROBES, suite_digest
from stager.probes.target import Claims, Target
from stager.reports import plots
from stager.reports.page import report_page
from stager.reports.samples import read_samples, shared_span
from tests.unit.reports.cases import BUILD, HOST, record


async def probe(name: str, knobs: Knobs, shape: Shape | None = None) -> tuple[ProbeResult, ...]:
    """What a probe finds on the lab engine."""
    made = PROBES[name]
    async with lab_process() as lab:
        url = await lab.start(shape or Shape(), knobs)
        target = Target(
            base_url=url, engine=engine_named("llama.cpp"), model="lab", claims=Claims(slots=4, context=4096)
        )
        parameters = made.parameters.model_validate({"max_tokens": 100} if name == "overlap" else {})
        return await run_probe(made, target, parameters)


def keep(store: Store, name: str, result: ProbeResult) -> Exhibit:
    """Keep a finding as the run's own."""
    provenance = Provenance(
        probe=name,
        probe_version=PROBES[name].version,
        suite_digest=suite_digest(),
        build_id=BUILD,
        run_id="run-a",
        host=HOST,
        vantage=result.vantage,
    )
    return store.add(result.finding, result.raw, provenance)


def test_an_overlap_experiment_is_kept_and_drawn(tmp_path: Path) -> None:
    """Four streams on the honest engine: all drawn, with the gauge, the shared span and a closer look."""
    store = Store(tmp_path)
    exhibits = [keep(store, "overlap", result) for result in asyncio.run(probe("overlap", Knobs()))]

    raw = {item.evidence.raw.sha256: store.raw(item) for item in exhibits}
    samples = read_samples(store.raw(exhibits[0]))
    page = report_page(record(evidence=tuple(item.evidence for item in exhibits), baseline=()), raw)

    assert store.search() == (sorted(exhibits, key=lambda item: item.name), [])
    assert [len(stream.tokens) > 50 for stream in samples.streams] == [True] * 4
    assert samples.gauge is not None
    assert shared_span(samples.streams) is not None
    assert page.count("<svg") == 2


def test_health_during_a_long_prompt_is_drawn_for_each_endpoint() -> None:
    """The samples of the health endpoint and of the gauges' endpoint are drawn, with the time the prompt was read."""
    health, gauges = asyncio.run(probe("health", Knobs(), Shape(prefill_per_step=16)))

    series = {one.name: one for one in read_samples(health.raw).latencies}

    assert "/health" in series
    assert len(series) > 1
    assert all(len(one.points) > 5 and one.span is not None for one in series.values())
    assert "/health" in health.finding.sampled
    assert all(name in gauges.finding.sampled for name in series if name != "/health")


def test_single_answers_are_drawn_under_the_names_of_their_cases() -> None:
    """Answers asked one by one come out as streams on one time axis."""
    (result,) = asyncio.run(probe("finish", Knobs()))

    samples = read_samples(result.raw)

    assert "chat_stream_cut" in {stream.name for stream in samples.streams}
    assert len(plots.draw(samples, "x")) == 1

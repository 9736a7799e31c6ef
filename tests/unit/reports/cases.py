"""Runs to report on: a four-slot candidate beside a one-slot production, with raw samples as the probes write them."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

from stager.models.answer import GateAnswer
from stager.models.base import digest
from stager.models.evidence import (
    ConfiguredField,
    Evidence,
    Finding,
    HostFacts,
    Measurement,
    RawSamples,
    StreamEnd,
    Termination,
    Vantage,
    Verdict,
)
from stager.models.record import Baseline, Cleanup, Left, RunRecord, Step

BEGAN = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)
BUILD = "cd34" * 16
SUITE = "5a" * 32
HOST = HostFacts(
    address="gpu1", kernel="6.18", machine="x86_64", boot_id="b1", gpus=({"name": "RTX 3090"},), driver="580"
)


def overlap_raw(*, serial: bool, streams: int = 4, tokens: int = 60) -> bytes:
    """Raw samples of an overlap experiment: one stream after the other, or all in the same steps."""
    dice = random.Random(7)
    step, entries = 13_000 if serial else 36_000, []
    for number in range(streams):
        first = (number * tokens * step if serial else 0) + 450_000
        times = [first + index * step + dice.randint(-700, 700) for index in range(tokens)]
        entries.append({"sent": 900 * number, "tokens": times, "finish_reasons": ["length"], "ended": "complete"})
    over = max(entry["tokens"][-1] for entry in entries)
    active = 1 if serial else streams
    samples = [[at, at + 2500, active] for at in range(60_000, over, over // 32)] + [[over + 9000, over + 12_000, 0]]
    gauge = {"where": "/metrics llamacpp:requests_processing", "samples": samples, "expected": 34, "errors": []}
    return json.dumps({"streams": entries, "controls": [], "gauge": gauge}).encode()


def latency_raw(samples: int = 73) -> bytes:
    """Raw samples of a health experiment: answers in some milliseconds, one that did not come, one refusal."""
    dice = random.Random(3)
    rows = [[i * 10**8, i * 10**8, i * 10**8 + dice.randint(3, 40) * 10**6, 200, None] for i in range(samples)]
    rows[40] = [40 * 10**8, 40 * 10**8, 42 * 10**8, None, "timed out"]
    rows[41][3] = 503
    answer = {"sent_ns": 5 * 10**8, "delta_ns": [60 * 10**8, 61 * 10**8], "finish_reasons": ["length"]}
    return json.dumps({"/health": rows, "answer": answer}).encode()


def raw_samples(content: bytes) -> RawSamples:
    """The name under which these samples would be kept."""
    sha256 = digest(content.decode())
    return RawSamples(file=f"raw-{sha256}.gz", sha256=sha256)


def finding(claim: str = "generating", **changes: Any) -> Finding:
    """What the overlap probe says about one claim."""
    parts: dict[str, Any] = {
        "claim": claim,
        "parameters": {"streams": 4, "max_tokens": 200},
        "started_at": BEGAN + timedelta(seconds=40),
        "ended_at": BEGAN + timedelta(seconds=49),
        "sampled": "first and last token of 4 streams, and llamacpp:requests_processing each 60 ms",
        "sample_count": 34,
        "termination": Termination(
            reason="all streams ended", streams=tuple(StreamEnd(stream=i, finish_reason="length") for i in range(4))
        ),
        "measurements": {
            "streams": Measurement(value=4, unit="count"),
            "generating_at_once": Measurement(value=4, unit="count"),
            "shared_span": Measurement(value=2.118, unit="s"),
            "ttft_max": Measurement(value=0.4512, unit="s"),
            "gauge_peak": Measurement(value=4.0, unit="requests"),
            "gauge_samples_obtained": Measurement(value=34, unit="count"),
        },
        "configured": (ConfiguredField(name="total_slots", value=4, endpoint="/props", source="--parallel"),),
        "verdict": Verdict.PASSED,
        "reasons": ("4 of 4 streams were between first and last token at once for 2.12 s",),
        "not_proven": (
            "that the streams share the device's steps: time-slicing also keeps all of them generating",
            "more than 4 at once, longer prompts, or the answers' quality",
        ),
    }
    return Finding(**parts | changes)


def evidence(raw: bytes, probe: str = "overlap", claim: str = "generating", **changes: Any) -> Evidence:
    """The same, belonging to a build and a run."""
    outer = {name: changes.pop(name) for name in list(changes) if name not in Finding.model_fields}
    parts = {
        "probe_version": 1,
        "suite_digest": SUITE,
        "attempt": 1,
        "build_id": BUILD,
        "run_id": "20261129T030000Z-7c1e",
        "launch": "inv-a",
        "host": HOST,
        "vantage": Vantage(client="controller", path="ssh-forward", path_latency_ms=0.41, client_jitter_ms=0.23),
        "raw": raw_samples(raw),
    }
    made = finding(claim, **changes)
    return Evidence(probe=probe, **{name: getattr(made, name) for name in Finding.model_fields}, **parts | outer)


def sliced() -> dict[str, Any]:
    """Parts of a finding that did not come out well."""
    return {
        "verdict": Verdict.INCONCLUSIVE,
        "reasons": ("client jitter 4.1 ms is more than an eighth of the step of 13 ms",),
        "sampled": "arrival times of 240 tokens in 4 streams, 2 single-stream controls",
        "sample_count": 240,
        "measurements": {
            "tokens_per_step": Measurement(value=None, unit="tokens/step"),
            "co_arrival": Measurement(value=0.98, unit="ratio"),
            "co_arrival_null": Measurement(value=0.14, unit="ratio"),
            "scaling": Measurement(value=1.748, unit="ratio"),
        },
    }


def answer(verdict: str = "refuse") -> GateAnswer:
    """The gate's answer about that build."""
    refused = verdict == "refuse"
    return GateAnswer(
        build_id=BUILD,
        verdict="refuse" if refused else "promote",
        reasons=("overlap/executing: the newest attempt was inconclusive.",) if refused else (),
        evidence_used=(),
        missing=("overlap/executing",) if refused else (),
        notes=("overlap/generating: attempt 1 failed: two waited.",),
        policy="default",
        policy_sha256="9f" * 32,
        suite_digest=SUITE,
        judged_at=BEGAN + timedelta(minutes=2),
    )


def record(**changes: Any) -> RunRecord:
    """A run that went well but for one inconclusive claim and one marker that was not ours."""
    batched, health = overlap_raw(serial=False), latency_raw()
    one = {"streams": 4, "generating_at_once": 1, "gauge_peak": 1.0}
    before = {name: Measurement(value=value, unit="count") for name, value in one.items()}
    parts: dict[str, Any] = {
        "run_id": "20261129T030000Z-7c1e",
        "build_id": BUILD,
        "host": HOST,
        "playbook": "exl3-batch4",
        "started_at": BEGAN,
        "ended_at": BEGAN + timedelta(seconds=93),
        "steps": tuple(
            Step(name=name, seconds=took, changed=changed)
            for name, took, changed in (
                ("connect", 0.21, False),
                ("preflight", 0.84, False),
                ("upload", 1.9, True),
                ("arm the guard", 0.4, True),
                ("raise markers", 0.02, True),
                ("stop watchdogs and services", 3.1, True),
                ("launch and wait until ready", 14.2, True),
                ("verify", 61.0, False),
                ("cleanup", 11.3, True),
            )
        ),
        "evidence": (
            evidence(batched),
            evidence(batched, claim="executing", **sliced()),
            evidence(
                health,
                "health",
                "readable-in-prefill",
                sampled="/health each 100 ms while 7,921 tokens were prefilled",
                sample_count=73,
                measurements={
                    "errors": Measurement(value=1, unit="count"),
                    "p50": Measurement(value=21.0, unit="ms"),
                    "p99": Measurement(value=39.0, unit="ms"),
                    "max": Measurement(value=40.0, unit="ms"),
                },
                verdict=Verdict.FAILED,
                reasons=("1 of 73 health checks was not answered: timed out",),
                configured=(),
            ),
        ),
        "baseline": (
            Baseline(
                service="llama.service",
                probe="overlap",
                finding=finding(
                    verdict=Verdict.FAILED,
                    reasons=("4 streams were accepted and generated one after the other",),
                    measurements=before,
                ),
                raw=raw_samples(overlap_raw(serial=True)),
            ),
        ),
        "cleanup": Cleanup(
            candidate_stopped=True,
            restored=("llama.service", "llama-watchdog.timer"),
            left=(Left(what="marker", path="/run/llama/x.maintenance", why="not ours: it appeared at 03:00:51"),),
            markers_cleared=("/run/llama/maintenance",),
            production_as_before=True,
            downtime_seconds=84.6,
        ),
        "exit_code": 8,
        "gate": answer(),
    }
    return RunRecord(**parts | changes)


def raw_of_record() -> dict[str, bytes]:
    """The raw samples of ``record``, by their digest."""
    contents = (overlap_raw(serial=False), overlap_raw(serial=True), latency_raw())
    return {raw_samples(content).sha256: content for content in contents}

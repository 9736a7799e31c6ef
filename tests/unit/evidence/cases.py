"""Evidence and policies to judge: small makers, everything at its honest default."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from stager.context.ceiling import Card, Claims
from stager.context.fit import GIB, Stored
from stager.context.formats import find_format
from stager.context.recorded import facts_of
from stager.models.base import digest
from stager.models.context_facts import ContextFacts
from stager.models.evidence import Evidence, HostFacts, Measurement, RawSamples, Termination, Vantage, Verdict
from stager.models.exhibit import Exhibit
from stager.models.policy import Bound, Policy, RequiredClaim
from tests.unit.context.test_fit import NOTES

NOW = datetime(2026, 11, 29, 6, 0, tzinfo=UTC)
BUILD = "cd34" * 16
OTHER = "ab12" * 16
SUITE = "5a" * 32
OLD_SUITE = "0b" * 32
HOST = HostFacts(
    address="gpu1", kernel="6.18", machine="x86_64", boot_id="b1", gpus=({"name": "RTX 3090"},), driver="580.95"
)


def claimed(slots: int = 2, context: int = 262_144, memory: int | None = 24 * GIB) -> ContextFacts:
    """The field notes' model at 4 bit beside 12 GiB of weights: two full windows fit the card, four do not."""
    return facts_of(
        NOTES, Claims(slots, context), Stored.both(find_format("q4_0")), Card(memory, 12 * GIB), assumed=False
    )


def evidence(probe: str = "overlap", claim: str = "generating", **changes: Any) -> Evidence:
    """One honest, passing document of an hour ago, with some parts changed; ``ago`` is in hours."""
    hours = changes.pop("ago", 1)
    verdict = Verdict(changes.pop("verdict", "passed"))
    ended_at = NOW - timedelta(hours=hours)
    parts: dict[str, Any] = {
        "parameters": {"streams": 4},
        "started_at": ended_at - timedelta(seconds=5),
        "ended_at": ended_at,
        "sampled": "the active gauge, each 50 ms",
        "sample_count": 31,
        "termination": Termination(reason="all streams ended"),
        "measurements": {"streams_at_once": Measurement(value=4, unit="count")},
        "configured": (),
        "verdict": verdict,
        "reasons": () if verdict is Verdict.PASSED else ("two of four streams waited",),
        "not_proven": ("answer quality",),
        "probe_version": 1,
        "suite_digest": SUITE,
        "attempt": 1,
        "build_id": BUILD,
        "run_id": "run-a",
        "launch": "inv-a",
        "host": HOST,
        "vantage": Vantage(client="controller", path="ssh-forward", path_latency_ms=0.4, client_jitter_ms=0.2),
        "raw": RawSamples(file="raw.gz", sha256="00" * 32),
    }
    return Evidence(probe=probe, claim=claim, **parts | changes)


def exhibit(probe: str = "overlap", claim: str = "generating", **changes: Any) -> Exhibit:
    """The same, as the store would hand it over."""
    faults = changes.pop("faults", ())
    signed_by = changes.pop("signed_by", ())
    document = evidence(probe, claim, **changes)
    return Exhibit(evidence=document, sha256=digest(document.document()), faults=faults, signed_by=signed_by)


def policy(**changes: Any) -> Policy:
    """A policy that wants one claim, four streams at once, from the last day."""
    parts: dict[str, Any] = {
        "stager": 1,
        "name": "test",
        "claims": (required(),),
        "max_age": 86400,
    }
    return Policy(**parts | changes)


def required(probe: str = "overlap", claim: str = "generating", **changes: Any) -> RequiredClaim:
    """A required claim with a sample minimum and, for the default one, a threshold."""
    parts: dict[str, Any] = {"min_samples": 8}
    if (probe, claim) == ("overlap", "generating"):
        parts["thresholds"] = {"streams_at_once": Bound(at_least=4)}
    return RequiredClaim(probe=probe, claim=claim, **parts | changes)

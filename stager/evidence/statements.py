"""in-toto statements (Statement v1) about a build: what was tested, the evidence in full, the gate's answer.

Three predicates:

* test-result v0.1 knows only passed, warned and failed. Inconclusive, error and aborted are written as failed, with
  the precise word in ``stagerVerdicts``; so a missing name proves nothing, and a reader has to demand the names he
  expects in ``passedTests``.
* ``urn:stager:evidence:v1`` carries every evidence document whole.
* svr v0.2 (Simple Verification Result) is the gate's answer; it lists only what was shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stager.models.answer import GateAnswer
from stager.models.base import canonical_json, digest
from stager.models.evidence import Verdict
from stager.models.exhibit import Exhibit

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
EVIDENCE = "urn:stager:evidence:v1"
VERIFICATION = "https://in-toto.io/attestation/svr/v0.2"
VERIFIER = "urn:stager:gate:v1"

Statement = dict[str, Any]


def test_result(build_id: str, exhibits: Sequence[Exhibit]) -> Statement:
    """State which claims passed and which did not; the worst attempt of a claim decides."""
    passed: set[str] = set()
    failed: set[str] = set()
    suites: set[str] = set()
    verdicts: dict[str, str] = {}
    for exhibit in exhibits:
        suites.add(exhibit.evidence.suite_digest)
        verdicts[f"{exhibit.name}#{exhibit.evidence.attempt}"] = str(exhibit.evidence.verdict)
        shown = exhibit.evidence.verdict is Verdict.PASSED and not exhibit.faults
        (passed if shown else failed).add(exhibit.name)
    predicate = {
        "result": "FAILED" if failed or not passed else "PASSED",
        "configuration": [{"name": "probe suite", "digest": {"sha256": suite}} for suite in sorted(suites)],
        "passedTests": sorted(passed - failed),
        "warnedTests": [],
        "failedTests": sorted(failed),
        "stagerVerdicts": verdicts,
    }
    return _statement(build_id, TEST_RESULT, predicate)


def full_evidence(build_id: str, run_id: str, exhibits: Sequence[Exhibit], made_at: datetime) -> Statement:
    """State the evidence itself, document by document."""
    predicate = {
        "timeCreated": made_at.isoformat(),
        "runId": run_id,
        "documents": [
            {"digest": {"sha256": exhibit.sha256}, "document": exhibit.evidence.document(), "faults": [*exhibit.faults]}
            for exhibit in exhibits
        ],
    }
    return _statement(build_id, EVIDENCE, predicate)


def verification(answer: GateAnswer) -> Statement:
    """State the gate's answer; ``STAGER_PROMOTE`` is among the properties only if it was promote."""
    shown = {f"{used.probe}/{used.claim}" for used in answer.evidence_used}
    properties = [f"STAGER_SHOWN_{name.upper().replace('/', '_').replace('-', '_')}" for name in sorted(shown)]
    if answer.verdict == "promote":
        properties.insert(0, "STAGER_PROMOTE")
    policy = {"name": answer.policy, "digest": {"sha256": answer.policy_sha256}}
    predicate = {
        "verifier": {"id": VERIFIER, "policies": [policy]},
        "timeCreated": answer.judged_at.isoformat(),
        "properties": properties,
        "stagerAnswer": answer.document(),
    }
    return _statement(answer.build_id, VERIFICATION, predicate)


def payload(statement: Statement) -> bytes:
    """Return the bytes of a statement that are signed."""
    return canonical_json(statement)


def documents_of(statement: Statement) -> list[str]:
    """Return the digests of the evidence documents a statement carries, each taken anew from the document."""
    if statement.get("predicateType") != EVIDENCE:
        return []
    return [digest(entry["document"]) for entry in statement["predicate"]["documents"]]


def _statement(build_id: str, predicate_type: str, predicate: dict[str, Any]) -> Statement:
    return {
        "_type": STATEMENT,
        "subject": [{"name": "build", "digest": {"sha256": build_id}}],
        "predicateType": predicate_type,
        "predicate": predicate,
    }

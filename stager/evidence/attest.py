"""Signed statements: written beside the evidence they are about, and read back with who signed what.

A key file signs a DSSE envelope, ``NAME.dsse.json``. A public key (``*.pub``) signs through the agent: then the
statement lies in ``NAME.statement.json`` and the signature over its pre-authentication encoding (``NAME.pae``) in
``NAME.pae.sshsig``, for ``ssh-keygen -Y verify``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from stager.evidence import dsse, sshsig
from stager.evidence.dsse import BadSignature
from stager.evidence.files import make_folder, sha256_of, write_new
from stager.evidence.places import safe_run
from stager.evidence.signers import Signer, parse_signers
from stager.evidence.statements import Statement, documents_of, full_evidence, payload, test_result, verification
from stager.models.answer import GateAnswer
from stager.models.exhibit import Exhibit


@dataclass(frozen=True)
class Attested:
    """One signed statement that was checked: by whom, with which key, what it says, when it was made."""

    file: Path
    principals: str
    fingerprint: str
    predicate_type: str
    build_id: str
    made_at: str
    documents: tuple[str, ...]


@dataclass(frozen=True)
class Rejected:
    """One signed statement that does not hold, and why."""

    file: Path
    why: str


def export_run(
    folder: Path, build_id: str, run_id: str, exhibits: Sequence[Exhibit], key: Path, now: datetime
) -> list[Path]:
    """Write and sign the two statements about one run; return the files made.

    Raises:
        UsageError: the key cannot sign.
    """
    name = safe_run(run_id)
    return [
        *_write(folder, f"{name}.test-result", test_result(build_id, exhibits), key),
        *_write(folder, f"{name}.evidence", full_evidence(build_id, run_id, exhibits, now), key),
    ]


def export_answer(folder: Path, answer: GateAnswer, key: Path) -> list[Path]:
    """Write and sign the gate's answer; return the files made.

    Raises:
        UsageError: the key cannot sign.
    """
    return _write(folder, "gate", verification(answer), key)


def check_folder(folder: Path, signers: Sequence[Signer], now: datetime) -> tuple[list[Attested], list[Rejected]]:
    """Check every signed statement in a folder; unsigned files are none of its business."""
    good: list[Attested] = []
    bad: list[Rejected] = []
    allowed = [signer for signer in signers if signer.may_sign(now)]
    names = {*folder.glob("*.dsse.json"), *folder.glob("*.statement.json")} if folder.is_dir() else set()
    for path in sorted(names):
        try:
            good.append(check_file(path, allowed))
        except BadSignature as error:
            bad.append(Rejected(path, error.message))
    return good, bad


def check_file(path: Path, signers: Sequence[Signer]) -> Attested:
    """Check one signed statement.

    Raises:
        BadSignature: it does not hold, or says something about itself that is not so.
    """
    content = path.read_bytes()
    if path.name.endswith(".dsse.json"):
        body, signer = dsse.verify(content, signers)
    else:
        body = content
        stem = path.name.removesuffix(".statement.json")
        signature = path.with_name(f"{stem}.pae.sshsig")
        if not signature.exists():
            raise BadSignature(f"its signature {signature.name} is missing")
        signer = sshsig.verify(dsse.pae(body), signature.read_bytes(), signers)
        encoded = path.with_name(f"{stem}.pae")
        if encoded.exists() and encoded.read_bytes() != dsse.pae(body):
            raise BadSignature(f"{encoded.name} was changed: it is not the encoding of the statement")
    try:
        return _read(path, json.loads(body), signer)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadSignature(f"it is signed, but no statement that stager makes ({error!r})") from error


def _read(path: Path, statement: Statement, signer: Signer) -> Attested:
    return Attested(
        file=path,
        principals=signer.principals,
        fingerprint=signer.fingerprint,
        predicate_type=statement["predicateType"],
        build_id=statement["subject"][0]["digest"]["sha256"],
        made_at=statement["predicate"].get("timeCreated", ""),
        documents=tuple(documents_of(statement)),
    )


def with_signers(
    exhibits: Iterable[Exhibit], folder: Path, lines: Sequence[str], now: datetime
) -> tuple[list[Exhibit], list[Rejected]]:
    """Write on each exhibit who of the allowed signers has signed it.

    Raises:
        InvalidFile: a signer's line cannot be read.
    """
    good, bad = check_folder(folder, parse_signers(lines), now)
    signed_by: dict[str, set[str]] = {}
    for statement in good:
        for sha256 in statement.documents:
            signed_by.setdefault(sha256, set()).add(statement.principals)
    marked = [
        exhibit.model_copy(update={"signed_by": tuple(sorted(signed_by.get(exhibit.sha256, ())))})
        for exhibit in exhibits
    ]
    return marked, bad


def _write(folder: Path, stem: str, statement: Statement, key: Path) -> list[Path]:
    body = payload(statement)
    name = f"{stem}-{sha256_of(body)[:12]}"
    make_folder(folder)
    if key.suffix == ".pub":
        message = dsse.pae(body)
        parts = {
            f"{name}.pae": message,
            f"{name}.pae.sshsig": sshsig.sign(message, key),
            f"{name}.statement.json": body,
        }
    else:
        parts = {f"{name}.dsse.json": dsse.sign(body, key)[0]}
    for file, content in parts.items():
        if not (folder / file).exists():
            write_new(folder / file, content)
    return [folder / file for file in parts]

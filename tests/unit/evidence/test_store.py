"""The store keeps every attempt, once, whole, and believes no file that is not what its name says."""

from __future__ import annotations

import json
import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from stager.errors import StagerError, UsageError
from stager.evidence.files import sha256_of, write_new
from stager.evidence.reading import pack
from stager.evidence.store import Provenance, Store
from stager.models.base import canonical_json
from stager.models.evidence import Finding, HostFacts, Measurement, Termination, Vantage, Verdict
from tests.unit.evidence.cases import BUILD, OTHER, SUITE

START = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)
PROVENANCE = Provenance(
    probe="overlap",
    probe_version=1,
    suite_digest=SUITE,
    build_id=BUILD,
    run_id="run-a",
    host=HostFacts(address="gpu1"),
    vantage=Vantage(client="controller", path="direct", path_latency_ms=0.1, client_jitter_ms=None),
    launch="inv-a",
)


def finding(**changes: Any) -> Finding:
    """An honest finding."""
    parts: dict[str, Any] = {
        "claim": "generating",
        "parameters": {"streams": 4},
        "started_at": START,
        "ended_at": START + timedelta(seconds=5),
        "sampled": "the active gauge",
        "sample_count": 31,
        "termination": Termination(reason="all streams ended"),
        "measurements": {"streams_at_once": Measurement(value=4, unit="count")},
        "configured": (),
        "verdict": Verdict.PASSED,
        "reasons": (),
        "not_proven": ("answer quality",),
    }
    return Finding(**parts | changes)


def only_file(store: Store, pattern: str) -> Path:
    """The one file in the store that matches, made writable (a read-only mode is no lock against its owner)."""
    (path,) = store.root.rglob(pattern)
    path.chmod(0o644)
    return path


def test_a_finding_is_read_back_as_it_was(tmp_path: Path) -> None:
    """What was added is found again, with its build, run, attempt and raw samples."""
    store = Store(tmp_path)

    kept = store.add(finding(), b'{"a": 1}', PROVENANCE)

    found, troubles = Store(tmp_path).search(build_id=BUILD)
    assert (found, troubles) == ([kept], [])
    assert kept.evidence.attempt == 1
    assert kept.evidence.build_id == BUILD
    assert kept.faults == ()
    assert store.raw(kept) == b'{"a": 1}'


def test_attempts_are_numbered_and_all_kept(tmp_path: Path) -> None:
    """A second attempt at the same claim does not replace the first, whatever either says."""
    store = Store(tmp_path)
    store.add(finding(verdict=Verdict.FAILED, reasons=("two waited",)), b"1", PROVENANCE)
    store.add(finding(), b"2", PROVENANCE)
    store.add(finding(claim="executing"), b"3", PROVENANCE)

    found, _ = store.search()

    assert sorted((item.evidence.claim, item.evidence.attempt, str(item.evidence.verdict)) for item in found) == [
        ("executing", 1, "passed"),
        ("generating", 1, "failed"),
        ("generating", 2, "passed"),
    ]


def _add_ten(home: str) -> None:
    store = Store(Path(home))
    for number in range(10):
        store.add(finding(), str(number).encode(), PROVENANCE)


def test_writers_at_the_same_time_never_share_a_number(tmp_path: Path) -> None:
    """Four processes that add ten attempts each leave the attempts 1 to 40."""
    workers = [multiprocessing.Process(target=_add_ten, args=(str(tmp_path),)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    found, troubles = Store(tmp_path).search()

    assert troubles == []
    assert sorted(item.evidence.attempt for item in found) == list(range(1, 41))


def test_files_are_read_only_and_named_by_their_digest(tmp_path: Path) -> None:
    """Whoever has the file can check it with sha256sum."""
    store = Store(tmp_path)
    kept = store.add(finding(), b"raw", PROVENANCE)

    path = store.path(kept)

    assert path.name == f"0001-{sha256_of(path.read_bytes())}.json"
    assert path.stat().st_mode & 0o777 == 0o444
    assert sha256_of((path.parent / kept.evidence.raw.file).read_bytes()) == kept.evidence.raw.sha256


def test_a_name_that_is_taken_is_never_written_over(tmp_path: Path) -> None:
    """Writing once means once."""
    write_new(tmp_path / "x", b"first")

    with pytest.raises(FileExistsError):
        write_new(tmp_path / "x", b"second")

    assert (tmp_path / "x").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_any_changed_byte_of_a_document_is_noticed(tmp_path: Path) -> None:
    """Each single byte of the document, changed, makes it unreliable."""
    store = Store(tmp_path)
    store.add(finding(), b"raw", PROVENANCE)
    path = only_file(store, "0001-*.json")
    content = path.read_bytes()

    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        found, (trouble,) = store.search()
        assert found == []
        assert "not those it was stored with" in trouble.why


@pytest.mark.parametrize("change", ["flip", "cut", "gone"])
def test_raw_samples_that_are_off_are_a_fault(tmp_path: Path, change: str) -> None:
    """Changed, cut or missing raw samples keep the document from passing and cannot be read."""
    store = Store(tmp_path)
    kept = store.add(finding(), b"raw samples", PROVENANCE)
    path = only_file(store, "raw-*.gz")
    content = path.read_bytes()
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if change == "cut" else content[:-1] + bytes([content[-1] ^ 1]))

    (found,), _ = store.search()

    assert "raw samples" in found.faults[0]
    with pytest.raises(ValueError, match="raw samples"):
        store.raw(kept)


def test_a_document_under_another_builds_name_is_refused(tmp_path: Path) -> None:
    """Moving a proof into another build's folder does not make it that build's."""
    store = Store(tmp_path)
    store.add(finding(), b"raw", PROVENANCE)
    (store.root / BUILD).rename(store.root / OTHER)

    found, (trouble,) = store.search(build_id=OTHER)

    assert found == []
    assert trouble.build_id == OTHER
    assert "another build" in trouble.why


def test_a_lost_attempt_is_missed(tmp_path: Path) -> None:
    """Deleting a failed attempt between others shows as a gap in their numbers."""
    store = Store(tmp_path)
    store.add(finding(verdict=Verdict.FAILED, reasons=("two waited",)), b"1", PROVENANCE)
    store.add(finding(), b"2", PROVENANCE)
    only_file(store, "0001-*.json").unlink()

    _, (trouble,) = store.search()

    assert "attempt 1 is not in the store" in trouble.why


def test_a_document_that_lacks_a_part_does_not_load(tmp_path: Path) -> None:
    """A document with its digest right but a required part missing is no evidence."""
    store = Store(tmp_path)
    kept = store.add(finding(), b"raw", PROVENANCE)
    document = kept.evidence.document()
    for key in ("not_proven", "sampled", "sample_count", "termination", "verdict", "raw", "build_id"):
        content = canonical_json({name: value for name, value in document.items() if name != key})
        write_new(store.path(kept).parent / f"0002-{sha256_of(content)}.json", content)
        _, (trouble,) = store.search()
        assert "does not load as evidence" in trouble.why
        only_file(store, "0002-*.json").unlink()


def test_a_tainted_run_is_a_fault_of_all_its_evidence(tmp_path: Path) -> None:
    """Evidence of a run whose build changed under it is kept, and does not pass."""
    store = Store(tmp_path)
    store.add(finding(), b"1", PROVENANCE)
    store.taint(BUILD, "run-a", "the release tree changed while it ran")
    store.taint(BUILD, "run-a", "said again")

    (found,), _ = store.search()

    assert found.faults == ("the run is tainted: the release tree changed while it ran",)


def test_a_copy_from_a_host_is_kept_byte_for_byte(tmp_path: Path) -> None:
    """Adopting a document keeps its bytes, digest and attempt; adopting it twice changes nothing."""
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    kept = there.add(finding(), b"raw", PROVENANCE)
    document = there.path(kept).read_bytes()
    raw = (there.path(kept).parent / kept.evidence.raw.file).read_bytes()

    assert here.adopt(document, raw, kept.sha256) == here.adopt(document, raw, kept.sha256) == kept
    assert here.search() == ([kept], [])


def test_a_copy_is_held_against_itself_before_it_is_kept(tmp_path: Path) -> None:
    """A copy with foreign raw samples, another form or missing parts is refused, and nothing is written."""
    store = Store(tmp_path / "there")
    kept = store.add(finding(), b"raw", PROVENANCE)
    document = store.path(kept).read_bytes()
    here = Store(tmp_path / "here")

    loose = json.dumps(json.loads(document), indent=1).encode()

    with pytest.raises(UsageError, match="raw samples"):
        here.adopt(document, pack(b"other"), kept.sha256)
    with pytest.raises(UsageError, match="its name promises"):
        here.adopt(document.replace(b'"sample_count":31', b'"sample_count":91'), pack(b"raw"), kept.sha256)
    with pytest.raises(UsageError, match="form"):
        here.adopt(loose, pack(b"raw"), sha256_of(loose))
    with pytest.raises(ValidationError):
        here.adopt(b"{}", pack(b"raw"), sha256_of(b"{}"))
    assert here.search() == ([], [])


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", "A", "x\n"])
def test_names_never_leave_the_store(tmp_path: Path, name: str) -> None:
    """A claim whose name is a path is refused."""
    with pytest.raises((StagerError, ValidationError)):
        Store(tmp_path).add(finding().model_copy(update={"claim": name}), b"", PROVENANCE)


def test_raw_samples_are_looked_for_in_the_store_only(tmp_path: Path) -> None:
    """A document that points at a file elsewhere is at fault, even where that file has the right digest."""
    store = Store(tmp_path)
    kept = store.add(finding(), b"raw", PROVENANCE)
    document = kept.evidence.document() | {"attempt": 2}
    document["raw"] = {"file": "../0.gz", "sha256": kept.evidence.raw.sha256}
    content = canonical_json(document)
    folder = store.path(kept).parent
    (folder.parent / "0.gz").write_bytes((folder / kept.evidence.raw.file).read_bytes())
    write_new(folder / f"0002-{sha256_of(content)}.json", content)

    found, _ = store.search()

    assert found[-1].faults == ("its raw samples point outside the store (../0.gz)",)


def _add_for_ever(home: str) -> None:
    store = Store(Path(home))
    while True:
        store.add(finding(), bytes(1000), PROVENANCE)


def test_a_killed_writer_leaves_nothing_half_written(tmp_path: Path) -> None:
    """After SIGKILL at any moment every attempt that is there is whole, and the next one gets the next number."""
    for round_ in range(6):
        writer = multiprocessing.Process(target=_add_for_ever, args=(str(tmp_path),))
        writer.start()
        writer.join(0.15 + 0.017 * round_)
        assert writer.is_alive(), "the writer ended by itself, so nothing was tried"
        writer.kill()
        writer.join()

    kept = Store(tmp_path).add(finding(), b"after", PROVENANCE)
    found, troubles = Store(tmp_path).search()

    assert troubles == []
    assert [item for item in found if item.faults] == []
    assert [item.evidence.attempt for item in found] == list(range(1, kept.evidence.attempt + 1))

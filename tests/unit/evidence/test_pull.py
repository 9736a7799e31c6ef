"""Copies from a host: what holds is kept byte for byte, what does not is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stager.evidence.pull import copies_of, pull
from stager.evidence.store import Store
from tests.unit.evidence.test_store import PROVENANCE, finding


def test_a_runs_evidence_travels_and_comes_back(tmp_path: Path) -> None:
    """Copies of a run's evidence, kept elsewhere, restore it on a controller that never had it, once."""
    there, here = Store(tmp_path / "there"), Store(tmp_path / "here")
    kept = [there.add(finding(), b"1", PROVENANCE), there.add(finding(), b"2", PROVENANCE)]
    copies = copies_of(there, "run-a")

    first, second = pull(here, copies), pull(here, copies)

    assert (first.taken, first.known, first.refused) == (tuple(kept), (), ())
    assert (second.taken, second.known) == ((), tuple(kept))
    assert here.search() == (kept, [])


def test_a_lost_failure_comes_back_with_the_hosts_copy(tmp_path: Path) -> None:
    """An attempt deleted here shows as a gap, and the gap closes with the copy."""
    store = Store(tmp_path)
    first = store.add(finding(), b"1", PROVENANCE)
    store.add(finding(), b"2", PROVENANCE)
    copies = copies_of(store, "run-a")
    store.path(first).unlink()
    assert len(store.search()[1]) == 1

    pull(store, copies)

    assert store.search()[1] == []


def test_a_bad_copy_harms_no_other(tmp_path: Path) -> None:
    """A changed document, foreign raw samples and rubbish are each refused with words; the good one is taken."""
    there = Store(tmp_path / "there")
    there.add(finding(), b"1", PROVENANCE)
    (good,) = copies_of(there, "run-a")
    bad = [
        replace(good, document=good.document.replace(b":", b": ", 1)),
        replace(good, packed_raw=good.packed_raw + b"x"),
        replace(good, document=b"\xff"),
        replace(good, name="rubbish.json"),
    ]

    pulled = pull(Store(tmp_path / "here"), [*bad, good])

    assert ["raw samples" in why for _, why in pulled.refused] == [False, True, False, False]
    assert len(pulled.taken) == 1

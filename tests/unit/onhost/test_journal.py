"""The journal: whole lines count, torn ones do not, space is there beforehand, and a restore goes on without it."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stager.onhost.faults import Fault
from stager.onhost.journal import Journal, file_system_type
from stager.onhost.ledger import Ledger
from stager.onhost.state import Run


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """A new journal."""
    return Journal.create(str(tmp_path / "journal.jsonl"), spec={"name": "x"})


def lines(journal: Journal) -> list[str]:
    """What is in the file."""
    return Path(journal.path).read_text().splitlines()


def test_every_record_says_when_and_in_which_boot(journal: Journal) -> None:
    """Seq, wall, boot id, boot time, fence, kind, step and undo stand in every line."""
    journal.append("intent", "unit.stop", {"op": "unit.start"}, 7, name="x")
    record = json.loads(lines(journal)[1])
    assert {"seq", "wall", "boot_id", "boottime_ns", "fence", "kind", "step", "undo", "prev"} <= set(record)
    assert (record["seq"], record["fence"], record["kind"], record["undo"]) == (1, 7, "intent", {"op": "unit.start"})


def test_space_is_reserved_before_the_first_change(journal: Journal) -> None:
    """The file has blocks, or a ballast beside it, for a whole run; ``give_back`` frees them."""
    held = os.stat(journal.path).st_blocks * 512
    ballast = Path(journal.ballast)
    assert held + (ballast.stat().st_size if ballast.exists() else 0) >= 1 << 20
    journal.give_back()
    assert os.stat(journal.path).st_blocks * 512 < 1 << 20


def test_a_torn_last_line_is_skipped_and_written_past(journal: Journal) -> None:
    """Half a line at the end is no record; the next append begins a line of its own."""
    journal.append("note", "one")
    with open(journal.path, "a") as file:
        file.write('{"seq": 2, "kind": "no')
    again = Journal(journal.path).refresh()
    assert [record["step"] for record in again.all] == ["open", "one"]

    again.append("note", "two")

    assert [record["step"] for record in Journal(journal.path).refresh().all] == ["open", "one", "two"]


def test_two_writers_see_each_other(journal: Journal) -> None:
    """What another process appended is read before the next seq is given out."""
    other = Journal(journal.path).refresh()
    other.append("note", "theirs")
    mine = journal.append("note", "mine")
    assert mine["seq"] == 2
    assert [record["step"] for record in journal.all] == ["open", "theirs", "mine"]


def test_the_chain_shows_a_changed_line(journal: Journal) -> None:
    """Each line names the digest of the one before: a changed line breaks the chain at the next."""
    journal.append("note", "one")
    journal.append("note", "two")
    assert journal.chain_is_whole() == (True, -1)
    text = Path(journal.path).read_text().replace('"one"', '"uno"')
    Path(journal.path).write_text(text)
    assert journal.chain_is_whole() == (False, 2)


def test_the_chain_shows_a_missing_line(journal: Journal) -> None:
    """A line taken out breaks the chain, too."""
    journal.append("note", "one")
    journal.append("note", "two")
    Path(journal.path).write_text("\n".join([lines(journal)[0], lines(journal)[2], ""]))
    assert journal.chain_is_whole() == (False, 2)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file may grow beyond some bytes: what a full disk or a quota does to an append."""
    before, old = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)


def test_an_append_that_fails_leaves_no_half_line(journal: Journal) -> None:
    """A change is refused when its record cannot be written, and the file ends as it did."""
    before = lines(journal)
    with small_files(os.stat(journal.path).st_size + 30), pytest.raises(OSError, match="File too large"):
        journal.append("intent", "unit.stop", name="x" * 100)
    assert lines(journal) == before


def test_a_restore_goes_on_and_other_processes_read_it(tmp_path: Path, journal: Journal) -> None:
    """A fearless journal keeps what it cannot append in its late file; whoever reads the run sees it, in order."""
    late = str(tmp_path / "elsewhere.late")
    journal.append("note", "long", why="x" * 5000)
    fearless = Journal(journal.path, fearless=True, late=late).refresh()
    with small_files(os.stat(journal.path).st_size + 400):
        for step in ("restore", "undone", "over"):
            fearless.append("note", step, why="x" * 150)

    seen = [record["step"] for record in Journal(journal.path, late=late).refresh().all]

    assert seen == ["open", "long", "restore", "undone", "over"]
    assert [record["seq"] for record in fearless.all] == [0, 1, 2, 3, 4]
    assert Journal(journal.path).refresh().chain_is_whole()[0]


def test_a_restore_goes_on_with_no_place_to_write_at_all(journal: Journal) -> None:
    """Where even the late file cannot be written, this process alone knows."""
    fearless = Journal(journal.path, fearless=True, late="/proc/nowhere/late").refresh()
    with small_files(os.stat(journal.path).st_size):
        fearless.append("note", "restore")
        fearless.append("verdict", "restored")
    assert [record["step"] for record in fearless.all] == ["open", "restore", "restored"]


def test_a_late_file_laid_by_somebody_else_is_not_read(tmp_path: Path, journal: Journal) -> None:
    """Its folder is open to all users: a link there is not followed."""
    (tmp_path / "lie").write_text('{"seq": 1, "kind": "verdict", "step": "restored"}\n')
    (tmp_path / "late").symlink_to(tmp_path / "lie")
    assert len(Journal(journal.path, late=str(tmp_path / "late")).refresh().all) == 1


def test_a_pipe_in_place_of_the_late_file_holds_nobody_up(tmp_path: Path, journal: Journal) -> None:
    """Any user may lay one in the shared folder; opening it would wait for its other end."""
    os.mkfifo(tmp_path / "late")
    fearless = Journal(journal.path, fearless=True, late=str(tmp_path / "late")).refresh()
    fearless._write_late({"seq": 1})
    assert len(fearless.refresh().all) == 1


def test_half_a_line_in_the_late_file_is_skipped_and_written_past(tmp_path: Path, journal: Journal) -> None:
    """A kill may hit that write, too: what is whole counts, and the next record begins a line of its own."""
    late = tmp_path / "late"
    whole = {"fence": 1, "boot_id": "b", "boottime_ns": 5, "kind": "note"}
    late.write_text(json.dumps({"seq": 1, "step": "one", **whole}) + '\n[]\n{"kind": "note"}\n{"seq": 2, "ki')
    fearless = Journal(journal.path, fearless=True, late=str(late)).refresh()
    assert [record["step"] for record in fearless.all] == ["open", "one"]
    fearless._write_late({"seq": 2, "step": "two", **whole})
    again = Journal(journal.path, late=str(late)).refresh()
    assert [record["step"] for record in again.all] == ["open", "one", "two"]


def test_the_file_system_is_found_by_the_longest_mount_point() -> None:
    """/proc is proc, whatever / is."""
    assert file_system_type("/proc/self") == "proc"
    assert file_system_type("/") not in ("", "proc")


def test_a_change_that_cannot_be_recorded_is_told_in_words(tmp_path: Path) -> None:
    """The controller hears that the journal cannot be written, not of an errno; a restore of the same run goes on."""
    run = Run(str(tmp_path), "run")
    run.make()
    Journal.create(run.journal_path, spec={})
    with small_files(os.stat(run.journal_path).st_size):
        with pytest.raises(
            Fault, match=r"journal cannot be written any more \(File too large\): nothing more is changed"
        ):
            Ledger(run).write("intent", "unit.stop", {"op": "unit.start"})
        run.late_path = str(tmp_path / "late")
        Ledger(run, fearless=True).write("note", "restore")


@pytest.mark.parametrize(
    "line", [b'{"seq":99}', b"[]", b"null", b'{"seq":"1","kind":"verdict","step":"restored"}', b"\xff\xfe"]
)
def test_a_line_that_is_no_record_is_passed_over(tmp_path: Path, journal: Journal, line: bytes) -> None:
    """Whatever it is, what was recorded before and after it counts."""
    with Path(journal.path).open("ab") as file:
        file.write(line + b"\n")
    journal.append("note", "after")
    again = Journal(journal.path).refresh()
    assert [record["step"] for record in again.all] == ["open", "after"]
    assert again.torn == 1

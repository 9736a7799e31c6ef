"""The index of open runs stands in a folder that every user may write in."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from stager.onhost import files
from stager.onhost.state import Index

ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="needs root: it gives files to another user")


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """An index with one run in it."""
    index = Index(str(tmp_path / "open"))
    index.add("run-1", {"holder": "ops@desk"})
    return index


def test_an_entry_struck_off_while_we_look_is_no_fault(index: Index) -> None:
    """Listing and looking are two steps: what goes in between is not there."""
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            index.add("run-2", {"holder": "x"})
            index.remove("run-2")

    worker = threading.Thread(target=churn)
    worker.start()
    try:
        seen = {len(index.entries()) for _ in range(400)}
    finally:
        over.set()
        worker.join()
    assert seen <= {1, 2}


def test_what_others_lay_there_neither_blocks_nor_counts(index: Index) -> None:
    """A pipe, a link and a folder are no entries, also when they come between the look and the reading."""
    folder = Path(index.folder)
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "folder").mkdir()
    assert [entry["run_id"] for entry in index.entries()] == ["run-1"]
    for name in ("pipe", "link", "folder"):
        with pytest.raises(OSError):
            os.close(files.open_regular(str(folder / name)))


def test_an_entry_that_cannot_be_read_still_holds_the_host(index: Index) -> None:
    """Torn, endless or absurd: its run is open, its owner unknown."""
    folder = Path(index.folder)
    (folder / "torn").write_text('{"holder": "op')
    (folder / "deep").write_text("[" * 60000)
    with (folder / "endless").open("wb") as file:
        file.truncate(1 << 33)  # reading it whole would take 8 GiB
    assert [entry["run_id"] for entry in index.entries()] == ["deep", "endless", "run-1", "torn"]


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Somebody laid it: no run is entered there, and none is read from it."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "lie").write_text("{}")
    (tmp_path / "open").symlink_to(tmp_path / "theirs")
    index = Index(str(tmp_path / "open"))
    with pytest.raises(PermissionError, match="somebody laid it"):
        index.add("run-1", {})
    assert index.entries() == []


@as_root
def test_root_takes_a_folder_that_another_user_made(tmp_path: Path) -> None:
    """Its owner could empty it, sticky or not: from root's first run on it is root's."""
    folder = tmp_path / "open"
    folder.mkdir(0o777)
    os.chown(folder, 12345, 12345)
    Index(str(folder)).add("run-1", {})
    info = folder.stat()
    assert (info.st_uid, info.st_mode & 0o7777) == (0, 0o1777)


def test_a_private_name_cannot_be_laid_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever guesses it all the same makes the write fail; their file is not written into."""
    monkeypatch.setattr(files.os, "urandom", lambda size: b"\0" * size)
    laid = tmp_path / (".x." + "00" * 8)
    laid.write_text("theirs")
    with pytest.raises(FileExistsError):
        files.write_atomically(str(tmp_path / "x"), b"ours")
    assert laid.read_text() == "theirs"
    assert not (tmp_path / "x").exists()


def test_what_a_kill_left_beside_a_file_is_swept(tmp_path: Path) -> None:
    """Only private names of that very file go."""
    for name in (".secrets.4711", ".secrets.0a0b", ".secretsother.1", "secrets.1"):
        (tmp_path / name).touch()
    files.sweep_private(str(tmp_path / "secrets"))
    assert sorted(os.listdir(tmp_path)) == [".secretsother.1", "secrets.1"]


def test_a_run_is_there_once_its_first_record_is(tmp_path: Path) -> None:
    """A journal of no length, or with half a first line (the power went before it was synced), is no run."""
    from stager.onhost.state import Run

    run = Run(str(tmp_path), "run")
    run.make()
    for text in ("", '{"seq": 0, "sp', '{"seq": 0}\n', "\n"):
        Path(run.journal_path).write_text(text)
        assert not run.exists()
    Path(run.journal_path).write_text(json.dumps({"seq": 0, "spec": {}}) + "\n")
    assert run.exists()

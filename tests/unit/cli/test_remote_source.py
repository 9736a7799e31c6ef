"""A folder on a host read for an audit, over the host's own find and tar; here the host is this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stager.audit.run import audit
from stager.audit.sources import LocalSources
from stager.cli.main import main
from stager.cli.remote_source import RemoteSources
from stager.errors import InvalidFile
from stager.host.local import LocalHost

SERVER = '@app.get("/health")\ndef health():\n    return {"ok": True}\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with odd names, a link, a folder to skip, and enough files for several batches."""
    folder = tmp_path / "a source"
    (folder / "pkg").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "config.py").write_text("x = 1\n")
    (folder / "serve.py").write_text(SERVER)
    (folder / "pkg" / "-rf $(touch trace).py").write_text("x = 1\n")
    (folder / "pkg" / "new\nline.py").write_text("x = 1\n")
    (folder / "link.py").symlink_to("serve.py")
    for number in range(600):
        (folder / "pkg" / f"{'m' * 60}{number}.py").write_text(f"x = {number}\n")
    return folder


def test_it_lists_and_reads_what_a_local_reader_does(source: Path) -> None:
    """The same entries and the same bytes as read here, whatever the names, in batches that fit a pipe."""
    here, there = LocalSources(source), RemoteSources(LocalHost(), str(source))
    assert sorted(here.entries(), key=lambda entry: entry.path) == list(there.entries())
    paths = [entry.path for entry in there.entries() if not entry.skipped]
    assert dict(here.read_many(paths)) == dict(there.read_many(paths))
    assert len(paths) == 603


def test_the_audit_is_the_same(source: Path) -> None:
    """An audit of a folder on a host finds what it finds here."""
    here, there = audit([LocalSources(source)]), audit([RemoteSources(LocalHost(), str(source))])
    assert here.model_copy(update={"paths": there.paths}) == there
    assert [field.name for field in there.fields] == ["ok"]


def test_a_single_file(source: Path) -> None:
    """A path to one file reads that file under its own name."""
    found = audit([RemoteSources(LocalHost(), str(source / "serve.py"))])
    assert [field.where for field in found.fields] == ["serve.py:3"]


def test_a_file_that_is_gone_is_an_error_of_its_own(source: Path) -> None:
    """A file that cannot be sent does not take the others with it."""
    got = dict(RemoteSources(LocalHost(), str(source)).read_many(["gone.py", "serve.py"]))
    assert isinstance(got["gone.py"], OSError)
    assert got["serve.py"] == SERVER.encode()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A path the host does not have is an invalid file, in the host's own words."""
    with pytest.raises(InvalidFile, match="No such file"):
        list(RemoteSources(LocalHost(), str(tmp_path / "nowhere")).entries())


def test_a_folder_that_is_called_like_a_skipped_one(tmp_path: Path) -> None:
    """The path that was asked for is read whatever it is called."""
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "serve.py").write_text(SERVER)
    assert [entry.path for entry in RemoteSources(LocalHost(), str(tmp_path / "venv")).entries()] == ["serve.py"]


def test_typed_as_address_and_path(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``stager audit local:PATH`` reads over the host's channel."""
    assert main(["audit", f"local:{source}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["paths"] == [f"local:{source}"]
    assert [field["name"] for field in found["fields"]] == ["ok"]

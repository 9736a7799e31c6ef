"""Where the controller's state lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stager.cli.home import stager_home, writable_home
from stager.cli.main import main
from stager.errors import UsageError
from tests.unit.cli.test_unreachable_host import PLAYBOOK


def test_its_own_variable_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """$STAGER_HOME wins over everything, and is made absolute."""
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    monkeypatch.setenv("STAGER_HOME", str(tmp_path))
    assert stager_home() == tmp_path
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STAGER_HOME", "here")
    assert stager_home() == tmp_path / "here"


def test_otherwise_it_is_in_the_xdg_state_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative XDG folder is ignored, as the specification says."""
    monkeypatch.delenv("STAGER_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    assert stager_home() == Path("/xdg/stager")
    for value in ("relative", ""):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert stager_home() == Path.home() / ".local" / "state" / "stager"


@pytest.mark.parametrize("below", ["", "further/down"])
def test_a_file_is_no_place_for_it(
    below: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A STAGER_HOME that is a file, or below one, is wrong use with the path named, not an empty store."""
    home = tmp_path / "file" / below
    (tmp_path / "file").touch()
    monkeypatch.setenv("STAGER_HOME", str(home))

    for command in (["runs"], ["status"], ["evidence", "list"]):
        assert main(command) == 2
        said = capsys.readouterr()
        assert f"stager: {home}, where stager keeps its state (STAGER_HOME), cannot be used: " in said.err
        assert said.out == ""


def test_a_folder_that_may_not_be_read_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A store of somebody else's, or one below a closed folder, is wrong use in one sentence, without a trace."""
    closed = tmp_path / "closed"
    (closed / "store").mkdir(parents=True)
    closed.chmod(0)
    if os.geteuid() == 0:
        os.seteuid(65534)  # root may read anything
    try:
        for home in (closed, closed / "store"):
            monkeypatch.setenv("STAGER_HOME", str(home))
            with pytest.raises(UsageError, match=f"^{home}, where .* cannot be used: [^\n]*$"):
                stager_home()
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        closed.chmod(0o700)


#: A place anybody may read and not even root may write to.
SEALED = "/proc/self"


@pytest.mark.parametrize("home", [SEALED, f"{SEALED}/not/there"])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "PLAYBOOK"],
        ["stage", "PLAYBOOK"],
        ["verify", "20261129"],
        ["promote", "cd34cd34", "--playbook", "PLAYBOOK"],
        ["rollback", "--playbook", "PLAYBOOK"],
        ["evidence", "pull", "PLAYBOOK"],
        ["demo"],
    ],
)
def test_what_could_not_be_kept_is_not_begun(
    words: list[str], home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A STAGER_HOME in which nothing can be written is wrong use, told with what to type, before a host is asked."""
    monkeypatch.setenv("STAGER_HOME", home)
    (tmp_path / "serve").touch()
    playbook = tmp_path / "p.yaml"
    playbook.write_text(PLAYBOOK.format(port=1))  # nothing listens there

    assert main([str(playbook) if word == "PLAYBOOK" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert f"stager: {home}, where stager keeps its state (STAGER_HOME), cannot be used: " in said
    assert "nothing can be written there" in said
    assert f"next: ls -ld {SEALED}\n" in said


def test_a_home_that_can_be_written_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Asking whether something can be written leaves nothing behind, and creates no folder."""
    monkeypatch.setenv("STAGER_HOME", str(tmp_path / "new" / "home"))
    assert writable_home() == tmp_path / "new" / "home"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "new" / "home" / "runs").mkdir(parents=True)
    writable_home()
    assert list((tmp_path / "new" / "home").rglob("*")) == [tmp_path / "new" / "home" / "runs"]

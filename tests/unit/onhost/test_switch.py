"""Switching a path and taking it back, on real files."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from stager.onhost import promotions, switch

RUN = "20261129t000000-abcdef"


def content(text: str) -> dict[str, str]:
    """A file's new content, as a controller sends it."""
    return {"content": base64.b64encode(text.encode()).decode()}


def switched(state: Path, path: Path, wanted: dict[str, str]) -> tuple[switch.State, switch.State]:
    """Switch a path; returns what stood there and what stands there now."""
    item = switch.stock(str(state), {"path": str(path), "state": wanted})
    before = switch.state_of(str(path))
    switch.put(str(state), str(path), item["state"], RUN)
    return before, item["state"]


def beside(folder: Path) -> list[str]:
    """Names of ours."""
    return [name for name in os.listdir(folder) if "stager-" in name]


def test_a_file_comes_back_as_the_very_same_file(tmp_path: Path) -> None:
    """Inode, mode and time are those of before; the new one had the old one's mode; nothing is left beside it."""
    state, path = tmp_path / "state", tmp_path / "router.yaml"
    path.write_text("old")
    path.chmod(0o640)
    stood = path.stat()

    before, after = switched(state, path, content("new"))
    assert path.read_text() == "new"
    assert path.stat().st_mode == stood.st_mode
    assert switch.stands({"path": str(path), "before": before, "after": after})

    assert switch.take_back(str(state), str(path), before, after, RUN)
    now = path.stat()
    assert (now.st_ino, now.st_mode, now.st_mtime_ns) == (stood.st_ino, stood.st_mode, stood.st_mtime_ns)
    assert path.read_text() == "old"
    assert beside(tmp_path) == []


@pytest.mark.parametrize("existed", [True, False])
def test_a_link_comes_back_or_is_gone_again(tmp_path: Path, existed: bool) -> None:
    """A link leads where it led; one that was not there is not there; taking back twice changes nothing."""
    path = tmp_path / "current"
    if existed:
        path.symlink_to("releases/one")

    before, after = switched(tmp_path / "state", path, {"link": "/trees/two"})
    assert os.readlink(path) == "/trees/two"
    for _ in range(2):
        assert switch.take_back(str(tmp_path / "state"), str(path), before, after, RUN)

    assert (os.readlink(path) if existed else os.path.lexists(path)) == ("releases/one" if existed else False)
    assert beside(tmp_path) == []


def test_what_another_hand_wrote_since_is_left(tmp_path: Path) -> None:
    """Neither ours nor what stood there: it stays, and it is said."""
    path = tmp_path / "router.yaml"
    path.write_text("old")
    before, after = switched(tmp_path / "state", path, content("new"))
    path.write_text("theirs")

    assert not switch.take_back(str(tmp_path / "state"), str(path), before, after, RUN)
    assert path.read_text() == "theirs"
    assert beside(tmp_path) == []


def test_a_crash_before_the_rename_leaves_the_old_file_and_is_tidied(tmp_path: Path) -> None:
    """The new file was written under its private name only: what stood there stands there, and nothing else is left."""
    state, path = tmp_path / "state", tmp_path / "router.yaml"
    path.write_text("old")
    after = switch.stock(str(state), {"path": str(path), "state": content("new")})["state"]
    before = switch.state_of(str(path))
    os.link(path, switch.aside(str(path), RUN))
    Path(switch.aside(str(path), RUN) + ".new").write_text("ne")

    assert switch.take_back(str(state), str(path), before, after, RUN)
    assert path.read_text() == "old"
    assert beside(tmp_path) == []


def test_without_the_old_file_beside_it_its_content_is_written_again(tmp_path: Path) -> None:
    """Somebody swept the folder: the content that was kept by its digest is put back."""
    state, path = tmp_path / "state", tmp_path / "router.yaml"
    path.write_text("old")
    before, after = switched(state, path, content("new"))
    Path(switch.aside(str(path), RUN)).unlink()

    assert switch.take_back(str(state), str(path), before, after, RUN)
    assert path.read_text() == "old"


def test_kept_contents_are_for_their_owner_only_and_are_checked(tmp_path: Path) -> None:
    """They may hold keys; one that was changed is not put anywhere."""
    state, path = tmp_path / "state", tmp_path / "router.yaml"
    _, after = switched(state, path, content("key: word"))
    assert after is not None
    kept = Path(promotions.content_path(str(state), after["sha256"]))

    assert kept.stat().st_mode & 0o077 == 0
    kept.write_text("other")
    with pytest.raises(OSError, match="has been changed"):
        promotions.content(str(state), after["sha256"])


def test_places_that_cannot_be_switched_say_why(tmp_path: Path) -> None:
    """A folder, a file where a link is wanted, and no folder at all are refused; a free place is not."""
    (tmp_path / "file").write_text("")
    link = {"link": "/trees/two"}

    assert "neither a link nor a regular file" in switch.problem({"path": str(tmp_path), "state": link})
    assert "would have a link there" in switch.problem({"path": str(tmp_path / "file"), "state": link})
    assert "is not there" in switch.problem({"path": str(tmp_path / "no" / "current"), "state": link})
    assert switch.problem({"path": str(tmp_path / "current"), "state": link}) == ""

"""A release as it will run: put in place by content, checked, made read-only, digested; nothing outside is touched."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

import pytest

from stager.onhost.faults import Refused
from stager.onhost.tree import Tree


def put(tree: Tree, path: str, data: bytes, mode: int = 0o644) -> dict[str, str]:
    """Lay one file; returns its line of the manifest."""
    tree.put(path, base64.b64encode(data).decode(), mode)
    shown = "100755" if mode & 0o100 else "100644"
    return {"path": path, "mode": shown, "sha256": hashlib.sha256(data).hexdigest()}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A tree that is being laid."""
    tree = Tree(str(tmp_path), "abc123")
    tree.begin()
    return tree


def test_it_is_whole_only_when_finished(tree: Tree) -> None:
    """Until the end a mark stands beside it; a crash before leaves it unfinished, and the next run lays it anew."""
    assert not tree.whole()
    tree.check([put(tree, "serve.py", b"x"), put(tree, "bin/run", b"y", 0o755)])
    tree.finish()
    assert tree.whole()
    Path(tree.unfinished).touch()
    assert not tree.whole()
    tree.begin()
    assert tree.manifest() == []


def test_what_did_not_arrive_as_sent_is_refused(tree: Tree) -> None:
    """Another content, another mode, a missing file, one too many: each is refused by name."""
    sent = [put(tree, "a", b"1"), put(tree, "b", b"2")]
    tree.check(sent)
    for wrong in (
        [sent[0], dict(sent[1], sha256="0")],
        [sent[0], dict(sent[1], mode="100755")],
        [sent[0]],
        [*sent, dict(sent[0], path="c")],
    ):
        with pytest.raises(Refused, match="did not arrive"):
            tree.check(wrong)


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out"])
def test_no_path_leads_out(tree: Tree, tmp_path: Path, path: str) -> None:
    """A path of a release never leaves its folder, and neither does a link."""
    with pytest.raises(Refused):
        tree.put(path, "", 0o644)
    with pytest.raises(Refused):
        tree.put("link", "", 0o644, link=path)
    assert not (tmp_path / "out").exists()


def test_a_key_is_no_path(tmp_path: Path) -> None:
    """The key becomes a folder's name."""
    with pytest.raises(Refused):
        Tree(str(tmp_path), "../x")


def test_a_file_in_parts_is_one_file(tree: Tree) -> None:
    """Large files come in several frames."""
    tree.put("big", base64.b64encode(b"one").decode(), 0o644, more=True)
    tree.put("big", base64.b64encode(b"two").decode(), 0o644)
    assert (Path(tree.folder) / "big").read_bytes() == b"onetwo"


def test_finished_means_read_only(tree: Tree) -> None:
    """Nobody's candidate may write into it: no file or folder keeps a write bit."""
    put(tree, "bin/run", b"y", 0o755)
    tree.finish()
    modes = [os.lstat(path).st_mode for path in (Path(tree.folder), *Path(tree.folder).rglob("*"))]
    assert not [oct(mode) for mode in modes if mode & 0o222]


def test_discard_spares_a_whole_tree(tree: Tree) -> None:
    """The undo of laying removes what never became whole, and nothing else."""
    put(tree, "a", b"1")
    tree.finish()
    tree.discard()
    assert tree.whole()
    Path(tree.unfinished).touch()
    tree.discard()
    assert not os.path.exists(tree.folder)


def test_compiled_files_are_no_part_of_the_digest(tree: Tree) -> None:
    """They differ every time."""
    line = put(tree, "a.py", b"1")
    put(tree, "__pycache__/a.cpython-311.pyc", b"other")
    assert tree.manifest() == [line]

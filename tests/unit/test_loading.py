"""Reading a playbook from disk, with its marker kinds and the files it points to."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.errors import InvalidFile
from stager.loading import load_playbook, shipped_markers

PLAYBOOK = """stager: 1
name: small
host: {address: local}
candidate:
  release: server
  launch: [./serve, --port, "{port}"]
production: {manager: systemd}
markers: {raise: [maintenance, mine]}
policy: policy.yaml
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project: playbooks/small.yaml, a release and a policy beside it, a marker kind in the parent."""
    playbooks = tmp_path / "playbooks"
    (playbooks / "server").mkdir(parents=True)
    (playbooks / "policy.yaml").write_text("{}")
    (playbooks / "small.yaml").write_text(PLAYBOOK)
    (tmp_path / "markers").mkdir()
    (tmp_path / "markers" / "mine.yaml").write_text("{path: /run/mine, means: Mine.}")
    return tmp_path


def complaints(path: Path) -> list[str]:
    """Return the complaints about a playbook, without the folder they are in."""
    with pytest.raises(InvalidFile) as caught:
        load_playbook(path)
    return str(caught.value).replace(f"{path.parent.parent}/", "").splitlines()


def test_a_playbook_comes_with_what_belongs_to_it(folder: Path) -> None:
    """Paths are absolute, marker kinds are read, the source still knows its lines."""
    loaded = load_playbook(folder / "playbooks" / "small.yaml")
    assert loaded.release == folder / "playbooks" / "server"
    assert loaded.policy == folder / "playbooks" / "policy.yaml"
    assert loaded.markers["mine"].path == "/run/mine"
    assert loaded.markers["maintenance"].path == "/run/llama/maintenance"
    assert loaded.source.complaint(("candidate", "launch"), "x", "y").line == 6


def test_the_nearest_marker_kind_wins(folder: Path) -> None:
    """Beside the playbook before the parent, the parent before what is shipped."""
    near = folder / "playbooks" / "markers"
    near.mkdir()
    for place, name in ((folder / "markers", "parent"), (near, "near")):
        (place / "maintenance.yaml").write_text(f"{{path: /run/{name}, means: {name}.}}")
        assert load_playbook(folder / "playbooks" / "small.yaml").markers["maintenance"].path == f"/run/{name}"


def test_everything_wrong_with_all_files_comes_at_once(folder: Path) -> None:
    """A mistake in the playbook, in a marker kind, a missing kind, release and policy are one error."""
    path = folder / "playbooks" / "small.yaml"
    text = PLAYBOOK.replace("server", "srever").replace("policy.yaml", "plicy.yaml").replace("mine]", "mine, none]")
    path.write_text(text.replace("name: small", "name: 7"))
    (folder / "markers" / "mine.yaml").write_text("path: run/mine\nmeans: x\n")
    found = "\n".join(complaints(path))
    for words in (
        "small.yaml:2:1: name: expected a name",
        "small.yaml:5:3: candidate/release: expected a folder that is there",
        "small.yaml:8:",
        "a kind declared as none.yaml",
        "small.yaml:9:1: policy: expected a file that is there",
        "markers/mine.yaml:1:1: path: expected an absolute path",
    ):
        assert words in found, found


def test_commands_that_only_look_need_no_release(folder: Path) -> None:
    """With check_files off, a release that is gone is nobody's business."""
    (folder / "playbooks" / "server").rmdir()
    assert load_playbook(folder / "playbooks" / "small.yaml", check_files=False).playbook.name == "small"


def test_two_markers_at_one_path_are_refused(folder: Path) -> None:
    """One file cannot be raised twice."""
    (folder / "markers" / "mine.yaml").write_text("{path: /run/llama/maintenance, means: Mine.}")
    (found,) = complaints(folder / "playbooks" / "small.yaml")
    assert "markers/raise/1: expected markers at different paths" in found


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"\xff\xfe", "the byte 0xff"),
        (b"name: x\nb: \xe4\n", ":2:1: expected UTF-8 text"),
        (b"#" * 1_000_001, "at most 1000000 bytes"),
        (b"", "an empty file"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    """Missing, binary, huge or empty files each have their sentence."""
    path = tmp_path / "p.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidFile, match=words):
        load_playbook(path)


def test_a_byte_order_mark_is_no_mistake(folder: Path) -> None:
    """Some editors write one."""
    path = folder / "playbooks" / "small.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + PLAYBOOK.encode())
    assert load_playbook(path).playbook.name == "small"


def test_the_shipped_marker_kinds_are_there() -> None:
    """Installed or in a checkout, `maintenance` is found."""
    assert (shipped_markers() / "maintenance.yaml").is_file()

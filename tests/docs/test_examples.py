"""The shipped examples load, and the annotated one has every key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stager.errors import InvalidFile
from stager.loading import load_marker, load_playbook
from stager.models.playbook import Playbook
from stager.models.shape import field_name, models_in, walk

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "playbooks" / "example.yaml"
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yaml"))
MARKERS = sorted((ROOT / "markers").glob("*.yaml"))


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.name)
def test_a_shipped_playbook_loads(path: Path) -> None:
    """Its keys, its cross-checks and its marker kinds are right."""
    assert load_playbook(path, check_files=False).playbook.stager == 1


@pytest.mark.parametrize("path", MARKERS, ids=lambda path: path.name)
def test_a_shipped_marker_kind_loads(path: Path) -> None:
    """It says where it lies and what it means."""
    assert load_marker(path.stem, [path.parent]).means


def keys(model: Any, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the path of every key a model knows."""
    found = []
    for inner in models_in(model):
        for name, info in inner.model_fields.items():
            here = (*above, field_name(name, info))
            found += [here, *keys(info.annotation, here)]
    return found


def test_the_annotated_playbook_has_every_key() -> None:
    """What a playbook may say is shown there, as a key or (where two exclude each other) in a comment."""
    text = EXAMPLE.read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    comments = "\n".join(line.partition("#")[2] for line in text.splitlines())
    missing = []
    for path in keys(Playbook):
        here: Any = data
        for part in path:
            here = here.get(part, ...) if isinstance(here, dict) else ...
        if here is ... and f"{path[-1]}:" not in comments:
            missing.append("/".join(path))
    assert not missing


def test_the_annotated_playbook_states_the_defaults_as_they_are() -> None:
    """Where the example says `default X`, X is the model's default."""
    stated = {
        "candidate/ready/timeout": 600.0,
        "candidate/stop/grace": 30.0,
        "candidate/limits/runtime": 14400.0,
        "production/drain/timeout": 120.0,
        "production/healthy/n": 3,
        "production/healthy/of": 3,
        "production/healthy/within": 300.0,
        "guard/lease": 90.0,
        "guard/deadline": 18000.0,
    }
    for path, value in stated.items():
        *above, last = path.split("/")
        (holder,) = models_in(walk(Playbook, tuple(above))[0][0])
        assert holder.model_fields[last].default == value, path


def test_an_unknown_key_in_the_example_would_be_noticed(tmp_path: Path) -> None:
    """The check above checks: the same file with one more key does not load."""
    copy = tmp_path / "example.yaml"
    copy.write_text(EXAMPLE.read_text(encoding="utf-8") + "\nsurprise: 1\n", encoding="utf-8")
    with pytest.raises(InvalidFile, match="unknown key `surprise`"):
        load_playbook(copy, check_files=False)

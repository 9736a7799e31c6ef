"""Device memory and utilisation over a run's real channel.

There is no card on the lab's hosts: `rig/fake_smi.py` stands in for `nvidia-smi` and prints its csv forms, from the
candidate's real state. Everything else is real: host, channel, candidate, probes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.scene import Scene

FAKE = Path(__file__).parent / "rig" / "fake_smi.py"
SMI = "/usr/local/bin/nvidia-smi"
PROBES = {
    "memory": {"prompt_tokens": 200, "points": 2, "back_within": 3, "timeout": 20},
    "cancel": {"phases": ["decode"], "unstreamed": False, "races": 4, "deadline": 1, "timeout": 20},
}


@pytest.fixture
def staged(scene: Scene) -> tuple[Scene, str]:
    """A staged candidate that takes 50 ms a token, so that readings fall into its requests."""
    launch = ["/usr/bin/python3", "serve.py", "--port", "{port}", "--slots", "4", "--step", "0.05"]
    scene.playbook(candidate={"launch": launch}, probes=PROBES, guard={"lease": "15s"})
    return scene, scene.stage("100s")


def found(scene: Scene, run_id: str, probe: str) -> dict[str, Any]:
    """What one probe finds now."""
    (evidence,) = scene.stager("verify", run_id, "--probe", probe).document["evidence"]
    return evidence


def card(scene: Scene, *files: str) -> None:
    """Put the stand-in on the host; each file counts from the requests served so far."""
    scene.machine.sh("install", "-m", "755", "/dev/stdin", SMI, given=FAKE.read_text())
    scene.machine.sh("rm", "-rf", "/run/card")
    scene.machine.sh("mkdir", "/run/card")
    health = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:18080/health').read().decode())"
    served = json.loads(scene.machine.sh("python3", "-c", health).stdout)["served"]
    for name in files:
        scene.machine.write(f"/run/card/{name}", str(served))


def test_memory_is_measured_where_the_driver_tells_it(staged: tuple[Scene, str]) -> None:
    """Without a driver inconclusive and why; with one the floor is measured, and memory that stays is found."""
    scene, run_id = staged

    without = found(scene, run_id, "memory")
    assert without["verdict"] == "inconclusive"
    assert "nvidia-smi: No such file or directory" in without["reasons"][0]

    card(scene, "mute")
    muted = found(scene, run_id, "memory")
    assert muted["verdict"] == "inconclusive"
    assert "does not tell here how much memory a process holds" in muted["reasons"][0]

    card(scene)
    measured = found(scene, run_id, "memory")
    assert measured["verdict"] == "passed", measured["reasons"]
    assert measured["measurements"]["floor"]["value"] == 1000 * 2**20
    assert measured["sample_count"] >= 3

    card(scene, "leaks")
    leaking = found(scene, run_id, "memory")
    assert leaking["verdict"] == "failed"
    assert "MiB were still held 3 s after" in leaking["reasons"][0]


def test_a_card_that_never_rests_after_a_cancel_refutes(staged: tuple[Scene, str]) -> None:
    """Utilisation back at its idle reading confirms nothing; above it past the deadline it fails the claim."""
    scene, run_id = staged

    card(scene)
    resting = found(scene, run_id, "cancel")
    assert resting["verdict"] == "passed", resting["reasons"]
    assert resting["measurements"]["device_busy_afterwards"]["value"] == 0
    assert "an idle gauge or device confirms nothing by itself" in resting["not_proven"][0]

    card(scene, "haunted")
    haunted = found(scene, run_id, "cancel")
    assert haunted["verdict"] == "failed"
    assert "the device was never less than 97 % busy" in haunted["reasons"][0]

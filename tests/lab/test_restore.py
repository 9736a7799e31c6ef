"""The one restore: typed on the host itself, run twice, run by two at once, and with its first leg standing still."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay
from tests.lab.scene import PROD, WATCHDOG, Scene


def typed(scene: Scene, run_id: str) -> list[str]:
    """The command that a lost connection's message ends with."""
    program = next(scene.machine.path("/var/lib/stager/programs").glob("*.pyz")).name
    path = f"/var/lib/stager/programs/{program}"
    return ["/usr/bin/python3", "-I", path, "restore", "/var/lib/stager", run_id]


def starts(scene: Scene) -> int:
    """How often systemd has started production on this host."""
    log = scene.machine.sh("journalctl", "-u", PROD, "-o", "cat", "--no-pager").stdout
    return sum(line.startswith("Started") for line in log.splitlines())


def test_typed_on_the_host(scene: Scene) -> None:
    """Without a controller, a person on the host restores with one command; the guard goes, and the run is over."""
    run_id = scene.stage()

    scene.machine.sh(*typed(scene, run_id), timeout=60)

    assert (scene.verdict(run_id) or {})["step"] == "restored"
    scene.wait_free()
    assert scene.differences() == []


def test_typed_again(scene: Scene) -> None:
    """A restore of a run that is over changes nothing: production is not restarted, no record is added."""
    run_id = scene.stage()
    scene.machine.sh(*typed(scene, run_id), timeout=60)
    scene.wait_free()
    records, invocation = scene.journal(run_id), scene.unit(PROD, "InvocationID")

    scene.machine.sh(*typed(scene, run_id), timeout=60)

    assert scene.journal(run_id) == records
    assert scene.unit(PROD, "InvocationID") == invocation
    assert scene.differences() == []


def test_two_at_once(scene: Scene) -> None:
    """Guard and person restore in the same moment: production is started once, and there is one verdict."""
    run_id = scene.stage()
    before = starts(scene)
    both = [scene.machine.start(*typed(scene, run_id)) for _ in range(2)]
    cleanup = scene.start("cleanup", run_id)

    assert [process.wait(60) for process in both] == [0, 0]
    assert cleanup.wait(60) == 0, cleanup.words()

    assert [r["step"] for r in scene.journal(run_id) if r["kind"] == "verdict"] == ["restored"]
    assert starts(scene) == before + 1
    scene.wait_free()
    assert scene.differences() == []


def test_a_guard_that_stands_still(tmp_path: Path, machine: Machine) -> None:
    """Stopped, not killed: nobody notices, and the hard cap restores at the deadline."""
    lay(machine)
    limits = {"limits": {"runtime": "8s"}, "ready": {"timeout": "6s"}, "stop": {"grace": "1s"}}
    healthy = {"url": "http://127.0.0.1:8080/v1/chat/completions", "model": "tiny", "within": "5s"}
    production = {"drain": None, "healthy": healthy}
    scene = Scene(tmp_path, machine, guard={"deadline": "20s"}, candidate=limits, production=production)
    run_id = scene.stage("8s")

    scene.kill(signal.SIGSTOP, scene.guard(run_id))

    verdict = scene.wait_verdict(run_id, "restored", 40)
    assert verdict["by"] == "cap"
    scene.kill(signal.SIGCONT, scene.guard(run_id))
    scene.wait_free()
    assert scene.differences() == []


@pytest.mark.parametrize("word", ["INT", "TERM", "HUP"])
def test_a_controller_that_is_told_to_stop(scene: Scene, word: str) -> None:
    """Ctrl-C, TERM and HUP in the middle of staging: cleanup has run when it ends, with the signal's own code."""
    scene.arm(kind="done", step="candidate.launch")
    controller = scene.start("stage", str(scene.desk.playbook), "--hold", "60s")
    hit = scene.wait_hit(controller)
    signum = getattr(signal, f"SIG{word}")
    controller.signal(signum)
    scene.kill(signal.SIGCONT, int(hit["pid"]))

    assert controller.wait(40) == 128 + signum, controller.words()

    assert scene.open_runs() == []
    scene.wait_free()
    assert scene.differences() == []


def test_mounts_and_targets_among_the_services(tmp_path: Path, machine: Machine) -> None:
    """A mount and a target go down and come up again like services."""
    more = {
        "srv-pool.mount": "[Mount]\nWhat=tmpfs\nWhere=/srv/pool\nType=tmpfs\n[Install]\nWantedBy=multi-user.target\n",
        "llama.target": "[Unit]\nAllowIsolate=no\n[Install]\nWantedBy=multi-user.target\n",
    }
    lay(machine, more=more)
    services = [PROD, *more]
    scene = Scene(tmp_path, machine, *services, WATCHDOG, production={"services": services})
    run_id = scene.stage()
    assert {scene.unit(name) for name in services} == {"inactive"}

    assert scene.stager("cleanup", run_id).code == 0
    assert scene.differences() == []

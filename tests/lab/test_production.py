"""Production of every stubborn kind: it comes back as it was, or is refused before anything is stopped."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import MARKER, Service, friend, lay, path_watchdog, watchdog
from tests.lab.scene import PROD, WATCHDOG, Scene

PAGE, PAGED = "/opt/page", "/run/paged"
HEALTHY = {"url": "http://127.0.0.1:8080/v1/chat/completions", "model": "tiny", "within": "4s"}


def round_trip(scene: Scene) -> dict[str, Any]:
    """Down and up again by `rehearse`: 0, and nothing is different."""
    said = scene.stager("rehearse", str(scene.desk.playbook), patience=200)
    assert said.code == 0, said.err
    assert scene.differences() == []
    return said.document


def refused(scene: Scene, *words: str) -> None:
    """Refused with 4 and these words; nothing is touched."""
    said = scene.stager("rehearse", str(scene.desk.playbook))
    assert said.code == 4, said.err
    for word in words:
        assert word in said.document["error"]["message"]
    assert scene.differences() == []


def test_production_that_never_gets_healthy_again(tmp_path: Path, machine: Machine) -> None:
    """Watchdogs are armed and markers cleared all the same, notice is given, exit 9."""
    lay(machine, Service().sick_if("/run/sick"))
    machine.write(PAGE, f'#!/bin/sh\necho "$1" >> {PAGED}\n', 0o755)
    scene = Scene(
        tmp_path, machine, guard={"notify": [PAGE, "{message}"]}, production={"healthy": HEALTHY, "drain": None}
    )
    run_id = scene.stage()
    machine.write("/run/sick", "")

    said = scene.stager("cleanup", run_id)

    assert said.code == 9, said.err
    assert "healthy" in said.document["error"]["message"]
    assert scene.unit(WATCHDOG) == "active"
    assert not machine.path(MARKER).exists()
    assert "NOT restored" in machine.read(PAGED)
    machine.path("/run/sick").unlink()
    assert scene.stager("cleanup", run_id).code == 0  # tried again, and now it is
    assert scene.differences() == []


def test_a_stop_that_never_ends(tmp_path: Path, machine: Machine) -> None:
    """The stop job has no limit and the process is deaf: it is killed for the restore, and production is as before."""
    lay(machine, Service().unstoppable())
    scene = Scene(tmp_path, machine, production={"drain": None, "healthy": HEALTHY})
    controller = scene.start("rehearse", str(scene.desk.playbook))
    until(lambda: scene.unit(PROD) == "deactivating", "the stop", 30)
    controller.wait(0)  # killed here: the guard finds a stop that never ends

    scene.wait_free(60)

    assert scene.differences() == []


@pytest.mark.parametrize(
    "service",
    [Service().start_limit(1), Service().deaf(1), Service().slow(1.5), Service().restarts(), Service().obeys_marker()],
    ids=["start-limit", "deaf", "slow-start", "restarts-itself", "obeys-the-marker"],
)
def test_stubborn_services(tmp_path: Path, machine: Machine, service: Service) -> None:
    """A start limit, deafness to TERM, a slow start, Restart=always, a condition on the marker: all come back."""
    lay(machine, service)
    scene = Scene(tmp_path, machine)
    if service.unit == Service().obeys_marker().unit:
        kind = scene.folder / "markers" / "maintenance.yaml"
        kind.write_text(kind.read_text().replace("- watchdog.service", f"- watchdog.service\n- {PROD}"))
    round_trip(scene)


@pytest.mark.parametrize("services", [[PROD, "router.service"], ["router.service", PROD]], ids=["so", "so-not"])
def test_services_go_down_and_up_in_the_order_of_their_own_after(
    tmp_path: Path, machine: Machine, services: list[str]
) -> None:
    """A router that comes after the engine is down before it, and up after it, however the playbook lists them."""
    slow = "ExecStop=/bin/sleep 1"
    lay(machine, more={"router.service": friend("After=prod.service").replace("[Service]", f"[Service]\n{slow}")})
    scene = Scene(tmp_path, machine, *services, WATCHDOG, production={"services": services})

    round_trip(scene)

    down, up = "InactiveEnterTimestampMonotonic", "InactiveExitTimestampMonotonic"
    assert int(scene.unit("router.service", down)) <= int(scene.unit(PROD, down))
    assert int(scene.unit(PROD, up)) <= int(scene.unit("router.service", up))


def test_units_that_hang_together(tmp_path: Path, machine: Machine) -> None:
    """What a stop takes along (RequiredBy, BoundBy, PartOf) comes back; what a start would drag in stays as it was."""
    more = {
        "needs.service": friend("Requires=prod.service", "After=prod.service"),
        "bound.service": friend("BindsTo=prod.service", "After=prod.service"),
        "part.service": friend("PartOf=prod.service"),
        "wanted.service": friend(starts_at_boot=False),
        "failed.service": "[Service]\nExecStart=/bin/false\n[Install]\nWantedBy=multi-user.target\n",
    }
    lay(machine, Service().tied("Wants=wanted.service", "Wants=failed.service"), more=more)
    machine.sh("systemctl", "stop", "wanted.service")
    scene = Scene(tmp_path, machine, PROD, WATCHDOG, *more)
    assert scene.unit("wanted.service") == "inactive"
    assert scene.unit("failed.service") == "failed"
    assert [scene.unit(name) for name in ("needs.service", "bound.service", "part.service")] == ["active"] * 3

    round_trip(scene)


def test_what_was_down_stays_down(tmp_path: Path, machine: Machine) -> None:
    """Inactive, failed and masked services of the playbook are left as they are."""
    more = {
        "off.service": friend(starts_at_boot=False),
        "broken.service": "[Service]\nExecStart=/bin/false\n",
        "masked.service": friend(starts_at_boot=False),
    }
    lay(machine, more=more)
    machine.sh("systemctl", "start", "broken.service", check=False)
    machine.path("/etc/systemd/system/masked.service").unlink()
    machine.sh("systemctl", "mask", "masked.service")
    services = [PROD, "off.service", "broken.service", "masked.service"]
    scene = Scene(tmp_path, machine, *services, WATCHDOG, production={"services": services})

    document = round_trip(scene)

    assert set(document["cleanup"]["restored"]) == {PROD, WATCHDOG}


def test_watchdogs_of_every_kind(tmp_path: Path, machine: Machine) -> None:
    """Path and socket units and a timer that fires every second are watchdogs too; none wakes production in between."""
    socket = {
        "knock.socket": "[Socket]\nListenStream=127.0.0.1:8099\n[Install]\nWantedBy=sockets.target\n",
        "knock.service": "[Service]\nExecStart=/bin/sleep infinity\n",
    }
    dogs = watchdog() | path_watchdog() | socket
    machine.write("/run/llama/wake", "")  # the path unit would start production at once, whenever it is armed
    lay(machine, watchdogs=dogs)
    names = [WATCHDOG, "wake.path", "knock.socket"]
    scene = Scene(tmp_path, machine, PROD, *names, production={"watchdogs": names})
    run_id = scene.stage()
    time.sleep(1.5)
    assert scene.unit(PROD) == "inactive"
    assert scene.stager("cleanup", run_id).code == 0
    assert scene.differences() == []


def test_a_watchdog_that_restarts_at_once(tmp_path: Path, machine: Machine) -> None:
    """One that is not in the playbook and does not obey the marker starts production again: noticed, restored, said."""
    script = f"systemctl is-active --quiet {PROD} || systemctl start {PROD}"
    rude = {
        "rude.timer": "[Timer]\nOnCalendar=*:*:0/1\nAccuracySec=50ms\n[Install]\nWantedBy=timers.target\n",
        "rude.service": f'[Service]\nType=oneshot\nExecStart=/bin/sh -c "{script}"\n',
    }
    lay(machine, watchdogs=watchdog() | rude)
    scene = Scene(tmp_path, machine, PROD, WATCHDOG)

    said = scene.stager("stage", str(scene.desk.playbook), "--hold", "10s")

    assert said.code in (0, 1, 5, 8, 11), said.err  # it may come at any point of the way down
    scene.wait_free(40)
    assert scene.differences() == []


def test_another_hand_starts_production(scene: Scene) -> None:
    """Noticed within a second or so, left alone, the run ended in order: 8."""
    run_id = scene.stage()
    scene.machine.sh("systemctl", "start", PROD)
    began = time.monotonic()
    invocation = scene.unit(PROD, "InvocationID")

    verdict = scene.wait_verdict(run_id, "restored, something left", 10)

    assert time.monotonic() - began < 6
    assert "another hand started prod.service" in verdict["reason"]
    assert [entry["what"] for entry in verdict["left"]] == [PROD]
    assert scene.unit(PROD, "InvocationID") == invocation
    scene.wait_free()
    assert scene.stager("cleanup", run_id).code == 8
    assert scene.differences() == []


def test_what_could_not_come_back_is_not_stopped(tmp_path: Path, machine: Machine) -> None:
    """Unit file gone, unit file changed, binary gone, EnvironmentFile gone: all reasons at once, nothing stopped."""
    machine.write("/etc/prod.env", "A=1\n")
    machine.copy(Path("/bin/sleep"), "/opt/own-sleep")
    own = "[Service]\nExecStart=/opt/own-sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
    more = {
        "gone.service": friend(),
        "changed.service": friend(),
        "binary.service": own,
        "env.service": friend().replace("[Service]", "[Service]\nEnvironmentFile=/etc/prod.env"),
    }
    lay(machine, more=more)
    machine.path("/etc/prod.env").unlink()
    machine.path("/opt/own-sleep").unlink()
    changed = machine.path("/etc/systemd/system/changed.service")
    changed.write_text(changed.read_text() + "# changed\n")
    machine.path("/etc/systemd/system/gone.service").unlink()
    services = [PROD, *more]
    scene = Scene(tmp_path, machine, *services, WATCHDOG, production={"services": services})

    refused(scene, "gone.service", "changed.service", "daemon-reload", "/opt/own-sleep", "/etc/prod.env")
    assert all(scene.unit(name) == "active" for name in services)


def test_a_unit_in_transition_is_refused(tmp_path: Path, machine: Machine) -> None:
    """One that is still starting is neither up nor down: wait until it is settled."""
    slow = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sleep 60\n"
    lay(machine, more={"starting.service": slow})
    machine.sh("systemctl", "start", "--no-block", "starting.service")
    until(lambda: machine.show("starting.service")["starting.service"]["ActiveState"] == "activating", "its start")
    services = [PROD, "starting.service"]
    scene = Scene(tmp_path, machine, *services, WATCHDOG, production={"services": services})

    refused(scene, "starting.service", "transition")


def test_a_drain_that_does_not_end(tmp_path: Path, machine: Machine) -> None:
    """A request that goes on past the drain time: 4, nothing was stopped."""
    lay(machine, Service(flags=("--slots", "2")))
    drain = {"gauge": "http://127.0.0.1:8080/health#/busy", "timeout": "1s"}
    scene = Scene(tmp_path, machine, production={"drain": drain})
    url, body = "http://127.0.0.1:8080/v1/completions", '{"max_tokens": 4000}'
    asking = machine.start("python3", "-c", f"import urllib.request as u; u.urlopen({url!r}, {body.encode()!r})")
    time.sleep(0.5)
    pid = scene.unit(PROD, "MainPID")

    said = scene.stager("stage", str(scene.desk.playbook))

    asking.kill()
    assert said.code == 4, said.err
    assert "drain" in said.document["error"]["message"]
    assert scene.unit(PROD, "MainPID") == pid
    scene.wait_free()
    machine.sh("pkill", "-f", "max_tokens", check=False)
    assert scene.differences() == []

"""Production on a lab host is real: its watchdog, its stubbornness, its engine."""

from __future__ import annotations

import json
import time
import urllib.request

import pytest

from tests.lab.rig import production
from tests.lab.rig.engine import lay_engine
from tests.lab.rig.machine import Machine
from tests.lab.rig.nspawn import until
from tests.lab.rig.production import MARKER, Service, lay

pytestmark = pytest.mark.lab


def test_the_watchdog_brings_production_back_unless_the_marker_is_there(machine: Machine) -> None:
    """The timer restarts a stopped service within its period, and leaves it alone under the maintenance marker."""
    prod = lay(machine)
    service = prod.services[0]

    machine.sh("systemctl", "stop", "prod.service")
    until(lambda: prod.answers(service), "the watchdog to start production", 5)

    machine.write(MARKER, "")
    time.sleep(0.5)  # a look that began before the marker was there is over
    machine.sh("systemctl", "stop", "prod.service")
    time.sleep(2.5)
    assert machine.show("prod.service")["prod.service"]["ActiveState"] == "inactive"


def test_stubborn_production_is_stubborn(machine: Machine) -> None:
    """Deaf, limited, conditional, sick and tied services behave as their knobs say."""
    tied = {
        "bound.service": production.friend("BindsTo=a.service", "After=a.service"),
        "part.service": production.friend("PartOf=a.service"),
    }
    prod = lay(
        machine,
        Service("a.service", 8081).deaf(1),
        Service("b.service", 8082).start_limit(1),
        Service("c.service", 8083).obeys_marker().sick_if("/run/llama/sick"),
        watchdogs=production.path_watchdog(target="c.service"),
        more=tied,
    )
    a, b, c = prod.services

    started = time.monotonic()
    machine.sh("systemctl", "stop", "a.service")
    assert 0.9 < time.monotonic() - started < 10
    assert machine.sh("systemctl", "show", "-p", "Result", "--value", "a.service").stdout == "timeout\n"
    assert {unit["ActiveState"] for unit in machine.show(*tied).values()} == {"inactive"}

    machine.sh("systemctl", "stop", "b.service")
    assert machine.sh("systemctl", "start", "b.service", check=False).returncode == 1
    assert not prod.answers(b)

    machine.write("/run/llama/sick", "")
    assert not prod.answers(c)
    machine.sh("systemctl", "stop", "c.service")
    machine.write(MARKER, "")
    assert machine.sh("systemctl", "start", "c.service").returncode == 0
    assert machine.show("c.service")["c.service"]["ActiveState"] == "inactive"

    machine.path(MARKER).unlink()
    machine.path("/run/llama/sick").unlink()
    machine.write("/run/llama/wake", "")
    until(lambda: prod.answers(c), "the path unit to start the service", 5)
    assert not prod.answers(a)


@pytest.mark.engine
def test_the_real_engine_runs_on_a_host(engine_machine: Machine) -> None:
    """llama.cpp with a real model starts as a service of the host and streams a real completion."""
    started = time.monotonic()
    prod = lay_engine(engine_machine)
    seconds = time.monotonic() - started
    (service,) = prod.services
    body = {"messages": [{"role": "user", "content": "Name a colour."}], "max_tokens": 8, "stream": True}

    with urllib.request.urlopen(f"{prod.url(service)}/v1/chat/completions", json.dumps(body).encode()) as answer:
        events = [json.loads(line[6:]) for line in answer if line.startswith(b"data: {")]

    resident = int(engine_machine.read(f"/proc/{prod.pid(service)}/status").split("VmRSS:")[1].split()[0]) >> 10
    print(f"generating {seconds:.1f} s after its start, {resident} MiB resident, {len(events)} events")
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events if event["choices"]).strip()
    assert resident < 1024

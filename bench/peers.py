"""The control cycle as an Ansible playbook and as a pyinfra deploy: what each needs on disk, and its command.

Both are given their best: one task a step, the release as one tar, no facts that nobody reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

SERVICES = ("prod.service", "side.service")
TIMERS = ("watchdog.timer", "second.timer")
MARKERS = ("/run/llama/maintenance", "/run/llama/second")
CANDIDATE = "bench-candidate.service"
SEEN = "/run/bench-markers"
LAUNCH = f"systemd-run --quiet --collect --unit={CANDIDATE} /usr/bin/python3 /opt/bench/serve.py --port 18080 --slots 4"
#: One step a line: a name and the command on the host; None is where the release is shipped and unpacked.
STEPS: tuple[tuple[str, str | None], ...] = (
    ("states", f"systemctl show -p ActiveState,SubState {' '.join((*SERVICES, *TIMERS))}"),
    ("markers up", f"touch {' '.join(MARKERS)} && stat -c '%n %.Y %s' {' '.join(MARKERS)} > {SEEN}"),
    ("timers down", f"systemctl stop {' '.join(TIMERS)}"),
    ("services down", f"systemctl stop {' '.join(SERVICES)}"),
    ("ship", None),
    ("launch", LAUNCH),
    ("ready", "for i in $(seq 200); do ss -ltn | grep -q ':18080 ' && exit 0; sleep 0.05; done; exit 1"),
    ("stop", f"systemctl stop {CANDIDATE}"),
    ("services up", f"systemctl start {' '.join(SERVICES)}"),
    ("healthy", "for i in $(seq 200); do ss -ltn | grep -q ':8080 ' && exit 0; sleep 0.05; done; exit 1"),
    ("timers up", f"systemctl start {' '.join(TIMERS)}"),
    ("markers down", f"stat -c '%n %.Y %s' {' '.join(MARKERS)} | cmp - {SEEN} && rm -f {' '.join(MARKERS)} {SEEN}"),
    ("files away", "rm -rf /opt/bench"),
)


@dataclass(frozen=True)
class Way:
    """How the host is reached."""

    address: str
    port: int
    key: Path
    known_hosts: Path


def ansible(folder: Path, way: Way, tar: Path, binaries: Path, *, pipelining: bool) -> list[str]:
    """Write inventory, configuration and playbook; returns the command."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ansible.cfg").write_text(
        f"[defaults]\ninterpreter_python = /usr/bin/python3\n[ssh_connection]\npipelining = {pipelining}\n"
        f"ssh_args = -F /dev/null -o ControlMaster=auto -o ControlPersist=60s -o UserKnownHostsFile={way.known_hosts}\n"
    )
    (folder / "inventory").write_text(
        f"target ansible_host={way.address} ansible_port={way.port} ansible_user=root "
        f"ansible_ssh_private_key_file={way.key}\n"
    )
    ship = [
        {"name": "folder", "ansible.builtin.file": {"path": "/opt/bench", "state": "directory"}},
        {"name": "ship", "ansible.builtin.unarchive": {"src": str(tar), "dest": "/opt/bench"}},
    ]
    tasks: list[object] = []
    for name, command in STEPS:
        tasks += [{"name": name, "ansible.builtin.shell": command}] if command else ship
    play = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
    (folder / "play.yml").write_text(json.dumps(play))  # JSON is YAML
    return [str(binaries / "ansible-playbook"), "-i", "inventory", "play.yml"]


def pyinfra(folder: Path, way: Way, tar: Path, binaries: Path) -> list[str]:
    """Write inventory and deploy; returns the command."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "ssh_port": way.port,
        "ssh_user": "root",
        "ssh_key": str(way.key),
        "ssh_known_hosts_file": str(way.known_hosts),
        "ssh_strict_host_key_checking": "yes",
    }
    (folder / "inventory.py").write_text(f"target = [({way.address!r}, {data!r})]\n")
    lines = ["from pyinfra.operations import files, server"]
    for name, command in STEPS:
        if command:
            lines.append(f"server.shell(name={name!r}, commands=[{command!r}])")
        else:
            lines.append(f"files.put(name='ship', src={str(tar)!r}, dest='/tmp/bench.tar')")
            unpack = "mkdir -p /opt/bench && tar -C /opt/bench -xf /tmp/bench.tar && rm /tmp/bench.tar"
            lines.append(f"server.shell(name='unpack', commands=[{unpack!r}])")
    (folder / "deploy.py").write_text("\n".join(lines) + "\n")
    return [str(binaries / "pyinfra"), "-y", "inventory.py", "deploy.py"]

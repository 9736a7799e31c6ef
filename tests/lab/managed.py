"""Production that systemd does not run: how it is laid on a host, and how a person turns it there by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.rig.machine import Machine
from tests.lab.rig.production import SERVER, SERVER_THERE

PORT, IDLE_PORT = 8080, 8081
ARGV = ("/usr/bin/python3", SERVER_THERE, "--host", "0.0.0.0", "--port")
HERE = "/opt/here"  # where a host sees this machine's libraries


@dataclass(frozen=True)
class Managed:
    """A kind of manager: what a host of it needs, how `prod` runs and `idle` does not, and a person's commands.

    ``by_hand`` gives the argv that turns a service (``start``, ``stop``); ``runs`` the argv that asks, and the word in
    its answer when the service runs.
    """

    kind: str
    user: str
    needs: tuple[str, ...]  # programs of this machine
    host: dict[str, Any]  # arguments of `Machine`
    lay: Callable[[Machine], None]
    by_hand: Callable[[Machine, str, str], list[str]]
    asks: Callable[[Machine, str], list[str]]
    running: str
    services: tuple[Any, ...] = ("prod", "idle")

    def turn(self, machine: Machine, verb: str, name: str) -> None:
        """Start or stop a service as a person would."""
        machine.sh(*self.by_hand(machine, verb, name), user=self.user)

    def runs(self, machine: Machine, name: str) -> bool:
        """Whether a service runs, as its own manager says."""
        return self.running in machine.sh(*self.asks(machine, name), user=self.user, check=False).stdout

    def production(self) -> dict[str, Any]:
        """The playbook's section."""
        return {"manager": self.kind, "services": list(self.services), "watchdogs": []}


def here(*paths: str) -> tuple[tuple[str, str], ...]:
    """Folders and files of this machine at the same place on the host."""
    return tuple((path, path) for path in paths)


# -- supervisord --------------------------------------------------------------------------------------------------

SUPERVISOR = """[unix_http_server]
file=/run/supervisor.sock
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisord]
pidfile=/run/supervisord.pid
logfile=/var/log/supervisord.log
[supervisorctl]
serverurl=unix:///run/supervisor.sock
[program:prod]
command={prod}
[program:idle]
command={idle}
autostart=false
"""


def lay_supervisord(machine: Machine) -> None:
    """As Debian lays it: a daemon of its own, run by a unit."""
    words = {name: " ".join((*ARGV, str(port))) for name, port in (("prod", PORT), ("idle", IDLE_PORT))}
    machine.write("/etc/supervisor/supervisord.conf", SUPERVISOR.format(**words))
    unit = "[Service]\nExecStart=/usr/bin/supervisord -n -c /etc/supervisor/supervisord.conf\nKillMode=process\n"
    machine.lay({"supervisor.service": unit})
    machine.sh("systemctl", "start", "supervisor.service")


# -- podman -------------------------------------------------------------------------------------------------------

#: What runc needs in a host that is a container itself: no controllers to limit by.
CONTAINERS_CONF = """[containers]
pids_limit = 0
netns = "host"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
"""
STORAGE_CONF = """[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
"""


def ready_for_containers(machine: Machine) -> None:
    """Let podman run there, on the host's own files under /opt/image."""
    machine.write("/etc/ld.so.conf.d/here.conf", f"{HERE}/lib\n")
    machine.sh("ldconfig")
    machine.write("/etc/containers/containers.conf", CONTAINERS_CONF)
    machine.write("/etc/containers/storage.conf", STORAGE_CONF)
    machine.sh("mkdir", "/opt/image")
    machine.sh("mount", "--bind", "/", "/opt/image")


def lay_podman(machine: Machine) -> None:
    """Two containers on the host's own files."""
    ready_for_containers(machine)
    for name, port in (("prod", PORT), ("idle", IDLE_PORT)):
        options = (f"--name={name}", "--stop-timeout=1", "--rootfs", "/opt/image")
        machine.sh("podman", "create", *options, *ARGV, str(port))
    machine.sh("podman", "start", "prod")


# -- systemd, a user's --------------------------------------------------------------------------------------------

#: pam_systemd tells a real host's user manager where its folder is; the lab's hosts have no such module.
NO_PAM = "[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n"


def lay_user(machine: Machine) -> None:
    """Units of `plain`'s own manager, which lingers; `prod` is not enabled: a boot alone would not bring it."""
    machine.write("/etc/systemd/system/user@.service.d/lab.conf", NO_PAM)
    machine.sh("systemctl", "daemon-reload")
    for name, port in (("prod", PORT), ("idle", IDLE_PORT)):
        text = f"[Service]\nExecStart={' '.join(ARGV)} {port}\n"
        machine.write(f"/home/plain/.config/systemd/user/{name}.service", text)
    machine.sh("chown", "-R", "plain:plain", "/home/plain/.config")
    machine.sh("loginctl", "enable-linger", "plain")
    uid = machine.sh("id", "-u", "plain").stdout.strip()
    machine.sh("systemctl", "start", f"user@{uid}.service")
    machine.sh(*user_systemctl(machine, "start", "prod.service"), user="plain")


def user_systemctl(machine: Machine, verb: str, name: str) -> list[str]:
    """`systemctl --user`, as `plain` types it."""
    uid = machine.sh("id", "-u", "plain").stdout.strip()
    return ["env", f"XDG_RUNTIME_DIR=/run/user/{uid}", "systemctl", "--user", verb, name]


# -- commands -----------------------------------------------------------------------------------------------------

CONTROL = """#!/bin/sh
# Starts, stops and asks for a server of one's own by its pid file: `control start|stop|status NAME PORT`.
file=/tmp/$2.pid
case $1 in
start) setsid {argv} "$3" & echo $! >"$file" ;;
stop) kill "$(cat "$file")" ;;
status) kill -0 "$(cat "$file")" 2>/dev/null || exit 3 ;;
esac
"""
CONTROLLER = "/opt/production/control"


def command_entry(name: str, port: int) -> dict[str, Any]:
    """A service for the playbook."""
    return {"name": name} | {verb: [CONTROLLER, verb, name, str(port)] for verb in ("start", "stop", "status")}


def lay_command(machine: Machine) -> None:
    """A script in an ordinary user's hands."""
    lay_control(machine)
    machine.sh(*control(machine, "start", "prod"), user="plain")


def lay_control(machine: Machine, argv: tuple[str, ...] = ARGV) -> None:
    """The script alone."""
    machine.write(CONTROLLER, CONTROL.format(argv=" ".join(argv)), 0o755)


def control(machine: Machine, verb: str, name: str) -> list[str]:
    """The script, as `plain` types it."""
    script = f'{CONTROLLER} "$@" >/dev/null 2>&1'
    if verb == "status":
        script += " && echo runs"
    return ["sh", "-c", script, "sh", verb, name, str(PORT if name == "prod" else IDLE_PORT)]


KINDS = {
    kind.kind: kind
    for kind in (
        Managed(
            kind="supervisord",
            user="root",
            needs=("supervisord", "supervisorctl"),
            host={
                "read_only": here("/usr/bin/supervisord", "/usr/bin/supervisorctl", "/usr/lib/python3/dist-packages")
            },
            lay=lay_supervisord,
            by_hand=lambda _, verb, name: ["supervisorctl", verb, name],
            asks=lambda _, name: ["supervisorctl", "status", name],
            running="RUNNING",
        ),
        Managed(
            kind="podman",
            user="root",
            needs=("podman", "runc", "conmon"),
            host={
                "unified": True,
                "system_calls": "bpf @keyring",  # what runc asks of the kernel
                "read_only": (
                    *here("/usr/bin/podman", "/usr/sbin/runc", "/usr/bin/conmon"),
                    ("/usr/lib/x86_64-linux-gnu", f"{HERE}/lib"),
                ),
            },
            lay=lay_podman,
            by_hand=lambda _, verb, name: ["podman", verb, name],
            asks=lambda _, name: ["podman", "container", "inspect", "--format", "{{.State.Status}}", name],
            running="running",
        ),
        Managed(
            kind="systemd-user",
            user="plain",
            needs=(),
            host={},
            lay=lay_user,
            by_hand=user_systemctl,
            asks=lambda machine, name: user_systemctl(machine, "status", name),
            running="active (running)",
            services=("prod.service", "idle.service"),
        ),
        Managed(
            kind="command",
            user="plain",
            needs=(),
            host={},
            lay=lay_command,
            by_hand=control,
            asks=lambda machine, name: control(machine, "status", name),
            running="runs",
            services=(command_entry("prod", PORT), command_entry("idle", IDLE_PORT)),
        ),
    )
}


def name_of(entry: str | dict[str, Any]) -> str:
    """What a service is called."""
    return entry if isinstance(entry, str) else str(entry["name"])


def lay(machine: Machine, kind: Managed, server: Path = SERVER) -> None:
    """Put a kind's production on a host."""
    machine.copy(server, SERVER_THERE)
    kind.lay(machine)

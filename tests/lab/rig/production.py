"""Lays real production on a host: services, what watches over them, and every way in which they can be stubborn."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from .machine import Machine
from .nspawn import until

SERVER = Path(__file__).with_name("tinyprod.py")
SERVER_THERE = "/opt/production/tinyprod.py"
MARKER = "/run/llama/maintenance"
MODEL = "tiny"


@dataclass(frozen=True)
class Service:
    """One production service, `tinyprod.py` unless told otherwise; the methods return one that is harder to handle."""

    name: str = "prod.service"
    port: int = 8080
    flags: tuple[str, ...] = ()
    unit: tuple[str, ...] = ()  # more lines for [Unit]
    service: tuple[str, ...] = ()  # more lines for [Service]
    enabled: bool = True
    program: tuple[str, ...] = ("/usr/bin/python3", SERVER_THERE)

    def text(self) -> str:
        """The unit file."""
        argv = (*self.program, "--host", "0.0.0.0", "--port", str(self.port), *self.flags)
        return "\n".join((
            "[Unit]", f"Description=production on port {self.port}", *self.unit,
            "[Service]", f"ExecStart={' '.join(argv)}", *self.service, "[Install]", "WantedBy=multi-user.target", "",
        ))  # fmt: skip

    def deaf(self, stop_timeout: int = 2) -> Service:
        """It ignores TERM: a stop takes `stop_timeout` seconds and ends with KILL and Result=timeout."""
        return self._with("--deaf", service=(f"TimeoutStopSec={stop_timeout}",))

    def unstoppable(self) -> Service:
        """It ignores TERM and its stop job never ends by itself."""
        return self._with("--deaf", service=("TimeoutStopSec=infinity",))

    def slow(self, seconds: float) -> Service:
        """It takes so long from the start until its port opens."""
        return self._with("--slow-start", f"{seconds:g}")

    def never_healthy(self) -> Service:
        """It runs, and answers no request well."""
        return self._with("--never-healthy")

    def sick_if(self, path: str) -> Service:
        """It answers no request well while `path` exists on the host."""
        return self._with("--sick-if", path)

    def start_limit(self, burst: int = 1) -> Service:
        """systemd refuses more than `burst` starts an hour."""
        return self._with(unit=(f"StartLimitBurst={burst}", "StartLimitIntervalSec=1h"))

    def obeys_marker(self) -> Service:
        """It does not start while the marker is there: `systemctl start` exits 0 and it stays inactive."""
        return self._with(unit=(f"ConditionPathExists=!{MARKER}",))

    def restarts(self) -> Service:
        """systemd restarts it whenever it ends by itself."""
        return self._with(service=("Restart=always", "RestartSec=100ms"))

    def tied(self, *lines: str) -> Service:
        """It has these more lines in [Unit], such as `Wants=friend.service`."""
        return self._with(unit=lines)

    def _with(self, *flags: str, unit: tuple[str, ...] = (), service: tuple[str, ...] = ()) -> Service:
        return replace(self, flags=self.flags + flags, unit=self.unit + unit, service=self.service + service)


def friend(*lines: str, starts_at_boot: bool = True) -> str:
    """A unit file that only sleeps, tied to others by lines such as `BindsTo=prod.service`."""
    install = "[Install]\nWantedBy=multi-user.target\n" if starts_at_boot else ""
    return "\n".join(("[Unit]", *lines, "[Service]", "ExecStart=/bin/sleep infinity", install))


def watchdog(name: str = "watchdog", target: str = "prod.service", every: int = 1) -> dict[str, str]:
    """A timer and a service that start `target` when it is down, unless the marker is there.

    It goes by the wall clock (OnCalendar), so a daemon-reload does not put it off.
    """
    script = f"[ -e {MARKER} ] || systemctl is-active --quiet {target} || systemctl start {target}"
    return {
        f"{name}.timer": f"[Timer]\nOnCalendar=*:*:0/{every}\nAccuracySec=50ms\n[Install]\nWantedBy=timers.target\n",
        f"{name}.service": f'[Service]\nType=oneshot\nExecStart=/bin/sh -c "{script}"\n',
    }


def path_watchdog(name: str = "wake", target: str = "prod.service", path: str = "/run/llama/wake") -> dict[str, str]:
    """A path unit that starts `target` when `path` appears."""
    return {f"{name}.path": f"[Path]\nPathExists={path}\nUnit={target}\n[Install]\nWantedBy=paths.target\n"}


@dataclass(frozen=True)
class Production:
    """What is in production on a host."""

    machine: Machine
    services: tuple[Service, ...]
    watchdogs: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The services' unit names."""
        return [service.name for service in self.services]

    def url(self, service: Service) -> str:
        """A service's address, as seen from here."""
        return f"http://{self.machine.address}:{service.port}"

    def health(self, service: Service) -> dict[str, object] | None:
        """What a service says of itself; None when it does not answer."""
        return self._ask(f"{self.url(service)}/health")

    def answers(self, service: Service) -> bool:
        """Whether a service generates a token."""
        body = {"model": MODEL, "messages": [{"role": "user", "content": "tick"}], "max_tokens": 1}
        answer = self._ask(f"{self.url(service)}/v1/chat/completions", json.dumps(body).encode())
        return bool(answer and answer.get("choices"))

    def wait_healthy(self, patience: float = 30) -> None:
        """Wait until every service generates a token."""
        for service in self.services:
            until(lambda service=service: self.answers(service), f"{service.name} to answer", patience)  # type: ignore[misc]

    def pid(self, service: Service) -> int:
        """A service's main pid, as the host counts."""
        return int(self.machine.sh("systemctl", "show", "-p", "MainPID", "--value", service.name).stdout)

    @staticmethod
    def _ask(url: str, body: bytes | None = None) -> dict[str, object] | None:
        try:
            with urllib.request.urlopen(url, body, timeout=5) as answer:
                return dict(json.load(answer))
        except OSError:  # refused, reset, or an answer that says it is not well
            return None


def lay(
    machine: Machine,
    *services: Service,
    watchdogs: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
    healthy: bool = True,
    patience: float = 30,
) -> Production:
    """Put production on a host, start it, and wait until it answers.

    With no services given it is one `prod.service`; with no watchdogs, one timer. `more` holds other units: all are
    enabled where they can be, and started. `healthy=False` does not wait for answers, otherwise it does for `patience`
    seconds.
    """
    services = services or (Service(),)
    watchdogs = watchdog(target=services[0].name) if watchdogs is None else watchdogs
    machine.copy(SERVER, SERVER_THERE)
    machine.write("/etc/tmpfiles.d/llama.conf", "d /run/llama 0755 root root -\n")
    machine.sh("systemd-tmpfiles", "--create", "llama.conf")
    units = {service.name: service.text() for service in services} | dict(more or {}) | dict(watchdogs)
    machine.lay(units)
    at_boot = [name for name, text in units.items() if "[Install]" in text]
    machine.sh(
        "systemctl", "enable", *(name for name in at_boot if name not in {s.name for s in services if not s.enabled})
    )
    armed = tuple(name for name in watchdogs if not name.endswith(".service"))
    production = Production(machine, services, armed)
    machine.sh("systemctl", "start", *production.names, *(name for name in at_boot if name in (more or {})))
    if healthy:
        production.wait_healthy(patience)
    if armed:
        machine.sh("systemctl", "start", *armed)
    return production

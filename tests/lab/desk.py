"""The operator's desk: a playbook for a lab host, a release to ship, and the command `stager` as a person calls it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.lab.rig.engine import SERVE
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import MARKER, SERVER
from tests.lab.rig.snapshot import Snapshot

STAGER = (sys.executable, "-m", "stager")
CANDIDATE_PORT = 18080
TRANSIENT = "unit_files: /run/systemd/transient: absent"  # systemd's own folder, there since its first transient unit


@dataclass(frozen=True)
class Said:
    """How one call of `stager` ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document it printed."""
        return dict(json.loads(self.out))


def default_playbook(machine: Machine) -> dict[str, Any]:
    """A playbook whose candidate is the tiny server with four slots, beside the tiny production."""
    return {
        "stager": 1,
        "name": "lab",
        "host": {
            "address": machine.address,
            "user": "root",
            "identity": str(machine.key),
            "known_hosts": str(machine.known_hosts),
        },
        "candidate": {
            "release": "./server",
            "launch": ["/usr/bin/python3", "serve.py", "--port", "{port}", "--slots", "4"],
            "engine": {"kind": "openai", "health": "/health", "active": "/health#/active", "busy": "/health#/busy"},
            "model": "tiny",
            "port": CANDIDATE_PORT,
            "claims": {"slots": 4},
            "ready": {"timeout": "20s"},
            "stop": {"grace": "3s"},
            "limits": {"runtime": "10m"},
        },
        "production": {
            "manager": "systemd",
            "services": ["prod.service"],
            "watchdogs": ["watchdog.timer"],
            "ports": [8080],
            "drain": {"gauge": "http://127.0.0.1:8080/health#/busy", "timeout": "5s"},
            "healthy": {"url": "http://127.0.0.1:8080/v1/chat/completions", "model": "tiny", "within": "30s"},
        },
        "markers": {"raise": ["maintenance"], "respect": ["/run/llama/*.maintenance"]},
        "guard": {"lease": "15s", "deadline": "20m"},
        "probes": {"overlap": {"streams": 4, "max_tokens": 100}},
    }


class Desk:
    """A folder with a playbook and a release for one host."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.folder = folder
        self.machine = machine
        self.playbook = folder / "playbooks" / "lab.yaml"
        server = folder / "playbooks" / "server"
        server.mkdir(parents=True)
        shutil.copy(SERVER, server / "serve.py")
        markers = folder / "markers"
        markers.mkdir()
        kind = {"path": MARKER, "means": "keep off", "obeyed_by": ["watchdog.service"]}
        (markers / "maintenance.yaml").write_text(yaml.safe_dump(kind))
        self.write()

    def write(self, **changes: Mapping[str, Any] | Any) -> Path:
        """Write the playbook; ``section={...}`` is merged into its section, anything else replaces."""
        document = default_playbook(self.machine)
        for key, value in changes.items():
            document[key] = {**document[key], **value} if isinstance(value, dict) and key in document else value
        self.playbook.write_text(yaml.safe_dump(document, sort_keys=False))
        return self.playbook

    def real_engine(self) -> None:
        """Make production and candidate the real engine: one slot, and four."""
        shutil.copy(SERVE, self.playbook.parent / "server" / "serve.py")
        engine = {"engine": "llama.cpp", "model": "smollm2", "ready": {"timeout": "60s"}}
        slots = ["--slots", "4", "--ctx", "8192"]
        launch = ["/usr/bin/python3", "serve.py", "--host", "{bind}", "--port", "{port}", *slots]
        url = "http://127.0.0.1:8080/v1/chat/completions"
        production = {"services": ["llama.service"], "healthy": {"url": url, "within": "60s"}, "drain": None}
        probes = {"overlap": {"streams": 4, "max_tokens": 96, "prompt_words": 8}}  # little reading, much generating
        self.write(candidate={**engine, "launch": launch}, production=production, probes=probes)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `stager`, and leave it running."""
        pipe = subprocess.PIPE
        return subprocess.Popen([*STAGER, *words], stdout=pipe, stderr=pipe, text=True, start_new_session=True)

    def stager(self, *words: str, timeout: float = 120) -> Said:
        """Call `stager` and wait for it."""
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Said(process.returncode, out, err)


def changes(before: Snapshot, after: Snapshot) -> str:
    """What is not as before, a line each; what systemd itself keeps moving is passed over."""
    lines = before.differences(after)
    return "\n".join(line for line in lines if "'waiting'" not in line and not line.startswith(TRANSIENT))

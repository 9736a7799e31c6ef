"""A playbook for what `production.lay` put on a host, with a candidate that any host can run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from .production import MARKER, MODEL, SERVER, Production

CANDIDATE_PORT = 18080
WATCHING = ("watchdog.service",)  # reads the marker before it acts
HEALTH = "/health"


def playbook(folder: Path, production: Production, *, name: str = "tiny-batch4", **sections: dict[str, Any]) -> Path:
    """Write a playbook with its release and marker kind under `folder`; returns its path (JSON is YAML).

    The candidate is the same little server with four slots. `sections` are merged into the playbook's sections,
    one level deep: `playbook(tmp_path, production, guard={"lease": "3s"})`.
    """
    release = folder / "server"
    release.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(SERVER, release / "serve.py")
    kind = {
        "path": MARKER, "content": "", "mode": "0644", "means": "production is down for maintenance",
        "obeyed_by": [*(each.name for each in production.services if MARKER in each.text()), *WATCHING],
    }  # fmt: skip
    (folder / "markers").mkdir(exist_ok=True)
    (folder / "markers" / "maintenance.yaml").write_text(json.dumps(kind))
    plan = sections_of(production)
    for section, changes in sections.items():
        plan[section] = {**plan.get(section, {}), **changes}
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"stager": 1, "name": name, **plan}, indent=1))
    return path


def sections_of(production: Production) -> dict[str, dict[str, Any]]:
    """The playbook's sections for this production, as contract.md names them."""
    machine, first = production.machine, production.services[0]
    return {
        "host": {
            "address": machine.address, "user": machine.user, "port": machine.port, "identity": str(machine.key),
            "known_hosts": str(machine.known_hosts),
        },
        "candidate": {
            "release": "./server",
            "launch": ["/usr/bin/python3", "serve.py", "--port", "{port}", "--slots", "4"],
            "engine": {
                "kind": "openai", "health": HEALTH, "active": f"{HEALTH}#/active", "busy": f"{HEALTH}#/busy",
                "limit": f"{HEALTH}#/batch_limit",
            },
            "port": CANDIDATE_PORT, "claims": {"slots": 4}, "ready": {"timeout": "20s"}, "stop": {"grace": "2s"},
            "limits": {"runtime": "5m"},
        },
        "production": {
            "manager": "systemd", "services": production.names, "watchdogs": list(production.watchdogs),
            "ports": [service.port for service in production.services],
            "healthy": {
                "url": f"http://127.0.0.1:{first.port}/v1/chat/completions", "model": MODEL, "n": 1, "of": 1,
                "within": "15s",
            },
        },
        "markers": {"raise": ["maintenance"], "respect": ["/run/llama/*.maintenance"], "on_foreign": "hold"},
        "guard": {"lease": "5s", "deadline": "10m"},
        "probes": {"overlap": {"streams": 4, "max_tokens": 60}},
    }  # fmt: skip

"""What the host is asked to do: the playbook, resolved for one run, as plain data; record 0 of the journal."""

from __future__ import annotations

from typing import Any

from stager.engines.base import Engine
from stager.loading import LoadedPlaybook
from stager.models.playbook import Candidate, Playbook
from stager.models.production import Drain, Healthy, Production, unit_name
from stager.models.template import fill
from stager.staging.engine import engine_of

#: The candidate's home: filled in on the host, which alone knows it.
HOME = "{home}"


def spec_of(loaded: LoadedPlaybook, run_id: str, *, port: int, tree: str, tree_folder: str) -> dict[str, Any]:
    """Return the spec of one run.

    Args:
        loaded: the playbook with its marker kinds.
        run_id: the run's name.
        port: the candidate's port; 0 while it is not chosen yet.
        tree: the release's key; empty where nothing is shipped.
        tree_folder: where the release will lie on the host.
    """
    playbook = loaded.playbook
    return {
        "run_id": run_id,
        "name": playbook.name,
        "playbook": loaded.text,
        "production": production_of(playbook),
        "markers": [
            {
                "name": name,
                "path": kind.path_for(run_id),
                "content": kind.content_for(run_id),
                "mode": kind.mode,
                "obeyed_by": list(kind.obeyed_by),
            }
            for name, kind in loaded.markers.items()
        ],
        "respect": list(playbook.markers.respect),
        "on_foreign": playbook.markers.on_foreign,
        "guard": {
            "lease": playbook.guard.lease,
            "deadline": playbook.guard.deadline,
            "notify": [fill(word, {"message": "{message}", "run_id": run_id}) for word in playbook.guard.notify],
        },
        "candidate": candidate_of(playbook.candidate, run_id, port, tree, tree_folder),
    }


def production_of(playbook: Playbook) -> dict[str, Any]:
    """Production as the host needs it, each list in the playbook's order."""
    production: Production = playbook.production
    return {
        "manager": production.manager,
        "services": [unit if isinstance(unit, str) else unit.document() for unit in production.services],
        "watchdogs": [unit if isinstance(unit, str) else unit.document() for unit in production.watchdogs],
        "service_names": [unit_name(unit) for unit in production.services],
        "watchdog_names": [unit_name(unit) for unit in production.watchdogs],
        "ports": list(production.ports),
        "drain": drain_of(production.drain) if production.drain else None,
        "healthy": health_check(production.healthy) if production.healthy else None,
        "warm": list(production.warm),
    }


def drain_of(drain: Drain) -> dict[str, Any]:
    """How the host sees that production has no work left; the timeout in seconds."""
    return {"gauge": drain.gauge, "connections": drain.connections, "timeout": drain.timeout}


def health_check(healthy: Healthy) -> dict[str, Any]:
    """One real token over whatever route production's health URL names."""
    body: dict[str, Any] = {"max_tokens": 1, "temperature": 0.0, "stream": False}
    if healthy.model:
        body["model"] = healthy.model
    if healthy.url.rstrip("/").endswith("/chat/completions"):
        body["messages"] = [{"role": "user", "content": "Say yes."}]
    else:
        body["prompt"] = "Say yes."
    return {
        "url": healthy.url,
        "body": body,
        "key_file": healthy.key_file,
        "n": healthy.n,
        "of": healthy.of,
        "within": healthy.within,
    }


def candidate_of(candidate: Candidate, run_id: str, port: int, tree: str, tree_folder: str) -> dict[str, Any]:
    """The candidate as the host needs it; secrets by name only."""
    number = str(port) if port else "{port}"  # chosen on the host where the playbook says auto
    words = {"port": number, "bind": candidate.bind, "run_id": run_id, "home": HOME, "tree": tree_folder}
    engine: Engine = engine_of(candidate.engine)
    request = engine.token_request(candidate.model or "")
    return {
        "argv": [fill(word, words) for word in candidate.launch],
        "env": {name: fill(value, words) for name, value in candidate.env.items()},
        "secrets": list(candidate.secrets),
        "user": candidate.user,
        "port": port,
        "bind": candidate.bind,
        "tree": tree,
        "prepare": [[fill(word, words) for word in argv] for argv in candidate.prepare],
        "models": list(candidate.models),
        "ready": {
            "url": f"http://127.0.0.1:{number}{request.path}",
            "body": request.body,
            "timeout": candidate.ready.timeout,
        },
        "grace": candidate.stop.grace,
        "memory": candidate.limits.memory,
        "device_memory": candidate.limits.device_memory,
        "runtime": candidate.limits.runtime,
    }

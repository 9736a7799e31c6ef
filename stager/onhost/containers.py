"""Production in containers, by podman or docker: the container's id and its start time as identity."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from . import processes, turned
from .turned import State

#: Container states of both engines, and what they are here; a paused one is somebody's doing.
STATES = {
    "running": "active",
    "created": "inactive",
    "initialized": "inactive",
    "configured": "inactive",
    "exited": "inactive",
    "stopped": "inactive",
    "dead": "failed",
    "restarting": "activating",
    "stopping": "deactivating",
    "removing": "deactivating",
    "paused": "deactivating",
}


class Containers(turned.Turned):
    """Containers of one engine."""

    def __init__(self, engine: str) -> None:
        super().__init__()
        self.engine = engine

    def state(self, name: str) -> State:
        """One container's state."""
        return self.inspect(name)[0]

    def inspect(self, name: str) -> Tuple[State, List[str]]:
        """Inspect one container: its state, and what speaks against stopping it."""
        ran = processes.run([self.engine, "container", "inspect", "--", name], timeout=30)
        if not ran.ok:
            gone = "no such container" in ran.err.lower()
            now = turned.state("inactive" if gone else "unknown", load="not-found" if gone else "", words=ran.words())
            return now, []
        try:
            document = json.loads(ran.out)[0]
            return told(document), lasting(name, document)
        except (ValueError, LookupError, TypeError) as error:
            return turned.state("unknown", words="its answer cannot be read: %s" % error), []

    def complaints(self, name: str, now: State) -> List[str]:
        """Besides what speaks against any service: a container that a stop would remove, or that another runs."""
        return [*super().complaints(name, now), *(self.inspect(name)[1] if now["active"] == "active" else [])]

    def argv(self, verb: str, name: str) -> List[str]:
        """Start or stop one container."""
        return [self.engine, verb, "--", name]


def told(document: Dict[str, Any]) -> State:
    """The state in what ``inspect`` prints of one container."""
    status = str(document["State"]["Status"]).lower()
    invocation = "%s:%s" % (document["Id"], document["State"].get("StartedAt", ""))
    return turned.state(STATES.get(status, "unknown"), sub=status, invocation=invocation, words=status)


def lasting(name: str, document: Dict[str, Any]) -> List[str]:
    """Why a container would not outlive its stop, or come back by another hand; empty when neither."""
    host, config = document.get("HostConfig") or {}, document.get("Config") or {}
    unit = (config.get("Labels") or {}).get("PODMAN_SYSTEMD_UNIT")
    why = []
    if host.get("AutoRemove"):
        why.append("%s was made with --rm: a stop removes it, and it could not be started again" % name)
    if unit:
        why.append("%s is run by the unit %s: name that, with `manager: systemd` or `systemd-user`" % (name, unit))
    return why

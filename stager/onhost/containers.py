"""Production in containers, by podman or docker: the container's id and its start time as identity."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from . import processes, turned
from .turned import State

#: Container states of both engines, and what they are here; a paused one is somebody's doing.
STATES = {
    "running": "active",
    "created": "inactive",
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
        self.engine = engine

    def state(self, name: str) -> State:
        """Inspect one container."""
        ran = processes.run([self.engine, "container", "inspect", "--", name], timeout=30)
        if not ran.ok:
            gone = "no such container" in ran.err.lower()
            return turned.state("inactive" if gone else "unknown", load="not-found" if gone else "", words=ran.words())
        try:
            return told(json.loads(ran.out)[0])
        except (ValueError, LookupError, TypeError) as error:
            return turned.state("unknown", words="its answer cannot be read: %s" % error)

    def argv(self, verb: str, name: str) -> List[str]:
        """Start or stop one container."""
        return [self.engine, verb, "--", name]


def told(document: Dict[str, Any]) -> State:
    """The state in what ``inspect`` prints of one container."""
    status = str(document["State"]["Status"]).lower()
    invocation = "%s:%s" % (document["Id"], document["State"].get("StartedAt", ""))
    return turned.state(STATES.get(status, "unknown"), sub=status, invocation=invocation, words=status)

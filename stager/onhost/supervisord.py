"""Production under supervisord, by ``supervisorctl``: states as it prints them, the process as identity."""

from __future__ import annotations

import re
from typing import List

from . import processes, turned
from .turned import State

#: supervisord's process states (its documentation, "Process States"), and what they are here.
STATES = {
    "RUNNING": "active",
    "STARTING": "activating",
    "BACKOFF": "activating",
    "STOPPING": "deactivating",
    "STOPPED": "inactive",
    "EXITED": "inactive",
    "FATAL": "failed",
}
LINE = re.compile(r"^(\S+)\s+([A-Z]+)(?:\s+pid (\d+)|\s+(\w{3} \d.*))?")


class Supervisord(turned.Turned):
    """Programs of one supervisord."""

    def state(self, name: str) -> State:
        """Ask for one program.

        Its identity is its process (pid and start time); that of one which is down is when it went down, to the
        minute, or none where supervisord was started since.
        """
        ran = processes.run(["supervisorctl", "status", name], timeout=20)
        match = LINE.match(ran.out)
        if "no such process" in ran.out.lower() or "no such group" in ran.out.lower():
            return turned.state("inactive", load="not-found", words=ran.words())
        if match is None or match[2] not in STATES:
            return turned.state("unknown", words=ran.words())
        identity = processes.identify(int(match[3])) if match[3] else None
        invocation = "%(pid)d:%(start)d" % identity if identity else "down %s" % match[4].strip() if match[4] else ""
        return turned.state(STATES[match[2]], sub=match[2].lower(), invocation=invocation, words=ran.words())

    def argv(self, verb: str, name: str) -> List[str]:
        """Start or stop one program."""
        return ["supervisorctl", verb, name]

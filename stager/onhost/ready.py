"""Waiting for the candidate: it lives, the listener on its port is its own, and it answers a real token."""

from __future__ import annotations

from typing import Any, Callable, Dict

from . import answers, clocks, ports
from .candidate import Candidate
from .faults import CandidateFailed, Fenced
from .ledger import Ledger

Say = Callable[..., None]


def wait(ledger: Ledger, candidate: Candidate, say: Say) -> Dict[str, Any]:
    """Wait until it is ready.

    Returns:
        Seconds it took, and its processes.

    Raises:
        CandidateFailed: died, in time not ready, or listens where it must not; with the end of its log.
    """
    spec, production = ledger.spec["candidate"], ledger.spec["production"]
    port, start, last = int(spec["port"]), clocks.boottime_ns(), "nothing listened on port %s" % spec["port"]
    while True:
        seconds = (clocks.boottime_ns() - start) / clocks.SECOND
        if not candidate.lives():
            ended = ledger.refresh().journal.last("note", "restore")
            if ended and not str(ended["reason"]).startswith("candidate died"):
                raise Fenced("The run was ended on the host while the candidate loaded: %s." % ended["reason"])
            raise failed(ledger, "The candidate ended after %.1f s: %s." % (seconds, candidate.epitaph()))
        taken = bool(ports.listening(port))  # looked at first: a listener of ours that comes between is no stranger
        pids = candidate.pids()
        own = ports.listened_by(pids)
        if own & set(production["ports"]):
            raise failed(ledger, "The candidate listens on production's port %d." % min(own & set(production["ports"])))
        if port in own and ports.listening(port) <= ports.inodes_of(pids):
            if ports.any_address(port) and spec["bind"].startswith("127."):
                raise failed(
                    ledger,
                    "The candidate takes connections from other machines on port %d; the playbook binds it to %s."
                    % (port, spec["bind"]),
                )
            last = answers.one_token(
                dict(spec["ready"], timeout=max(1.0, min(60.0, spec["ready"]["timeout"] - seconds)))
            )
            if not last:
                return {"seconds": round(seconds, 3), "pids": sorted(pids)}
        elif taken and ports.listening(port) - ports.inodes_of(candidate.pids()):
            raise failed(ledger, "Port %d is answered by another process than the candidate." % port)
        elif own:
            last = "it listens on port %s, not on %d" % (", ".join(map(str, sorted(own))), port)
        if seconds > spec["ready"]["timeout"]:
            raise failed(ledger, "The candidate was not ready in %gs: %s." % (spec["ready"]["timeout"], last))
        say("waiting", seconds=round(seconds, 1), why=last)
        clocks.pause(0.1)


def failed(ledger: Ledger, message: str) -> CandidateFailed:
    """The error, with the end of the candidate's own output."""
    return CandidateFailed(message, log=ledger.run.output_tail())

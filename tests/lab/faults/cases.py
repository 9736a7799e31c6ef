"""What is tried: every journal boundary of a run, times everything that may break there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """What breaks at a boundary."""

    CONTROLLER_KILLED = "controller-killed"
    CONTROLLER_STOPPED = "controller-stopped"  # past its lease, then continued
    SERVE_KILLED = "serve-killed"
    GUARD_KILLED = "guard-killed"
    SSHD_KILLED = "sshd-killed"
    NETWORK_CUT = "network-cut"
    POWER_CUT = "power-cut"  # what was not synced to the state disk is lost
    DAEMON_RELOADS = "daemon-reloads"  # one a second, and the controller is killed
    DISK_FULL = "disk-full"
    READ_ONLY = "read-only"
    CLOCK_FORWARD = "clock+1h"  # and the controller is killed
    CLOCK_BACK = "clock-1h"


CLOCK = (Fault.CLOCK_FORWARD, Fault.CLOCK_BACK)
#: Faults that reach the host through its own programs; the others break what it stands on.
DISK = (Fault.DISK_FULL, Fault.READ_ONLY)


@dataclass(frozen=True)
class Boundary:
    """The point after one synced record: ``place`` counts records from the verb's first one on."""

    verb: str
    place: int
    record: str

    @property
    def name(self) -> str:
        """The start of a case's name."""
        return f"{self.verb}-{self.place:02d}-{self.record.replace(' ', '-')}"


@dataclass(frozen=True)
class Case:
    """One fault at one boundary."""

    boundary: Boundary
    fault: Fault

    @property
    def name(self) -> str:
        """Unique, and readable in pytest's output."""
        return f"{self.boundary.name}-{self.fault}"

    @property
    def host(self) -> str:
        """Which kind of host it needs: stepping the clock takes one with libfaketime in front of everything."""
        return "clock" if self.fault in CLOCK else "plain"


def boundaries(verb: str, records: str) -> list[Boundary]:
    """The boundaries of one verb, from its records, one a line."""
    return [Boundary(verb, place, record.strip()) for place, record in enumerate(records.strip().splitlines())]


#: A run whose release is on the host already; a trial fails where the journal has another record at that place.
STAGE = boundaries(
    "stage",
    """note open
    note build
    note armed
    note snapshot
    intent marker.raise
    done marker.raise
    intent unit.stop
    done unit.stop
    intent unit.stop
    done unit.stop
    intent candidate.launch
    done candidate.launch
    note ready
    note hold""",
)
#: The same run's first records where the release has to be shipped.
UPLOAD = boundaries("upload", "note open\nintent tree.lay\ndone tree.lay")[1:]
EXTEND = boundaries("extend", "note hold")
CLEANUP = boundaries(
    "cleanup",
    """note restore
    intent candidate.stop
    done candidate.stop
    intent unit.start
    done unit.start
    note healthy
    intent unit.start
    done unit.start
    intent marker.clear
    done marker.clear
    verdict restored""",
)
#: Probes write no record: the fault comes while they have the candidate generate.
VERIFY = [Boundary("verify", 0, "probing")]
BOUNDARIES = [*UPLOAD, *STAGE, *EXTEND, *VERIFY, *CLEANUP]


def possible(case: Case) -> bool:
    """Whether a fault can happen at a boundary: before record 0 is followed up there is no guard to kill."""
    return not (case.boundary == STAGE[0] and case.fault is Fault.GUARD_KILLED)


ALL = [case for fault in Fault for case in (Case(boundary, fault) for boundary in BOUNDARIES) if possible(case)]
#: In `make test`: each fault once, each at another boundary, where it hurts most.
SLICE = [
    Case(STAGE[9], Fault.CONTROLLER_KILLED),
    Case(STAGE[8], Fault.CONTROLLER_STOPPED),
    Case(STAGE[4], Fault.SERVE_KILLED),
    Case(STAGE[7], Fault.GUARD_KILLED),
    Case(STAGE[13], Fault.SSHD_KILLED),
    Case(VERIFY[0], Fault.NETWORK_CUT),
    Case(STAGE[11], Fault.POWER_CUT),
    Case(EXTEND[0], Fault.DAEMON_RELOADS),
    Case(STAGE[6], Fault.DISK_FULL),
    Case(STAGE[10], Fault.READ_ONLY),
    Case(STAGE[12], Fault.CLOCK_BACK),
    Case(CLEANUP[3], Fault.GUARD_KILLED),
    Case(CLEANUP[8], Fault.POWER_CUT),
]

"""systemd, by ``systemctl``: ask for states as they are, stop, start, and read back every change.

``show`` is read field by field and never judged by its exit status: an unknown unit exits 0 with
``LoadState=not-found``. Commands never wait for a password and never print through a pager.
"""

from __future__ import annotations

import os
import pwd
from typing import Any, Dict, Iterable, List, Sequence, Set, Tuple

from . import cgroups, clocks, decide, processes
from .processes import Ran

Unit = Dict[str, str]

FIELDS = [
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "InvocationID",
    "Result",
    "Job",
    "Type",
    "MainPID",
    "ControlGroup",
    "FragmentPath",
    "DropInPaths",
    "NeedDaemonReload",
    "Triggers",
    "TriggeredBy",
    "Requires",
    "Requisite",
    "Wants",
    "BindsTo",
    "Upholds",
    "RequiredBy",
    "RequisiteOf",
    "BoundBy",
    "ConsistsOf",
    "PropagatesStopTo",
    "RefuseManualStop",
    "RefuseManualStart",
    "ConditionResult",
    "TimeoutStopUSec",
    "RemainAfterExit",
    "ExecStart",
    "ExecMainStartTimestampMonotonic",
    "EnvironmentFiles",
]
#: A stop of the unit stops those, too.
TAKES_ALONG = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")
#: A start of the unit starts those, too.
DRAGS_IN = ("Requires", "Requisite", "Wants", "BindsTo", "Upholds")
RUNNING = ("active", "reloading", "refreshing")
IN_BETWEEN = ("activating", "deactivating", "reloading", "refreshing", "maintenance")
UNIT_FOLDERS = ("/etc/systemd/", "/run/systemd/", "/usr/lib/systemd/", "/lib/systemd/")
WATCHING = (".timer", ".path", ".socket", ".automount")


def systemctl(user: bool, *words: str) -> Tuple[str, ...]:
    """The argv of one systemctl call."""
    return ("systemctl", "--no-ask-password", "--no-pager", *(("--user",) if user else ()), *words)


def parse(text: str) -> List[Unit]:
    """The blocks of ``systemctl show``; a field that stands several times (``ExecStart``) is joined."""
    units: List[Unit] = []
    unit: Unit = {}
    for line in [*text.splitlines(), ""]:
        name, equals, value = line.partition("=")
        if not equals and not line.strip():
            if unit:
                units.append(unit)
            unit = {}
        elif equals:
            unit[name] = unit[name] + " ; " + value if name in unit else value
    return units


def closure(start: Iterable[str], units: Dict[str, Unit], edges: Sequence[str]) -> Set[str]:
    """Every unit reachable over some dependency fields, the start left out.

    Targets are not walked through unless asked for by name: what ``sysinit.target`` wants is the system's own business.
    """
    asked = set(start)
    found, grew = set(asked), set(asked)
    while grew:
        walked = {unit for unit in grew if unit in asked or not unit.endswith(".target")}
        grew = {name for unit in walked for edge in edges for name in units.get(unit, {}).get(edge, "").split()} - found
        found |= grew
    return found - asked


class Systemd:
    """The units of the system manager, or of one user's."""

    def __init__(self, user: bool = False) -> None:
        self.user = user

    def ctl(self, *words: str, timeout: float = 60.0) -> Ran:
        """Run one systemctl call."""
        return processes.run(systemctl(self.user, *words), timeout)

    def units(self, names: Sequence[str], everything: bool = False) -> Dict[str, Unit]:
        """Units by the name they were asked for, with all FIELDS; with ``everything`` also every other loaded unit.

        Raises:
            OSError: the manager does not answer.
        """
        found: Dict[str, Unit] = {}
        if names:
            ran = self.ctl("show", "-p", ",".join(FIELDS), "--", *names)
            blocks = parse(ran.out)
            if len(blocks) != len(names):
                raise OSError("systemctl show answered %d of %d units: %s" % (len(blocks), len(names), ran.words()))
            found = dict(zip(names, blocks))
        if everything:
            ran = self.ctl("show", "-p", ",".join(FIELDS), "--", "*")
            if not ran.ok:  # a part of the units would read as all of them
                raise OSError("systemctl show of every loaded unit: %s" % ran.words())
            for unit in parse(ran.out):
                found.setdefault(unit.get("Id", ""), unit)
        return found

    def look(self, names: Sequence[str]) -> Dict[str, Dict[str, Any]]:
        """The recorded state of each name."""
        return {name: state_of(unit) for name, unit in self.units(names).items()}

    def survey(self, names: Sequence[str]) -> Dict[str, Any]:
        """What preflight needs.

        Each unit whole, what a stop takes along (running now), what a start would drag in (not running now).
        """
        units = self.units(names, everything=True)
        along = [
            u
            for u in closure(names, units, TAKES_ALONG)
            if units.get(u, {}).get("ActiveState") in (*RUNNING, "activating")
        ]
        missing = [
            u for n in [*names, *along] for e in DRAGS_IN for u in units.get(n, {}).get(e, "").split() if u not in units
        ]
        units.update(self.units(sorted(set(missing))) if missing else {})
        every = [*names, *along]
        return {
            "units": {n: dict(units[n], **state_of(units[n]), problems=self.problems(units[n])) for n in every},
            "along": sorted(set(along) - set(names)),
            "dragged": sorted({u for name in every for u in drags(name, units)}),
            "alone": sorted(name for name in every if drags(name, units)),
            "triggers": {name: active_triggers(units[name], units) for name in names},
        }

    def problems(self, unit: Unit) -> List[str]:
        """Why a running unit could not come back as it was (promise 16); empty when it could, or does not run."""
        name, active = unit.get("Id", "?"), unit.get("ActiveState", "")
        if unit.get("LoadState") == "not-found" and active not in RUNNING:
            return []
        why = []
        if active in IN_BETWEEN or unit.get("Job", "0") not in ("", "0"):
            why.append("%s is in transition (%s/%s): wait until it is settled" % (name, active, unit.get("SubState")))
        if active not in RUNNING:
            return why
        fragment = unit.get("FragmentPath", "")
        if unit.get("LoadState") != "loaded" or (fragment and not os.path.exists(fragment)):
            why.append(
                "%s runs, but its unit file is gone or masked (%s): it could not be started again"
                % (name, unit.get("LoadState"))
            )
        if unit.get("NeedDaemonReload") == "yes":
            why.append(
                "%s has a changed unit file (systemd wants a daemon-reload): it would come back as something else"
                % name
            )
        if unit.get("RefuseManualStop") == "yes" or unit.get("RefuseManualStart") == "yes":
            why.append("%s refuses to be stopped or started by hand" % name)
        why += missing_files(name, unit)
        return why

    def stop(self, names: Sequence[str], timeout: float) -> Dict[str, str]:
        """Stop units and read back each; returns those that did not go down, with why.

        A cancelled stop is asked for again.
        """
        left = list(names)
        ran = Ran((), 0, "", "")
        for _ in range(3):
            ran = self.ctl("stop", "--", *left, timeout=timeout)
            states = self.units(left)
            left = [name for name in left if states[name].get("ActiveState") not in ("inactive", "failed")]
            if not left or ran.code is None:
                break
            clocks.pause(0.3)
        return {
            name: "%s is %s: %s" % (name, self.units([name])[name].get("ActiveState"), ran.words()) for name in left
        }

    def start(self, names: Sequence[str], timeout: float, alone: bool = False) -> Dict[str, str]:
        """Start units and read back each; returns those that did not come up, with why.

        ``alone`` leaves dependencies out, for units whose start would drag in what was not running. A refusal by the
        start limit is lifted once for these units only (they ran until we stopped them); a cancelled or destructive
        transaction is asked for again.
        """
        mode = ("--job-mode=ignore-dependencies",) if alone else ()
        left = list(names)
        ran = Ran((), 0, "", "")
        end = clocks.boottime_ns() + int(timeout * clocks.SECOND)
        self.end_stops(left)
        for _ in range(4):
            room = max(1.0, (end - clocks.boottime_ns()) / clocks.SECOND)
            ran = self.ctl("start", *mode, "--", *left, timeout=room)
            states = self.units(left)
            left = [name for name in left if not came_up(states[name])]
            if not left or ran.code is None:
                break
            for name in left:
                # A start limit shows in no field where the unit had failed before: systemd keeps that first Result.
                if states[name].get("ActiveState") == "failed" or "start-limit" in ran.err:
                    self.ctl("reset-failed", "--", name)
            clocks.pause(0.3)
            self.end_stops(left)
        return {name: self.why_down(name, ran) for name in left}

    def end_stops(self, names: Sequence[str]) -> None:
        """KILL what is still on its way down: a start would wait for a stop that may never end by itself."""
        for name, unit in self.units(names).items():
            if unit.get("ActiveState") == "deactivating":
                self.ctl("kill", "--kill-who=all", "--signal=KILL", "--", name)

    def why_down(self, name: str, ran: Ran) -> str:
        """Why a start left a unit down."""
        unit = self.units([name])[name]
        if ran.ok and unit.get("ConditionResult") == "no":
            return "%s was started, but a condition of its own keeps it down" % name
        return "%s is %s (%s): %s" % (name, unit.get("ActiveState"), unit.get("Result"), ran.words())

    def running(self, record: Dict[str, Any]) -> bool:
        """Whether a unit seems to run, by its control group alone: cheap enough for every second."""
        return bool(record.get("cgroup")) and cgroups.exists(record["cgroup"])


def state_of(unit: Unit) -> Dict[str, Any]:
    """The part of a unit's state that is recorded and compared."""
    return {
        "load": unit.get("LoadState", ""),
        "active": unit.get("ActiveState", ""),
        "sub": unit.get("SubState", ""),
        "enabled": unit.get("UnitFileState", ""),
        "invocation": unit.get("InvocationID", ""),
        "result": unit.get("Result", ""),
        "cgroup": unit.get("ControlGroup", ""),
    }


def came_up(unit: Unit) -> bool:
    """Whether a start was obeyed: it runs, or is on its way up, and does not just wait for its next failed start."""
    return decide.is_up({"active": unit.get("ActiveState", ""), "sub": unit.get("SubState", "")})


def drags(name: str, units: Dict[str, Unit]) -> List[str]:
    """What a start of the unit would start besides, and that does not run now."""
    found = []
    for other in closure([name], units, DRAGS_IN):
        unit = units.get(other, {})
        if unit.get("LoadState") == "loaded" and unit.get("ActiveState") in ("inactive", "failed") and stays_up(unit):
            found.append(other)
    return found


def active_triggers(unit: Unit, units: Dict[str, Unit]) -> List[str]:
    """The timers, sockets and paths that would start the unit again and are active."""
    return [t for t in unit.get("TriggeredBy", "").split() if units.get(t, {}).get("ActiveState") == "active"]


def stays_up(unit: Unit) -> bool:
    """Whether a start of the unit leaves something running (targets and finished one-shots do not count)."""
    return not unit.get("Id", "").endswith((".target", ".slice", ".mount", ".device")) and not (
        unit.get("Type") == "oneshot" and unit.get("RemainAfterExit") != "yes"
    )


def missing_files(name: str, unit: Unit) -> List[str]:
    """Binaries and environment files that a new start would need and that are not there."""
    why = []
    for command in unit.get("ExecStart", "").split(" ; {"):
        path = command.partition("path=")[2].split(" ;")[0].strip()
        if path.startswith("/") and not os.path.exists(path):
            why.append("%s runs, but its binary %s is gone: it could not be started again" % (name, path))
    for entry in unit.get("EnvironmentFiles", "").split(" ; "):
        path, _, options = entry.partition(" (")
        if path.startswith("/") and "ignore_errors=no" in options and not os.path.exists(path):
            why.append("%s runs, but its EnvironmentFile %s is gone: it could not be started again" % (name, path))
    return why


def state_of_system(user: bool = False) -> str:
    """What ``is-system-running`` says.

    Running, degraded, starting, stopping, offline, or empty where there is no systemd.
    """
    return (
        processes.run(systemctl(user, "is-system-running")).out.strip() if os.path.isdir("/run/systemd/system") else ""
    )


def no_user_manager() -> str:
    """Why the user manager of whoever we are cannot be asked; empty when it can."""
    folder = processes.environment().get("XDG_RUNTIME_DIR", "")
    if folder and os.path.exists(os.path.join(folder, "systemd", "private")):
        return ""
    if os.geteuid() == 0:
        return (
            "production.manager is systemd-user, and we are root here, whose user manager does not run: log in as the "
            "user whose units they are, with host/become: none"
        )
    user = pwd.getpwuid(os.geteuid()).pw_name
    return "no user manager runs for %s: `loginctl enable-linger %s` starts one that stays" % (user, user)


def wait_for_user_manager(seconds: float) -> None:
    """At boot: give the user manager time to come up, as far as it does."""
    end = clocks.boottime_ns() + int(seconds * clocks.SECOND)
    while no_user_manager() and clocks.boottime_ns() < end:
        clocks.pause(0.2)


def is_pid_one() -> bool:
    """Whether systemd runs this host (the test that sd_booted(3) makes)."""
    return os.path.isdir("/run/systemd/system")

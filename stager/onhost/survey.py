"""What speaks against stopping a unit, and what hangs together with it: judged from units as they were read."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, Sequence, Set

from .units import IN_BETWEEN, RUNNING, Unit, state_of

#: A stop of the unit stops those, too.
TAKES_ALONG = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")
#: A start of the unit starts those, too.
DRAGS_IN = ("Requires", "Requisite", "Wants", "BindsTo", "Upholds")


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


def summed_up(names: Sequence[str], units: Dict[str, Unit], along: Sequence[str]) -> Dict[str, Any]:
    """What preflight needs of some units and of what a stop of them takes along, ``units`` holding all that is loaded.

    Each unit whole, what a stop takes along, what a start would drag in (not running now), what triggers each.
    """
    every = [*names, *along]
    return {
        "units": {n: dict(units[n], **state_of(units[n]), problems=problems(units[n])) for n in every},
        "along": sorted(set(along) - set(names)),
        "dragged": sorted({u for name in every for u in drags(name, units)}),
        "alone": sorted(name for name in every if drags(name, units)),
        "triggers": {name: active_triggers(units[name], units) for name in names},
    }


def taken_along(names: Sequence[str], units: Dict[str, Unit]) -> List[str]:
    """What runs now and would go down with a stop of some units."""
    up = (*RUNNING, "activating")
    return [u for u in closure(names, units, TAKES_ALONG) if units.get(u, {}).get("ActiveState") in up]


def problems(unit: Unit) -> List[str]:
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
            "%s has a changed unit file (systemd wants a daemon-reload): it would come back as something else" % name
        )
    if unit.get("RefuseManualStop") == "yes" or unit.get("RefuseManualStart") == "yes":
        why.append("%s refuses to be stopped or started by hand" % name)
    why += missing_files(name, unit)
    return why


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

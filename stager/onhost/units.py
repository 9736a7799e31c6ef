"""Units as ``systemctl show`` tells them: which fields are asked for, how its text is read, what is recorded."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

from . import decide

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
RUNNING = ("active", "reloading", "refreshing")
IN_BETWEEN = ("activating", "deactivating", "reloading", "refreshing", "maintenance")
UNIT_FOLDERS = ("/etc/systemd/", "/run/systemd/", "/usr/lib/systemd/", "/lib/systemd/")
WATCHING = (".timer", ".path", ".socket", ".automount")


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


def by_after(names: Sequence[str], units: Dict[str, Unit]) -> List[str]:
    """The names so that each comes behind those that its own ``After=`` names; otherwise as they are given."""
    ids = {units[name].get("Id", name): name for name in names}
    found: List[str] = []

    def add(name: str, above: Tuple[str, ...]) -> None:
        if name not in found and name not in above:  # a circle is systemd's to break
            for other in units[name].get("After", "").split():
                if other in ids:
                    add(ids[other], (*above, name))
            found.append(name)

    for name in names:
        add(name, ())
    return found

"""Preflight: from what the host said to every reason against a run. Pure, and one source for doctor, plan and stage.

Each reason is a sentence with what to do about it. Nothing is inferred: what could not be seen is a reason too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Facts = Mapping[str, Any]
Spec = Mapping[str, Any]

#: A run writes about 60 records; the reserve, the program and the lease fit into this many bytes.
SPACE = 16 * 1024 * 1024
#: Legs without which no run begins. Where boot is missing (neither systemd nor cron), that is said, not refused.
NEEDED_LEGS = ("lease", "cap")
RUNS = ("active", "activating", "reloading", "refreshing")
#: How a person sees what a host's manager knows.
LISTINGS = {
    "systemd": "`systemctl list-units`",
    "systemd-user": "`systemctl --user list-units`",
    "supervisord": "`supervisorctl status`",
    "podman": "`podman ps --all`",
    "docker": "`docker ps --all`",
}


def refusals(spec: Spec, facts: Facts) -> list[str]:
    """Return every reason why this run must not begin; empty when it may.

    Args:
        spec: what the host would be asked to do.
        facts: the host's answer to ``look``.
    """
    reasons: list[str] = []
    for check in (_state, _units, _ports, _markers, _health, _candidate, _legs):
        reasons += check(spec, facts)
    return reasons


def _state(spec: Spec, facts: Facts) -> Iterator[str]:
    state = facts["state"]
    if state["remote"]:
        yield (
            f"The state folder {state['folder']} is on {state['file_system']}: its locks and syncs cannot be relied "
            "upon. Name a local one as host/state."
        )
    if not state["writable"]:
        yield f"The state folder {state['folder']} cannot be written; without a journal nothing is changed."
    if state["free_bytes"] < SPACE:
        free = state["free_bytes"] // 2**20
        yield f"Only {free} MiB are free for {state['folder']}; a run reserves its journal's space first (16 MiB)."
    if notify := facts["notify"]:
        yield f"guard/notify: {notify}; nobody would be told of a restore at night."


def _units(spec: Spec, facts: Facts) -> Iterator[str]:
    survey = facts["survey"]
    if "error" in survey:
        yield f"Production's services cannot be asked for: {survey['error']}."
        return
    names = [*spec["production"]["service_names"], *spec["production"]["watchdog_names"]]
    for name in names:
        if survey["units"][name].get("load") == "not-found" and survey["units"][name]["active"] == "inactive":
            listing = LISTINGS.get(spec["production"]["manager"], "what runs")
            yield f"{name} is not known on this host; see {listing} there, or take it out of the playbook."
    for unit in survey["units"].values():
        yield from unit["problems"]
    for name, triggers in survey["triggers"].items():
        for trigger in triggers:
            if trigger not in names and survey["units"][name]["active"] == "active":
                yield (
                    f"{name} is started by {trigger}, which is active; list {trigger} among the watchdogs, "
                    "or it would undo the stop."
                )


def _ports(spec: Spec, facts: Facts) -> Iterator[str]:
    candidate = spec["candidate"]
    if candidate and candidate["port"]:
        owners = facts["ports"].get(str(candidate["port"]), [])
        for owner in owners:
            who = f"pid {owner['pid']}: {owner['command']}" if owner["pid"] else owner["command"]
            yield f"Port {candidate['port']} is in use ({who}); free it, or choose another (candidate/port: auto)."


def _markers(spec: Spec, facts: Facts) -> Iterator[str]:
    for marker in facts["markers"]["foreign"]:
        yield (
            f"Marker {marker['path']} is there since {marker['since']} and is not ours: somebody asks to be left "
            "alone. Ask whoever laid it; stager never removes another's marker."
        )
    for problem in facts["markers"]["problems"]:
        yield f"{problem[0].upper()}{problem[1:]}; our marker could not be raised."


def _health(spec: Spec, facts: Facts) -> Iterator[str]:
    active = any(unit["active"] == "active" for unit in facts["survey"].get("units", {}).values())
    if facts["health"]["why"] and active:
        url = spec["production"]["healthy"]["url"]
        yield (
            f"Production is not healthy even now ({url}: {facts['health']['why']}): a restore could not be told from a "
            "failure. Repair it, or correct production/healthy."
        )
    if facts["drain"]["why"]:
        yield f"The drain gauge cannot be read ({facts['drain']['why']}); a stop waits for production's own count."


def _candidate(spec: Spec, facts: Facts) -> Iterator[str]:
    candidate = facts.get("candidate")
    if not candidate:
        return
    if candidate["program"]:
        yield f"candidate/launch: {candidate['program']} on the host."
    for why in candidate["prepare"]:
        yield f"candidate/prepare: {why} on the host."
    if candidate["user"]:
        yield f"candidate/user: {candidate['user']}."
    for model in candidate["models"]:
        if model["why"]:
            yield f"candidate/models: {model['path']}: {model['why']}."


def _legs(spec: Spec, facts: Facts) -> Iterator[str]:
    for leg in NEEDED_LEGS:
        if facts["legs"][leg]:
            yield f"The guard's leg {leg!r} would not hold: {facts['legs'][leg]}."


def warnings(spec: Spec, facts: Facts) -> list[str]:
    """Return what does not forbid a run and should be known before it."""
    found = []
    if facts["legs"]["boot"]:
        found.append(f"leg boot is missing: {facts['legs']['boot']}; a reboot in mid-run would need `stager cleanup`.")
    names = [*spec["production"]["service_names"], *spec["production"]["watchdog_names"]]
    units = facts["survey"].get("units", {})
    if names and units and not any(units[name]["active"] in RUNS for name in names):
        found.append(f"nothing of production runs now ({', '.join(names)}): there is nothing to stop or to bring back.")
    if not spec["production"]["healthy"]:
        found.append(
            "production/healthy is not given: production counts as restored when its units run, whatever they answer."
        )
    if not spec["production"]["drain"]:
        found.append("production/drain is not given: requests under way are cut off by the stop.")
    if facts["survey"].get("along"):
        found.append(f"a stop takes along, and the restore brings back: {', '.join(facts['survey']['along'])}.")
    if dragged := facts["survey"].get("dragged"):
        found.append(
            f"a start would drag in what does not run now ({', '.join(dragged)}); production is started without it."
        )
    return found

"""A restore that finds a promotion: forward where it was confirmed, back to the old build where it was not."""

from __future__ import annotations

from typing import Any, Dict, List

from . import markers, promotions, switch, undo
from .journal import Record
from .steps import UNIT_TIMEOUT, Steps


def go_forward(steps: Steps, reason: str, confirmed: Record) -> Record:
    """A promotion that was confirmed: what was switched stays, watchdogs and markers come back.

    Services are up, unless the crash that this restore follows took them down.
    """
    run = steps.ledger.run
    try:
        if not promotions.remember(run, confirmed["paths"]):
            steps.trouble.append("the promotion's record is gone: there is no rollback")
        promotions.sweep(run.state)
    except OSError as error:
        steps.trouble.append("the promotion's record cannot be kept, there is no rollback: %s" % error)
    undo.supersede(steps.ledger, steps.open("unit.stop") + steps.open("switch.back"))
    if steps.start("service", steps.room()):
        steps.healthy()
    steps.start("watchdog", 30.0)
    steps.markers(before_services=False)
    steps.rest()
    return steps.end(reason, markers.in_the_way(steps.spec, steps.ledger.markers()), promoted=True)


def switch_back(steps: Steps) -> None:
    """A promotion that was not confirmed: stop what runs on the new build, put back what was switched."""
    started, switched = steps.open("unit.stop"), steps.open("switch.back")
    if not started and not switched:
        return
    steps.hold.extend(UNIT_TIMEOUT + 60)
    for outcome in undo.stop_promoted(steps.ledger, steps.services, started, UNIT_TIMEOUT):
        steps.note(outcome)
    stop_booted(steps, [pair[0]["undo"] for pair in switched])
    for pair in switched:
        steps.note(undo.switch_back(steps.ledger, pair))
    why = switch.reload_units([pair[0]["undo"] for pair in switched])
    if why:
        steps.trouble.append("systemd could not read its units again: %s" % why)


def stop_booted(steps: Steps, switched: List[Dict[str, Any]]) -> None:
    """After a reboot in mid-switch the host has started production by itself, on the new build: stop it."""
    if steps.ledger.same_boot() or not any(switch.stands(entry) for entry in switched):
        return
    names = [pair[0]["undo"]["unit"] for pair in steps.units("service")]
    steps.ledger.write("note", "stop what was booted on the new build", units=names)
    failed = steps.services.stop(names, UNIT_TIMEOUT) if names else {}
    steps.trouble += ["%s was booted on the new build: %s" % (name, why) for name, why in failed.items()]

"""Promotion on the host: switch production to a build, start it, prove that it answers; confirm, or go back.

Until ``confirm`` writes the run's own token, every leg of the guard goes back to what was recorded. From then on
every leg goes forward: so a crash at any point ends in exactly one of the two states.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List

from . import answers, clocks, closing, ports, promotions, switch, undo
from .channel import Args, Channel
from .faults import CandidateFailed, Fault, Refused
from .ledger import Ledger, change
from .restore import once
from .services import services_of
from .state import Run

CONFIRM_PATIENCE = 60.0  # seconds for the guard to re-arm watchdogs and clear markers
STARTED = "unit.stop"  # the undo of a start that a promotion made


def promoted(channel: Channel, args: Args) -> Any:
    """What stager promoted under a name; None if nothing."""
    return promotions.current(channel.state, args["name"])


def switch_over(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Put the items in place and start production; production must be down by now.

    Returns:
        Per item what stood there before.

    Raises:
        Refused: an item's place is not what it may be. CandidateFailed: production does not come up on it.
    """
    items: List[Dict[str, Any]] = args["items"]
    before = []
    for item in items:
        with change(run, number) as ledger:
            try:
                stood = switch.state_of(item["path"])
                undo_entry = {
                    "op": "switch.back",
                    "role": "switch",
                    "path": item["path"],
                    "before": stood,
                    "after": item["state"],
                }
                intent = ledger.write("intent", "switch", undo_entry)
                switch.put(item["path"], item["state"])
            except OSError as error:
                raise Refused("%s cannot be switched: %s" % (item["path"], error)) from None
            ledger.write("done", "switch", of=intent["seq"])
            before.append({"path": item["path"], "state": stood})
            channel.say("switched", path=item["path"])
    why = switch.reload_units(items)
    if why:
        raise Fault("systemd could not read its units again: %s" % why)
    start_on_it(channel, run, number)
    return {"before": before}


def start_on_it(channel: Channel, run: Run, number: int) -> None:
    """Start the services that the way down stopped; each start is on record with its undo.

    Raises:
        CandidateFailed: one did not come up.
    """
    with change(run, number) as ledger:
        services = services_of(ledger.spec["production"])
        pairs = [p for p in ledger.open() if p[0]["undo"]["op"] == "unit.start" and p[0]["undo"]["role"] == "service"]
        names = [pair[0]["undo"]["unit"] for pair in pairs]
        marks = {m["path"] for m in ledger.spec["markers"] if set(m.get("obeyed_by", ())) & set(names)}
        for pair in ledger.open():
            if pair[0]["undo"]["op"] == "marker.clear" and pair[0]["undo"]["path"] in marks:
                undo.clear_marker(ledger, pair)  # a service obeys it: it would not start against it
        intents = [
            ledger.write("intent", "promote.start", {"op": STARTED, "role": "promoted", "unit": name}) for name in names
        ]
        failed = services.start(names, float(ledger.spec["production"]["healthy"]["within"])) if names else {}
        after = services.look(names)
        for intent, name in zip(intents, names):
            ledger.write("done", "promote.start", of=intent["seq"], after=after[name], why=failed.get(name, ""))
        if failed:
            raise CandidateFailed("Production did not start on the promoted build: %s." % "; ".join(failed.values()))
        channel.say("started", units=names)


def prove(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Wait until production is healthy and stays so, and see that what listens on its port is the promoted build.

    Raises:
        CandidateFailed: it is not, in its time.
    """
    ledger = Ledger(run)
    production = ledger.spec["production"]
    check = production["healthy"]
    ok, told = answers.wait_healthy(check, float(check["within"]))
    if not ok:
        raise CandidateFailed(
            "Production is not healthy on the promoted build within %gs: %s." % (check["within"], told["last_reason"])
        )
    start, asked = clocks.boottime_ns(), 0
    while clocks.boottime_ns() - start < float(args["healthy_for"]) * clocks.SECOND:
        why = answers.one_token(check)
        asked += 1
        if why:
            raise CandidateFailed("Production became healthy on the promoted build and did not stay so: %s." % why)
        channel.say("healthy", asked=asked)
        clocks.pause(0.5)
    folder = args.get("folder") or ""
    for port in production["ports"] if folder else []:
        owners = ports.owners(port)
        pids = [int(owner["pid"]) for owner in owners if owner["pid"]]
        if not switch.listener_of(pids, folder):
            shown = ", ".join("pid %(pid)s: %(command)s" % owner for owner in owners) or "nobody"
            raise CandidateFailed(
                "What listens on production's port %d is not the promoted build (%s)." % (port, shown)
            )
    stopped = [r for r, _ in ledger.changes() if r["undo"]["op"] == "unit.start" and r["undo"]["role"] == "service"]
    down = (start - stopped[0]["boottime_ns"]) / clocks.SECOND if stopped else 0.0
    token = os.urandom(16).hex()
    with change(run, number) as locked:
        locked.write("note", "healthy", good_enough=True, downtime_seconds=round(down, 3), **told)
        locked.write("note", "proven", token=token)
    return dict(told, downtime_seconds=round(down, 3), held_for=float(args["healthy_for"]), token=token)


def confirm(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Write the run's own token beside the proof it was given for; from here on there is no way back but a rollback.

    Raises:
        Refused: the token is not this run's.
    """
    with change(run, number) as ledger:
        proven = ledger.journal.last("note", "proven")
        if proven is None or args["token"] != proven["token"]:
            raise Refused("the confirmation is not run %s's own; the guard goes back" % run.run_id)
        record = {key: args[key] for key in ("build_id", "tree", "items", "before", "previous")}
        ledger.write(
            "note", "confirmed", token=args["token"], name=args["name"], record=dict(record, run_id=run.run_id)
        )
    run.wake("restore confirmed")
    verdict = closing.wait(run, CONFIRM_PATIENCE)
    return verdict or once(run, "confirmed", "controller")

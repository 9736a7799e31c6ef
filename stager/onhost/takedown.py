"""Taking production down: drain, markers, watchdogs, services; every step in the journal before it is made."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

from . import answers, clocks, markers, ports
from .faults import Fault, NotDrained, Refused
from .journal import Record
from .ledger import Ledger, change
from .services import services_of
from .state import Run
from .units import WATCHING

STOP_TIMEOUT = 150.0  # systemd's own default for a stop is 90 s, then it kills
DRAIN_LOOKS = 3  # readings of zero in a row; between them requests may still be handed over
DOWN = ("inactive", "failed")
WATCHDOG_PATIENCE = 30.0  # seconds for a watchdog's check under way to end
Say = Callable[..., None]


def drain(spec: Dict[str, Any], say: Say) -> Dict[str, Any]:
    """Wait until production has no request: by its own gauge, or by accepted connections; never by idleness.

    Raises:
        NotDrained: it still had when the time was over, or the gauge could not be read.
    """
    wanted = spec.get("drain")
    if not wanted:
        return {"asked": False}
    start, zeros, last, why = clocks.boottime_ns(), 0, None, ""
    while zeros < DRAIN_LOOKS:
        try:
            last, why = (
                (answers.gauge(wanted["gauge"]) if wanted.get("gauge") else float(ports.connections(spec["ports"]))),
                "",
            )
        except OSError as error:
            last, why = None, str(error)
        zeros = zeros + 1 if last == 0 else 0
        seconds = (clocks.boottime_ns() - start) / clocks.SECOND
        if zeros < DRAIN_LOOKS and seconds > wanted["timeout"]:
            said = "its gauge could not be read (%s)" % why if last is None else "it still had %g" % last
            raise NotDrained("Production did not drain in %gs: %s. Nothing was stopped." % (wanted["timeout"], said))
        say("drain", left=last)
        clocks.pause(0.1)
    return {"asked": True, "seconds": round((clocks.boottime_ns() - start) / clocks.SECOND, 3)}


def raise_markers(run: Run, number: int, kinds: Sequence[Dict[str, Any]], say: Say) -> None:
    """Raise our markers; each is journalled between being made under a private name and being linked into place.

    Raises:
        Refused: the name is taken, or the folder cannot be written.
    """
    for kind in kinds:
        with change(run, number) as ledger:
            try:
                identity = markers.prepare(kind["path"], kind["content"].encode(), int(kind["mode"], 8), run.run_id)
                undo = {"op": "marker.clear", "role": "marker", "path": kind["path"], "identity": identity}
                intent = ledger.write("intent", "marker.raise", undo, name=kind["name"])
                markers.publish(kind["path"], run.run_id)
            except FileExistsError:
                raise Refused("marker %s is there already, and is not ours" % kind["path"]) from None
            except OSError as error:
                markers.sweep(kind["path"], run.run_id)  # whatever is on record of it, it was not linked into place
                raise Refused("marker %s cannot be made: %s" % (kind["path"], error)) from None
            ledger.write("done", "marker.raise", of=intent["seq"])
            say("marker", path=kind["path"])


def intend(ledger: Ledger, name: str, role: str, before: Dict[str, Any], survey: Dict[str, Any]) -> Record:
    """Put on record that a unit goes down, and how it comes back."""
    undo = {"op": "unit.start", "role": role, "unit": name, "before": before, "alone": name in survey["alone"]}
    return ledger.write("intent", "unit.stop", undo)


def stop_units(
    run: Run, number: int, role: str, names: Sequence[str], companions: Sequence[str], survey: Dict[str, Any], say: Say
) -> None:
    """Stop what is active of some units, and see that it stays down.

    Under systemd with one command, in the order of the units' own ``After=``; what has none stops side by side.

    ``companions`` are what the stop may take along: on record before it, since afterwards nothing tells that they ran.

    Raises:
        Fault: a unit did not go down, or came back at once.
    """
    with change(run, number) as ledger:
        services = services_of(ledger.spec["production"])
        before = {n: s for n, s in services.look([*names, *companions]).items() if s["active"] == "active"}
        asked = [name for name in names if name in before]
        intents = {
            name: intend(ledger, name, role if name in asked else role_of_companion(name), before[name], survey)
            for name in before
        }
        if not asked:
            return
        failed = services.stop(asked, STOP_TIMEOUT)
        after = services.look(list(before))
        for name in before:
            if name in asked or after[name]["active"] in DOWN:
                ledger.write("done", "unit.stop", of=intents[name]["seq"], after=after[name], why=failed.get(name, ""))
                say("stopped" if name not in failed else "not stopped", unit=name)
        if failed:
            raise Fault("; ".join(failed.values()))
        back = [name for name, state in services.look(asked).items() if state["active"] not in DOWN]
        if back:
            raise Fault(
                "%s came back as soon as it was stopped: something restarts it that is not among the watchdogs"
                % ", ".join(back)
            )


def role_of_companion(name: str) -> str:
    """A unit that a stop takes along: timers and the like come back with the watchdogs, others with the services."""
    return "watchdog" if name.endswith(WATCHING) else "service"


def take_down(run: Run, number: int, say: Say) -> Dict[str, Any]:
    """The whole of it, in order.

    The world is looked at once more before the first stop, since minutes may have passed.
    """
    spec = Ledger(run).spec
    production = spec["production"]
    watchdogs, services = production["watchdog_names"], production["service_names"]
    drained = drain(production, say)
    survey = look_again(spec)
    note_snapshot(run, number, survey)
    raise_markers(run, number, spec["markers"], say)
    along: List[str] = survey["along"]
    stop_units(run, number, "watchdog", watchdogs, along, survey, say)
    let_watchdogs_end(spec, watchdogs, services, survey)
    refuse_foreign(spec, Ledger(run).markers())
    still = [name for name in along if name not in stopped(run)]
    stop_units(run, number, "service", services, still, survey, say)
    return {"drained": drained, "stopped": stopped(run)}


def look_again(spec: Dict[str, Any]) -> Dict[str, Any]:
    """The units as they are now.

    Raises:
        Refused: something speaks against stopping them that did not when preflight looked.
    """
    refuse_foreign(spec, {})
    production = spec["production"]
    names = [*production["service_names"], *production["watchdog_names"]]
    survey = services_of(production).survey(names)
    problems = [why for unit in survey["units"].values() for why in unit["problems"]]
    if problems:
        raise Refused(*problems)
    return survey


def refuse_foreign(spec: Dict[str, Any], ours: Dict[str, Any]) -> None:
    """Stop here if somebody asks to be left alone.

    Raises:
        Refused: with the markers.
    """
    others = markers.foreign(spec["respect"], ours)
    if others:
        raise Refused(*("marker %(path)s appeared (since %(since)s) and is not ours" % entry for entry in others))


def let_watchdogs_end(
    spec: Dict[str, Any], watchdogs: Sequence[str], services: Sequence[str], survey: Dict[str, Any]
) -> None:
    """Wait for what the watchdogs had started already: a check under way would take our stop for a failure and undo it.

    Raises:
        Fault: it does not end.
    """
    names = {name for dog in watchdogs for name in survey["units"][dog].get("Triggers", "").split()} - set(services)
    end = clocks.boottime_ns() + int(WATCHDOG_PATIENCE * clocks.SECOND)
    manager = services_of(spec["production"])
    while names:
        busy = [name for name, state in manager.look(sorted(names)).items() if state["active"] not in DOWN]
        if not busy:
            return
        if clocks.boottime_ns() > end:
            raise Fault("%s, which a watchdog started, does not end in %gs" % (", ".join(busy), WATCHDOG_PATIENCE))
        clocks.pause(0.1)


def stopped(run: Run) -> List[str]:
    """The units of which a stop is on record."""
    return [r["undo"]["unit"] for r, _ in Ledger(run).changes() if r["undo"]["op"] == "unit.start"]


def note_snapshot(run: Run, number: int, survey: Dict[str, Any]) -> None:
    """Write the state of every unit concerned as it is now, before the first change: what the end is compared with."""
    with change(run, number) as ledger:
        names = sorted(survey["units"])
        states = services_of(ledger.spec["production"]).look(names)
        ledger.write(
            "note",
            "snapshot",
            units=states,
            ports={str(p): bool(ports.listening(p)) for p in ledger.spec["production"]["ports"]},
        )

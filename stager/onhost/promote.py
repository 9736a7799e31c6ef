"""Promotion on the host: switch production to a build, start it, prove that it answers; confirm, or go back.

Until ``confirm`` writes the run's own token, every leg of the guard goes back to what was recorded. From then on
every leg goes forward: so a crash at any point ends in exactly one of the two states.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Sequence

from . import answers, booted, clocks, closing, promotions, served, switch, undo
from .channel import Args, Channel
from .faults import CandidateFailed, Fault, Refused
from .ledger import Ledger, change
from .opening import wait_closed
from .processes import run as run_command
from .restore import once
from .services import Services, services_of
from .state import Run

CONFIRM_PATIENCE = 60.0  # seconds for the guard to re-arm watchdogs and clear markers
STARTED = "unit.stop"  # the undo of a start that a promotion made
ASK_EVERY = 0.5  # seconds between two questions while production must stay healthy
MOST_STARTS = 3  # a service that was started so often while it should become healthy is not coming up
LOG_LINES = 20


def promoted(channel: Channel, args: Args) -> Any:
    """What stager promoted over some paths, and whether that is what stands there now."""
    record = promotions.current(channel.state, args["paths"])
    return {"record": record, "changed": changed_since(record) if record else []}


def changed_since(record: Dict[str, Any]) -> List[str]:
    """The paths of a promotion at which something else stands now."""
    found = []
    for item in record["items"]:
        try:
            known = switch.same(switch.state_of(item["path"]), item["state"])
        except OSError:
            known = False
        found += [] if known else [item["path"]]
    return found


def stock(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """See that every item can be switched, and keep contents, while production still runs.

    Returns:
        The items, contents named by digest.

    Raises:
        Refused: with every reason.
    """
    reasons = [why for why in map(switch.problem, args["items"]) if why]
    if reasons:
        raise Refused(*("promotion: " + why for why in reasons))
    try:
        return {"items": [switch.stock(channel.state, item) for item in args["items"]]}
    except OSError as error:
        raise Refused("promotion: what is switched cannot be kept: %s" % error) from None


def switch_over(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Put the items in place and start production; production must be down by now.

    Raises:
        Refused: an item cannot be put in place. CandidateFailed: production does not come up on it.
    """
    for item in args["items"]:
        path = item["path"]
        with change(run, number) as ledger:
            try:
                stood = switch.state_of(path)
                entry = {"op": "switch.back", "role": "switch", "path": path, "before": stood, "after": item["state"]}
                intent = ledger.write("intent", "switch", entry)
                switch.put(channel.state, path, item["state"], run.run_id)
            except OSError as error:
                raise Refused("%s cannot be switched: %s" % (path, error)) from None
            ledger.write("done", "switch", of=intent["seq"])
        channel.say("switched", path=path)
    with change(run, number):
        why = switch.reload_units(args["items"])
    if why:
        raise Fault("systemd could not read its units again: %s" % why)
    start_on_it(channel, run, number)
    return {}


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
        failed: Dict[str, str] = {}
        for alone in (False, True):
            some = [pair[0]["undo"]["unit"] for pair in pairs if bool(pair[0]["undo"].get("alone")) is alone]
            failed.update(
                services.start(some, float(ledger.spec["production"]["healthy"]["within"]), alone) if some else {}
            )
        after = services.look(names)
        for intent, name in zip(intents, names):
            ledger.write("done", "promote.start", of=intent["seq"], after=after[name], why=failed.get(name, ""))
    if failed:
        raise CandidateFailed(
            "Production did not start on the promoted build: %s." % "; ".join(failed.values()),
            log=last_words(ledger, list(failed)),
        )
    channel.say("started", units=names)


def prove(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Wait until production is healthy and stays so, and see that what listens on its port is the promoted build.

    Returns:
        What was asked and answered, the downtime, the name of this start of production, and the token to confirm with.

    Raises:
        CandidateFailed: it is not, in its time; with the end of the services' own logs.
    """
    ledger = Ledger(run)
    production, names = ledger.spec["production"], ledger.started_forward()
    services = services_of(production)
    check = production["healthy"]

    def failed(message: str) -> CandidateFailed:
        return CandidateFailed(message, log=last_words(ledger, names))

    down = Down(services, names)
    ok, told = answers.wait_healthy(check, float(check["within"]), down)
    if not ok:
        why = down.why or "not within %gs" % check["within"]
        raise failed("Production did not become healthy on the promoted build (%s): %s." % (why, told["last_reason"]))
    start, asked = clocks.boottime_ns(), 0
    while clocks.boottime_ns() - start < float(args["healthy_for"]) * clocks.SECOND:
        clocks.pause(ASK_EVERY)
        why = answers.one_token(check)
        asked += 1
        if why:
            raise failed("Production became healthy on the promoted build and did not stay so: %s." % why)
        channel.say("healthy", asked=asked)
    switched = [r for r, _ in ledger.changes() if r["undo"]["op"] == "switch.back"]
    folder = args.get("folder") or folder_of(switched)
    for port in production["ports"] if folder else []:
        why = served.stranger(port, folder, switched[0]["boottime_ns"])
        if why:
            raise failed("What listens on production's port %d is not the promoted build: %s." % (port, why))
    stopped = [r for r, _ in ledger.changes() if r["undo"]["op"] == "unit.start" and r["undo"]["role"] == "service"]
    seconds = round((start - stopped[0]["boottime_ns"]) / clocks.SECOND, 3) if stopped else 0.0
    token = os.urandom(16).hex()
    with change(run, number) as locked:
        locked.write("note", "healthy", good_enough=True, downtime_seconds=seconds, **told)
        locked.write("note", "proven", token=token)
    launch = next((state["invocation"] for state in services.look(names).values() if state["invocation"]), "")
    return dict(told, downtime_seconds=seconds, stayed=asked, token=token, launch=launch, checked=bool(folder))


class Down:
    """Whether it is of no use to wait any longer: a service has ended, or is started again and again."""

    def __init__(self, services: Services, names: Sequence[str]) -> None:
        self.services = services
        self.names = names
        self.starts: Dict[str, List[str]] = {name: [] for name in names}
        self.why = ""

    def __call__(self) -> bool:
        for name, now in self.services.look(self.names).items():
            if now["active"] in ("inactive", "failed"):
                self.why = "%s ended by itself: %s" % (name, now["result"] or now["active"])
            if now["invocation"] and now["invocation"] not in self.starts[name]:
                self.starts[name].append(now["invocation"])
            if len(self.starts[name]) > MOST_STARTS:
                self.why = "%s was started %d times and ended each time" % (name, len(self.starts[name]))
        return bool(self.why)


def folder_of(switched: List[Dict[str, Any]]) -> str:
    """The folder that a link was switched to; empty where none was."""
    for record in switched:
        after = record["undo"]["after"] or {}
        if "link" in after:
            return str(os.path.join(os.path.dirname(record["undo"]["path"]), after["link"]))
    return ""


def last_words(ledger: Ledger, names: Sequence[str]) -> str:
    """The end of what services said since this run began; empty where nobody keeps it."""
    if ledger.spec["production"]["manager"] not in ("systemd", "systemd-user") or not booted.is_pid_one():
        return ""
    user = ["--user"] if ledger.spec["production"]["manager"] == "systemd-user" else []
    units = [word for name in names for word in (*(["--user-unit"] if user else ["--unit"]), name)]
    since = str(ledger.opened["wall"])[:19].replace("T", " ") + " UTC"
    argv = ["journalctl", "--no-pager", "--quiet", "-o", "cat", "-n", str(LOG_LINES), "--since", since, *user, *units]
    ran = run_command(argv, timeout=10)
    return str(ran.out) if ran.ok and names else ""


def confirm(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Write the run's own token beside the proof it was given for; from here on there is no way back but a rollback.

    Raises:
        Refused: the token is not this run's, or the record for a rollback cannot be kept.
    """
    with change(run, number) as ledger:
        proven = ledger.journal.last("note", "proven")
        if proven is None or args["token"] != proven["token"]:
            raise Refused("the confirmation is not run %s's own; the guard goes back" % run.run_id)
        undone = [r["undo"] for r, _ in ledger.changes() if r["undo"]["op"] == "switch.back"]
        record = {key: args[key] for key in ("name", "build_id", "tree", "previous")}
        record["items"] = [{"path": entry["path"], "state": entry["after"]} for entry in undone]
        record["before"] = [{"path": entry["path"], "state": entry["before"]} for entry in undone]
        try:
            promotions.prepare(run, record)
        except OSError as error:
            raise Refused("what a rollback needs cannot be kept: %s" % error) from None
        ledger.write("note", "confirmed", token=args["token"], paths=[entry["path"] for entry in undone])
    run.wake("restore confirmed")
    verdict = closing.wait(run, CONFIRM_PATIENCE) or once(run, "confirmed", "controller")
    wait_closed(run)
    return verdict

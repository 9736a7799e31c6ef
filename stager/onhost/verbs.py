"""What a controller may ask of this host: one function per verb.

Verbs that look take no fence. Verbs that change carry the fence they were granted by ``open`` or ``attach``.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pwd
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Protocol

from . import (
    cgroups,
    clocks,
    closing,
    facts,
    fence,
    launch,
    lease,
    legs,
    locks,
    markers,
    ports,
    processes,
    ready,
    restore,
    takedown,
    undo,
)
from .faults import Fault, Fenced, Held, Refused
from .files import read_json, remove_tree
from .journal import REMOTE, Journal, file_system_type
from .ledger import Ledger, change
from .services import services_of
from .state import Index, Run, find_run, runs
from .tree import Tree, prune

Args = Dict[str, Any]
GUARD_PATIENCE = 15.0  # seconds for the guard to say that it holds the host


class Channel(Protocol):
    """What a verb needs of the channel it was asked over."""

    state: str
    program: str

    def say(self, event: str, **fields: Any) -> None:
        """Send an event."""

    def take(self, run: Run, number: int) -> None:
        """Speak for a run from now on."""


def carry_out(channel: Channel, verb: str, args: Args, number: Optional[int]) -> Any:
    """Carry out one verb.

    Raises:
        Fault: what the controller is to hear.
    """
    if verb in LOOKING:
        return LOOKING[verb](channel, args)
    if verb in CHANGING:
        run = named(channel.state, args["run_id"])
        if number is None:
            raise Fenced("%s changes the host and needs a fence" % verb)
        fence.check(run, number)
        return CHANGING[verb](channel, run, number, args)
    raise Fault("this host program does not know the verb %s" % verb)


def named(state: str, run_id: str) -> Run:
    """A run by its id, or an unambiguous beginning of it.

    Raises:
        Fault: there is none, or several.
    """
    full = find_run(state, run_id)
    if full is None:
        raise Fault(
            "no run on this host is called %s (runs: %s)" % (run_id, ", ".join(runs(state)[-5:]) or "none"),
            next="stager status",
        )
    return Run(state, full)


# -- looking ------------------------------------------------------------------------------------------------------


def look(channel: Channel, args: Args) -> Any:
    """All facts for a spec."""
    return facts.look(channel.state, args["spec"], args.get("run_id", ""))


def status(channel: Channel, args: Args) -> Any:
    """Every run that is open (of any user), and the newest of ours that are over, each with its state."""
    open_now = Index().entries()
    ours = [describe(Run(channel.state, run_id)) for run_id in runs(channel.state)[-int(args.get("last", 5)) :]]
    known = {entry["run_id"] for entry in ours}
    others = [
        dict(entry, state="open, of another user", guard_legs=[]) for entry in open_now if entry["run_id"] not in known
    ]
    return {"boot_id": clocks.boot_id(), "runs": [*others, *ours]}


def describe(run: Run) -> Dict[str, Any]:
    """One run as its journal, lease and legs tell it."""
    if not run.exists():
        return {"run_id": run.run_id, "state": "never begun", "guard_legs": [], "holder": {}}
    ledger = Ledger(run)
    last = ledger.journal.last("verdict")
    is_open = ledger.verdict() is None and (bool(ledger.open()) or legs.guard_lives(run))
    launched = ledger.launched()
    state = ledger.verdict()["step"] if ledger.verdict() else "released"  # type: ignore[index]
    if is_open:
        state = (
            "held: foreign marker"
            if last and last["step"] == "held"
            else "staged"
            if launched and launched[1]
            else "staging"
        )
    spec = ledger.spec
    return {
        "run_id": run.run_id,
        "build_id": (ledger.journal.last("note", "build") or {}).get("build_id", ""),
        "name": spec.get("name", ""),
        "state": state,
        "lease_seconds_left": round(lease.seconds_left(run), 1) if is_open else 0,
        "guard_legs": legs.standing(run) if is_open else [],
        "holder": ledger.opened.get("owner", {}),
        "verdict": last,
        "markers": marker_rows(ledger) if is_open else [],
        "units": closing.compare(services_of(spec["production"]), ledger.snapshot(), ledger.undone())["units"]
        if is_open
        else [],
    }


def marker_rows(ledger: Ledger) -> List[Dict[str, Any]]:
    """The markers on the host now: ours and not ours."""
    ours = ledger.markers()
    paths = markers.matching([*ledger.spec["respect"], *ours])
    rows = []
    for path in paths:
        why = markers.difference(path, ours[path]) if path in ours else "was not made by this run"
        rows.append({"path": path, "ours": not why, "why": why or "made by run %s" % ledger.run.run_id})
    return rows


def logs(channel: Channel, args: Args) -> Any:
    """A piece of the candidate's output from an offset on."""
    run = named(channel.state, args["run_id"])
    try:
        with open(run.output_path, "rb") as file:
            file.seek(int(args.get("offset", 0)))
            data = file.read(1 << 20)
    except FileNotFoundError:
        data = b""
    return {
        "data": data.decode("utf-8", "replace"),
        "offset": int(args.get("offset", 0)) + len(data),
        "over": Ledger(run).verdict() is not None,
    }


def collect(channel: Channel, args: Args) -> Any:
    """What the controller keeps of a run.

    The journal as it is, the end of the output, the tree's digests as they are now.
    """
    run = named(channel.state, args["run_id"])
    with open(run.journal_path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    ledger = Ledger(run)
    placed = ledger.journal.last("note", "build") or {}
    tree = Tree(channel.state, placed["tree"]) if placed.get("tree") else None
    return {
        "journal": text,
        "chain_is_whole": ledger.journal.chain_is_whole()[0],
        "output": run.output_tail(int(args.get("output_bytes", 65536))),
        "manifest": tree.manifest() if tree and tree.whole() else [],
    }


def journal(channel: Channel, args: Args) -> Any:
    """The records of a run."""
    return {"records": Ledger(named(channel.state, args["run_id"])).journal.all}


def read(channel: Channel, args: Args) -> Any:
    """A range of a file, or the names in a folder; for reading sources and model headers without copying them."""
    path = os.path.expanduser(args["path"])
    try:
        if os.path.isdir(path):
            return {"folder": [[name, os.path.isdir(os.path.join(path, name))] for name in sorted(os.listdir(path))]}
        with open(path, "rb") as file:
            file.seek(int(args.get("offset", 0)))
            data = file.read(min(int(args.get("size", 1 << 20)), 8 << 20))
            return {"data": base64.b64encode(data).decode(), "size": os.fstat(file.fileno()).st_size}
    except OSError as error:
        raise Fault("%s: %s" % (path, error.strerror)) from None


def beat_source(channel: Channel, args: Args) -> Any:
    """Start a calibration source on loopback: a child of ours that ends by itself after so many seconds."""
    argv = [sys.executable, "-I", channel.program, "metronome", "0"]
    argv += [str(float(args["step_ms"])), str(int(args["streams"])), args["mode"], str(float(args["seconds"]))]
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=processes.environment())
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise Fault("the calibration source could not be started")
    return json.loads(line)


# -- opening and taking over --------------------------------------------------------------------------------------


def open_run(channel: Channel, args: Args) -> Any:
    """Make a run: its folder, its journal with space reserved, its guard, which takes the host. Returns the fence.

    Raises:
        Held: another run has it. Refused: no journal can be kept here, or no guard.
    """
    for entry in Index().entries():  # a run that came to its verdict and died before it was struck off
        if (
            entry.get("state") == channel.state
            and find_run(channel.state, entry["run_id"])
            and Ledger(Run(channel.state, entry["run_id"])).verdict()
        ):
            closing.close(Run(channel.state, entry["run_id"]))
    owner = locks.busy_with()
    if owner is not None:
        raise locks.held(owner)
    run, spec = Run(channel.state, args["run_id"]), with_port(args["spec"])
    try:
        run.make()
        kind = file_system_type(run.folder)
        if kind in REMOTE:
            raise Refused(
                "the state folder %s is on %s: neither its locks nor its syncs can be relied upon"
                % (channel.state, kind)
            )
        Journal.create(
            run.journal_path, spec=spec, owner=args["owner"], program=os.path.basename(channel.program), fence=0
        )
        lease.start(run, spec["guard"]["lease"], spec["guard"]["deadline"])
    except OSError as error:
        forget(run)
        raise Refused(
            "no journal can be kept in %s: %s. Nothing is changed without one."
            % (channel.state, error.strerror or error)
        ) from None
    except Refused:
        forget(run)
        raise
    why = legs.start_guard(run, channel.program)
    document = (
        wait_for_guard(run)
        if not why
        else {"error": {"kind": "refused", "message": "the guard could not be started: " + why}}
    )
    if "error" in document:
        forget(run)
        told = document["error"]
        if told["kind"] == "held":
            raise Held(told["message"], owner=told.get("owner"))
        raise Refused(told["message"])
    channel.take(run, int(str(document["fence"])))
    return {"run_id": run.run_id, "fence": document["fence"], "restore_in": lease.seconds_left(run), "spec": spec}


def with_port(spec: Args) -> Args:
    """Choose the candidate's port where the playbook leaves it to us, and fill it in wherever it is mentioned."""
    candidate = spec.get("candidate")
    if not candidate or candidate["port"]:
        return spec
    port = ports.free_port()
    while port in spec["production"]["ports"]:
        port = ports.free_port()
    filled = json.loads(json.dumps(candidate).replace("{port}", str(port)))
    return dict(spec, candidate=dict(filled, port=port))


def wait_for_guard(run: Run) -> Dict[str, Any]:
    """What the guard says once it holds the host, or why it does not."""
    end = clocks.boottime_ns() + int(GUARD_PATIENCE * clocks.SECOND)
    while clocks.boottime_ns() < end:
        document = read_json(run.at("guard.json"))
        if document:
            return document
        clocks.pause(0.01)
    return {
        "error": {
            "kind": "refused",
            "message": "the guard did not start in %gs: %s" % (GUARD_PATIENCE, tail(run.at("guard.log"))),
        }
    }


def tail(path: str) -> str:
    """The end of a log of ours."""
    try:
        with open(path, errors="replace") as file:
            return file.read()[-800:]
    except OSError:
        return "no output"


def forget(run: Run) -> None:
    """Remove the folder of a run that never began."""
    with contextlib.suppress(OSError):  # a folder that cannot be removed could not be written either
        remove_tree(run.folder)


def attach(channel: Channel, args: Args) -> Any:
    """Take a run over: whoever held its fence before can change nothing any more.

    ``over`` is the verdict of a run that ended.
    """
    run = named(channel.state, args["run_id"])
    ledger = Ledger(run)
    number = fence.grant(run)
    channel.take(run, number)
    launched = ledger.launched()
    born = (launched[1] or {}).get("born") if launched else None
    return {
        "run_id": run.run_id,
        "fence": number,
        "spec": ledger.spec,
        "owner": ledger.opened["owner"],
        "build": ledger.journal.last("note", "build") or {},
        "launched": born is not None,
        "launch": launch.name_of(born) if born else "",
        "over": ledger.verdict(),
        "restore_in": lease.seconds_left(run),
    }


# -- changing -----------------------------------------------------------------------------------------------------


def lay(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Begin to lay a release, or add files to it."""
    tree = Tree(channel.state, args["tree"])
    if args.get("begin"):
        with change(run, number) as ledger:
            intent = ledger.write("intent", "tree.lay", {"op": "tree.discard", "role": "tree", "key": args["tree"]})
            tree.begin()
            ledger.write("done", "tree.lay", of=intent["seq"])
    for entry in args.get("files", ()):
        tree.put(
            entry["path"],
            entry.get("data", ""),
            int(entry.get("mode", 0o644)),
            entry.get("link"),
            bool(entry.get("more")),
        )
    return {}


def prepare(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Make a laid release whole (check, prepare commands, read-only) and digest what will run.

    Returns what names the build.
    """
    spec = Ledger(run).spec["candidate"]
    tree = Tree(channel.state, spec["tree"]) if spec["tree"] else None
    if tree and not tree.whole():
        tree.check(args["manifest"])
        home = run.at("prepare-home")
        tree.prepare(
            spec.get("prepare", ()), run.at("prepare.log"), home, launch_uid(spec), float(args.get("timeout", 1800))
        )
        tree.finish()
        remove_tree(home)
    if tree:
        prune(channel.state, spec["tree"])
    return {
        "manifest": tree.manifest() if tree else [],
        "distributions": tree.distributions() if tree else [],
        "models": [facts.model(channel.state, path) for path in spec.get("models", ())],
    }


def launch_uid(spec: Args) -> int:
    """Whom ``prepare`` runs as when we are root: the candidate's user, or nobody where that is a dynamic one."""
    return pwd.getpwnam(spec["user"]).pw_uid if spec.get("user") else 65534


def arm_and_take_down(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Note the build, arm all three legs and read them back, then take production down.

    Raises:
        Refused: a leg that must hold does not.
    """
    with change(run, number) as ledger:
        ledger.write("note", "build", **args["build"])
        armed = legs.arm(run, channel.program)
        ledger.write("note", "armed", legs=armed)
    missing = [
        "leg %s cannot be armed: %s" % (leg["leg"], leg["why"])
        for leg in armed
        if not leg["armed"] and leg["leg"] not in args["may_miss"]
    ]
    if missing:
        raise Refused(*missing)
    channel.say("armed", legs=armed)
    return dict(takedown.take_down(run, number, args["survey"], channel.say), legs=armed)


def start_candidate(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Launch the candidate and wait until it is ready."""
    with change(run, number) as ledger:
        born = launch.start(ledger, channel.program, args["tree"], args.get("secrets") or {})
    run.wake("look")
    channel.say("launched", **born)
    candidate = restore.candidate_of(Ledger(run))
    if candidate is None:
        raise Fenced("The run was ended while the candidate started.")
    told = ready.wait(Ledger(run), candidate, channel.say)
    with change(run, number) as ledger:
        ledger.write("note", "ready", **told)
    return dict(told, born=born)


def hold(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Keep the run for so long from now, whether or not anybody is connected.

    Raises:
        Refused: longer than its deadline or the candidate's runtime.
    """
    record = lease.read(run) or {}
    seconds = float(args["seconds"])
    room = (int(record.get("cap", 0)) - clocks.boottime_ns()) / clocks.SECOND
    if seconds > room:
        raise Refused("a hold of %gs is longer than what is left until the run's deadline (%.0fs)" % (seconds, room))
    with change(run, number) as ledger:
        lease.hold(run, seconds)
        ledger.write("note", "hold", seconds=seconds, who=args.get("who", ""))
    run.wake("look")
    return {"restore_in": lease.seconds_left(run)}


def restore_now(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Ask for the restore and follow it to its verdict. The guard does it; where it is gone, a process of its own."""
    reason = args.get("reason") or "cleanup"
    ledger = Ledger(run)
    seen = len(ledger.journal.all)
    again = ledger.verdict()
    if again or not run.wake("restore " + reason):
        argv = [*legs.own_argv(channel.program, "restore", run), reason]
        if launch.by_unit():
            processes.run(
                ["systemd-run", "--quiet", "--collect", "--unit=stager-cleanup-%d" % clocks.boottime_ns(), "--", *argv]
            )
        else:
            legs.spawn(argv, run.at("restore.log"))
    end = clocks.boottime_ns() + int(float(args.get("timeout", 1800)) * clocks.SECOND)
    while clocks.boottime_ns() < end:
        for record in ledger.refresh().journal.all[seen:]:
            seen += 1
            channel.say(
                "journal",
                kind=record["kind"],
                step=record["step"],
                what=record.get("what") or record.get("unit") or record.get("path") or "",
            )
            if record["kind"] == "verdict":
                wait_closed(run)
                return record
        if again and again["code"] != 9:
            return again
        clocks.pause(0.02)
    raise Fault("the restore has not come to its end yet; it goes on without us", next="stager status")


def wait_closed(run: Run) -> None:
    """Give the restoring process a moment to strike the run off, so that whoever comes next finds the host free."""
    unit_group = "/system.slice/" + legs.guard_unit(run)
    for _ in range(500):
        open_still = any(entry["run_id"] == run.run_id for entry in Index().entries())
        if not open_still and not legs.guard_lives(run) and not cgroups.exists(unit_group):
            return
        clocks.pause(0.01)


def release(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Give the host back when nothing was changed: the guard ends, and all that the run laid down is removed."""
    ledger = Ledger(run)
    if any(pair[0]["undo"]["op"] != "tree.discard" for pair in ledger.open()):
        raise Fault("run %s has changed the host: it is restored, not released" % run.run_id)
    with change(run, number) as ledger:
        for pair in ledger.open():
            undo.discard_tree(ledger, pair)
        ledger.write("note", "released", why=args.get("why", ""))
    run.wake("release")
    wait_closed(run)
    forget(run)
    return {}


LOOKING: Dict[str, Callable[[Channel, Args], Any]] = {
    "look": look,
    "status": status,
    "logs": logs,
    "collect": collect,
    "journal": journal,
    "read": read,
    "metronome": beat_source,
    "open": open_run,
    "attach": attach,
}
CHANGING: Dict[str, Callable[[Channel, Run, int, Args], Any]] = {
    "lay": lay,
    "prepare": prepare,
    "take_down": arm_and_take_down,
    "launch": start_candidate,
    "hold": hold,
    "restore": restore_now,
    "release": release,
}

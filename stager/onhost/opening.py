"""Making a run, taking one over, giving the host back."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any, Dict

from . import booted, cgroups, clocks, closing, failpoints, fence, launch, lease, legs, locks, ports, restore, undo
from .channel import Args, Channel, named
from .faults import Fault, Fenced, Held, Refused
from .files import read_json, remove_tree
from .journal import REMOTE, Journal, file_system_type
from .ledger import Ledger, change
from .state import Index, Run, find_run

GUARD_PATIENCE = 15.0  # seconds for the guard to say that it holds the host


def open_run(channel: Channel, args: Args) -> Any:
    """Make a run: its folder, its journal with space reserved, its guard, which takes the host. Returns the fence.

    Raises:
        Held: another run has it. Refused: no journal can be kept here, or no guard.
    """
    for entry in Index().entries():
        if entry.get("state") == channel.state and find_run(channel.state, entry["run_id"]):
            strike_off(Run(channel.state, entry["run_id"]))
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
        journal = Journal.create(
            run.journal_path,
            spec=spec,
            owner=args["owner"],
            program=os.path.basename(channel.program),
            userspace=booted.userspace(),
            fence=0,
        )
        failpoints.boundary(channel.state, journal.all[0])
        os.close(locks.open_lock(run.at("change.lock")))  # made now: a restore must not need to make a file
        lease.start(run, spec["guard"]["lease"], spec["guard"]["deadline"])
    except FileExistsError:  # somebody else's run: its folder is not ours to forget
        raise Refused("there is a run called %s on this host already" % run.run_id) from None
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


def strike_off(run: Run) -> None:
    """Close a run that is over and died before it was struck off, or that died before it had changed anything."""
    if not run.exists():
        if not legs.guard_lives(run) and not Journal(run.journal_path).refresh().all:
            closing.close(run)  # the power went before its first record was synced: nothing was begun
        return
    ledger = Ledger(run)
    untouched = all(change["undo"]["op"] == "tree.discard" for change, _ in ledger.open())
    if ledger.verdict():
        closing.close(run)
    elif untouched and not legs.guard_lives(run) and not lease.seconds_left(run):
        restore.once(run, "it had died before it changed anything", "controller")


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
    Index().remove(run.run_id)
    with contextlib.suppress(OSError):  # a folder that cannot be removed could not be written either
        remove_tree(run.folder)


def attach(channel: Channel, args: Args) -> Any:
    """Take a run over: whoever held its fence before can change nothing any more.

    With ``beside`` nobody is fenced off: we speak for the run together with whoever holds it. The same where the state
    folder has become read-only: a restore can still be asked for.

    ``over`` is the verdict of a run that ended.

    Raises:
        Fenced: ``beside`` a restore.
    """
    run = named(channel.state, args["run_id"])
    ledger = Ledger(run)
    number = fence.read(run.fence_path)
    if not args.get("beside"):
        with contextlib.suppress(OSError):
            number = fence.grant(run)
    restore = ledger.journal.last("note", "restore")
    if args.get("beside") and restore and restore["fence"] == number and not ledger.verdict():
        words = "Run %s is being restored: %s. It cannot be held any longer."
        raise Fenced(words % (run.run_id, restore["reason"]), next="stager show %s" % run.run_id)
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


def wait_closed(run: Run) -> None:
    """Give the restoring process a moment to strike the run off, so that whoever comes next finds the host free."""
    unit_group = "/system.slice/" + legs.guard_unit(run)
    for _ in range(500):
        open_still = any(entry["run_id"] == run.run_id for entry in Index().entries())
        if not open_still and not legs.guard_lives(run) and not cgroups.exists(unit_group):
            return
        clocks.pause(0.01)

"""Verbs that change the host; each carries the fence it was granted."""

from __future__ import annotations

import pwd
from typing import Any

from . import (
    clocks,
    closing,
    facts,
    fence,
    launch,
    legs,
    preparing,
    processes,
    promotions,
    ready,
    takedown,
)
from .candidate import launched
from .channel import Args, Channel
from .faults import Fault, Fenced, Refused
from .files import remove_tree
from .ledger import Ledger, change
from .opening import wait_closed
from .spawning import own_argv, spawn
from .state import Run
from .steps import holding_down
from .tree import Tree, prune

STILL_S = 10.0  # seconds after which a guard that was asked for the restore and has not begun it stands still


def lay(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Begin to lay a release, or add files to it."""
    tree = Tree(channel.state, args["tree"])
    if args.get("begin"):
        with change(run, number) as ledger:
            intent = ledger.write("intent", "tree.lay", {"op": "tree.discard", "role": "tree", "key": args["tree"]})
            tree.begin()
            ledger.write("done", "tree.lay", of=intent["seq"])
    for entry in args.get("files", ()):
        fence.check(run, number)
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

    def go_on() -> None:
        channel.pulse()
        fence.check(run, number)

    if tree and not tree.whole():
        tree.check(args["manifest"])
        home = run.at("prepare-home")
        preparing.prepare(
            tree.folder,
            spec.get("prepare", ()),
            run.at("prepare.log"),
            home,
            launch_uid(spec),
            run.run_id,
            go_on,
            float(args.get("timeout", 1800)),
        )
        with change(run, number):
            tree.finish()
        remove_tree(home)
    if tree:
        prune(channel.state, [spec["tree"], *promotions.trees(channel.state)])
    return {
        "manifest": tree.manifest() if tree else [],
        "distributions": preparing.distributions(tree.folder) if tree else [],
        "models": [facts.model(channel.state, path) for path in spec.get("models", ())],
    }


def launch_uid(spec: Args) -> int:
    """Whom ``prepare`` runs as when we are root: the candidate's user, or nobody where that is a dynamic one."""
    return pwd.getpwnam(spec["user"]).pw_uid if spec.get("user") else preparing.NOBODY


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
    return dict(takedown.take_down(run, number, channel.say), legs=armed)


def start_candidate(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Launch the candidate and wait until it is ready."""
    with change(run, number) as ledger:
        born = launch.start(ledger, channel.program, args["tree"], args.get("secrets") or {})
    run.wake("look")
    channel.say("launched", **born)
    candidate = launched(Ledger(run))
    if candidate is None:
        raise Fenced("The run was ended while the candidate started.")
    told = ready.wait(Ledger(run), candidate, channel.say)
    with change(run, number) as ledger:
        ledger.write("note", "ready", **told)
    return dict(told, born=born)


def restoring(run: Run, ledger: Ledger) -> int:
    """The record with which a restore took the run over from its controller; 0 where none did.

    Whoever lost his run to the restore may still follow it; whoever lost it to another controller may not.
    """
    for record in reversed(ledger.journal.all):
        if record["step"] == "restore":
            return int(record["seq"]) if record["fence"] == fence.read(run.fence_path) else 0
    return 0


def restore_now(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Ask for the restore and follow it to its verdict. The guard does it; where it is gone, a process of its own."""
    reason = args.get("reason") or "cleanup"
    ledger = Ledger(run)
    begun = restoring(run, ledger)
    if not begun:
        fence.check(run, number)
    seen = begun or len(ledger.journal.all)
    again = None if begun else ledger.verdict()
    if again and again["code"] != 9:  # over, and well: only "NOT restored" is worth another try
        closing.close(run)
        return again
    known = ledger.journal.last("verdict")
    if known and known["step"] == "held" and holding_down(ledger):
        return known  # whoever holds production down for the foreign marker goes on waiting
    guarded = begun or (not again and run.wake("restore " + reason))
    if not guarded:
        restore_apart(channel, run, reason)
    asked = clocks.boottime_ns()
    end = asked + int(float(args.get("timeout", 1800)) * clocks.SECOND)
    while clocks.boottime_ns() < end:
        if guarded and not begun and clocks.boottime_ns() > asked + STILL_S * clocks.SECOND:
            guarded = False
            # Not by the fence: on a read-only disk a restore under way could not take it.
            if ledger.refresh().journal.last("note", "restore") is None:
                channel.say("waiting", why="the guard stands still: it is ended, and the restore goes on without it")
                legs.end_guard(run)
                restore_apart(channel, run, reason)
        for record in ledger.refresh().journal.all[seen:]:
            seen += 1
            channel.say(
                "journal",
                kind=record["kind"],
                step=record["step"],
                what=record.get("what") or record.get("unit") or record.get("path") or "",
                result=record.get("result", ""),
                why=record.get("why", ""),
            )
            if record["kind"] == "verdict":
                if record["step"] != "held":
                    wait_closed(run)
                return record
        clocks.pause(0.02)
    raise Fault("the restore has not come to its end yet; it goes on without us", next="stager status")


def restore_apart(channel: Channel, run: Run, reason: str) -> None:
    """Restore in a process of its own, which outlives the channel."""
    argv = [*own_argv(channel.program, "restore", run), reason]
    if launch.by_unit():
        unit = "stager-cleanup-%d" % clocks.boottime_ns()
        processes.run(["systemd-run", "--quiet", "--collect", "--unit=" + unit, "--", *argv])
    else:
        spawn(argv, run.at("restore.log"))

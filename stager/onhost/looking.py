"""Verbs that look and change nothing; they carry no fence."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import Any, Dict, List

from . import clocks, closing, facts, lease, legs, markers, processes
from .channel import Args, Channel, named
from .faults import Fault
from .journal import read_late
from .ledger import Ledger
from .services import services_of
from .state import Index, Run, runs
from .tree import Tree

SOURCES: List["subprocess.Popen[bytes]"] = []  # each ends when our end of its pipe closes: with this process


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
    listed = any(entry["run_id"] == run.run_id for entry in Index().entries())
    is_open = ledger.verdict() is None and (listed or legs.guard_lives(run))
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
    text += read_late(run.late_path).decode("utf-8", "replace")
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
    """Start a calibration source on loopback: a child of ours that ends after so many seconds, or with this channel."""
    argv = [sys.executable, "-I", channel.program, "metronome", "0"]
    argv += [str(float(args["step_ms"])), str(int(args["streams"])), args["mode"], str(float(args["seconds"]))]
    # Its standard input is a pipe that only we hold: it ends with us, if not before.
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=processes.environment())
    SOURCES.append(child)
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise Fault("the calibration source could not be started")
    return json.loads(line)

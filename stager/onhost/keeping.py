"""Copies of evidence, kept with the run they came from, so that another controller can fetch them."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from typing import Any, Dict, List

from .channel import Args, Channel, named
from .faults import Fault
from .files import write_atomically
from .state import Run, runs

#: What a name may be; it is the controller's, and it must not lead out of the folder.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}\Z")

FOLDER = "evidence"


def keep(channel: Channel, run: Run, number: int, args: Args) -> Any:
    """Keep files once; a copy that is there already is never written over.

    A full disk costs the copy, not the run: then ``kept`` is false and ``why`` says it.
    """
    folder = run.at(FOLDER)
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        for name, told in sorted(args["files"].items()):
            data = base64.b64decode(told["data"])
            if not NAME.match(name) or hashlib.sha256(data).hexdigest() != told["sha256"]:
                raise Fault("the copy %s did not arrive as it was sent" % name)
            path = os.path.join(folder, name)
            if not os.path.lexists(path):
                write_atomically(path, data, 0o400)
    except OSError as error:
        return {"kept": False, "why": "%s: %s" % (folder, error.strerror)}
    return {"kept": True, "why": ""}


def kept(channel: Channel, args: Args) -> Any:
    """Without a run: the names of all copies, by run. With one: its copies themselves."""
    if not args.get("run_id"):
        found = {run_id: names(Run(channel.state, run_id)) for run_id in runs(channel.state)}
        return {"runs": {run_id: listed for run_id, listed in found.items() if listed}}
    run = named(channel.state, args["run_id"])
    files: Dict[str, str] = {}
    for name in names(run):
        with open(os.path.join(run.at(FOLDER), name), "rb") as file:
            files[name] = base64.b64encode(file.read()).decode()
    return {"run_id": run.run_id, "files": files}


def names(run: Run) -> List[str]:
    """The names of a run's copies."""
    try:
        return sorted(name for name in os.listdir(run.at(FOLDER)) if NAME.match(name))
    except OSError:
        return []

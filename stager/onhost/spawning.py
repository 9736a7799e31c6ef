"""Our own processes that restore: argv, said so that systemd keeps every word, and their start without systemd."""

from __future__ import annotations

import os
import sys
from typing import List

from . import processes
from .state import Run


def own_argv(program: str, verb: str, run: Run) -> List[str]:
    """The argv of one of our own processes for a run."""
    return [sys.executable, "-I", program, verb, run.state, run.run_id]


def quoted(argv: List[str], in_file: bool) -> str:
    """A command line that systemd reads as exactly these words.

    A dollar sign is doubled against its variables. A percent sign is doubled only ``in_file``: a property given to
    systemd-run is not read for specifiers.
    """
    words = [word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") for word in argv]
    return specifiers(" ".join('"%s"' % word for word in words)) if in_file else " ".join('"%s"' % w for w in words)


def specifiers(text: str) -> str:
    """A value of a unit file without specifiers."""
    return text.replace("%", "%%")


def unsayable(argv: List[str]) -> str:
    """Why systemd cannot be given this argv.

    Up to 257 it rewrites dollar signs of a transient unit when it reloads; a control character ends a unit file's line.
    """
    words = [word for word in argv if "$" in word or not word.isprintable()]
    return "%r holds a dollar sign or a control character, which systemd does not keep" % words[0] if words else ""


def spawn(argv: List[str], log: str) -> int:
    """Start a process of ours that no login, session or channel takes down with it. Returns its pid."""
    told, tell = os.pipe()
    if os.fork() == 0:
        os.setsid()
        child = os.fork()
        if child:
            os.write(tell, b"%d" % child)
            os._exit(0)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (out, 2)):
            os.dup2(source, target)
        os.closerange(3, 256)
        os.execve(argv[0], argv, processes.environment())
    os.close(tell)
    with os.fdopen(told, "rb") as answer:
        return int(answer.read() or b"0")

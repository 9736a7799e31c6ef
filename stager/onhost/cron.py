"""The boot leg where there is no systemd: one ``@reboot`` line in our own crontab, present only while a run is open.

A crontab is somebody's work: it is read once, as bytes, and written back only after a read that succeeded.
"""

from __future__ import annotations

import os
import shlex
from typing import List, Optional, Tuple

from . import processes


def tag(run_id: str) -> str:
    """How our line ends."""
    return "# stager %s" % run_id


def daemon_runs() -> bool:
    """Whether a cron daemon runs (by the kernel's short names of processes)."""
    for pid in processes.pids():
        try:
            with open("/proc/%d/comm" % pid) as file:
                if file.read().strip() in ("cron", "crond", "fcron", "busybox-cron"):
                    return True
        except OSError:
            continue
    return False


def missing() -> str:
    """Why there is no cron for our line; empty where there is one."""
    if not daemon_runs():
        return "there is neither systemd for root nor a cron daemon"
    return "" if processes.found("crontab") else "there is neither systemd for root nor cron's program crontab"


def says_none(words: str) -> bool:
    """Whether ``crontab -l`` failed because there is none yet.

    Vixie's cron (Debian's) and cronie write "no crontab for NAME" (their crontab.c); BusyBox 1.35 was seen to write
    "crontab: can't open 'NAME': No such file or directory". Any other failure means that it could not be read.
    """
    said = words.lower()
    return "no crontab" in said or ("can't open" in said and "no such file" in said)


def read() -> Tuple[Optional[List[bytes]], str]:
    """Our crontab's lines as they stand, or None and why it could not be read (which never means that it is empty)."""
    ran = processes.run(["crontab", "-l"])
    if ran.ok:
        lines = ran.raw.split(b"\n")  # nothing but a newline ends a line here
        return lines if lines[-1] else lines[:-1], ""
    return ([], "") if says_none(ran.err) else (None, ran.words())


def install(lines: List[bytes]) -> str:
    """Make these the crontab, or remove it where they are none; returns why that failed."""
    text = b"".join(line + b"\n" for line in lines)
    ran = processes.run(["crontab", "-"], stdin=text) if lines else processes.run(["crontab", "-r"])
    return "" if ran.ok else "crontab: %s" % ran.words()


def ours(line: bytes, run_id: str) -> bool:
    """Whether a line is the run's."""
    return line.endswith(os.fsencode(tag(run_id)))


def has(run_id: str) -> bool:
    """Whether the run's line is there."""
    return any(ours(line, run_id) for line in read()[0] or ())


def entry(run_id: str, argv: List[str]) -> bytes:
    """The run's line; cron takes a bare percent sign for the end of the command."""
    words = " ".join(shlex.quote(word) for word in argv).replace("%", "\\%")
    return os.fsencode("@reboot %s %s" % (words, tag(run_id)))


def add(run_id: str, argv: List[str]) -> str:
    """Add the run's line; returns why it could not be added."""
    why = missing()
    if why:
        return why
    lines, why = read()
    if lines is None:
        return "the crontab cannot be read, so it is left alone: %s" % why
    line = entry(run_id, argv)
    if b"\n" in line:
        return "a path with a line break cannot stand in a crontab"
    wanted = [*(other for other in lines if not ours(other, run_id)), line]
    why = install(wanted)
    return why or ("" if has(run_id) else "crontab: the line is not there after it was added")


def remove(run_id: str) -> None:
    """Take the run's line out again; every other line stays as it is."""
    lines, _ = read()
    if lines is None or not any(ours(line, run_id) for line in lines):
        return
    install([line for line in lines if not ours(line, run_id)])

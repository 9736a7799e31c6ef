"""Leg B, the hard cap: a timer on a fixed base, its elapse read back; a second process where there is no systemd."""

from __future__ import annotations

from . import clocks, lease, processes
from .launch import by_unit
from .spawning import own_argv, spawn
from .state import Run
from .systemd import Systemd

TOLERANCE = 2.0  # seconds between the cap we want and the elapse that systemd tells


def cap_unit(run: Run) -> str:
    """The cap's timer and service, without the ending."""
    return "stager-cap-%s" % run.run_id


def timer_base_ns(systemd: Systemd) -> int:
    """Where ``OnBootSec=`` counts from, on CLOCK_MONOTONIC.

    0 on metal, the manager's own start in a container (systemd's timer.c).
    """
    if processes.run(["systemd-detect-virt", "--container", "--quiet"]).code == 0:
        ran = systemd.ctl("show", "-p", "UserspaceTimestampMonotonic", "--value")
        return int(ran.out.strip() or 0) * 1000
    return 0


def start_cap(run: Run, program: str) -> str:
    """Arm the cap; returns why it could not be armed."""
    record = lease.read(run) or {}
    left = (record.get("cap", 0) - clocks.boottime_ns()) / clocks.SECOND
    if not by_unit():
        spawn(own_argv(program, "cap", run), run.at("cap.log"))
        return ""
    systemd = Systemd()
    due_ns = clocks.monotonic_ns() + int(left * clocks.SECOND)
    argv = ["systemd-run", "--quiet", "--no-ask-password", "--collect", "--unit=" + cap_unit(run)]
    argv += [
        "--on-boot=%.3f" % ((due_ns - timer_base_ns(systemd)) / clocks.SECOND),
        "--timer-property=AccuracySec=100ms",
    ]
    argv += ["--property=Type=exec", "--property=OOMScoreAdjust=-900", "--", *own_argv(program, "cap", run)]
    ran = processes.run(argv, timeout=30)
    if not ran.ok:
        return ran.words()
    return cap_off_by(systemd, run, due_ns)


def cap_off_by(systemd: Systemd, run: Run, due_ns: int) -> str:
    """Read back when the timer will elapse; empty when that is what was asked for."""
    ran = systemd.ctl("show", "-p", "NextElapseUSecMonotonic,ActiveState", "--", cap_unit(run) + ".timer")
    told = dict(line.partition("=")[::2] for line in ran.out.splitlines())
    elapse = span_seconds(told.get("NextElapseUSecMonotonic", ""))
    if told.get("ActiveState") != "active" or elapse is None:
        return "the cap's timer is %s" % told.get("ActiveState", "not there")
    off = elapse - due_ns / clocks.SECOND
    return "" if abs(off) <= TOLERANCE else "the cap's timer would elapse %.0f s off" % off


def span_seconds(text: str) -> "float | None":
    """systemd's way to write a time span (``1h 2min 3.5s``), in seconds; None for ``infinity`` or anything else."""
    units = {
        "y": 31557600.0,
        "month": 2629800.0,
        "w": 604800.0,
        "d": 86400.0,
        "h": 3600.0,
        "min": 60.0,
        "s": 1.0,
        "ms": 1e-3,
        "us": 1e-6,
    }
    total = 0.0
    for word in text.split():
        number = word.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = word[len(number) :]
        if unit not in units:
            return None
        total += float(number) * units[unit]
    return total if text.split() else None

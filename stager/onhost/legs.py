"""The three legs that restore without a controller: lease (the guard), hard cap, boot.

Armed and read back before the first stop.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List

from . import clocks, cron, lease, processes
from .files import read_json, sweep_private, sync_folder, unlink_quietly, write_atomically
from .launch import by_unit
from .state import Run
from .systemd import Systemd

UNITS = "/etc/systemd/system"
WANTS = UNITS + "/multi-user.target.wants"
TOLERANCE = 2.0  # seconds between the cap we want and the elapse that systemd tells


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


# -- leg A: the guard ---------------------------------------------------------------------------------------------


def guard_unit(run: Run) -> str:
    """The guard's unit."""
    return "stager-guard-%s.service" % run.run_id


def start_guard(run: Run, program: str) -> str:
    """Start the guard; under systemd as a unit whose end, however it comes, restores.

    Returns why it could not be started.
    """
    if not by_unit():
        spawn(own_argv(program, "guard", run), run.at("guard.log"))
        return ""
    why = unsayable(own_argv(program, "after-guard", run))
    if why:
        return why
    argv = ["systemd-run", "--quiet", "--no-ask-password", "--collect", "--unit=" + guard_unit(run)]
    argv += ["--property=" + text for text in (
        "Type=exec", "TimeoutStopSec=infinity", "KillMode=mixed", "OOMScoreAdjust=-900", "Restart=no",
        "ExecStopPost=" + quoted(own_argv(program, "after-guard", run), in_file=False),
    )]  # fmt: skip
    ran = processes.run([*argv, "--", *own_argv(program, "guard", run)], timeout=30)
    return "" if ran.ok else ran.words()


def guard_trouble(run: Run, program: str) -> str:
    """Read the guard back: why it, or what follows on its end, is not there; empty when both are."""
    if not guard_lives(run):
        return "the guard does not run"
    if not by_unit():
        return ""
    told = Systemd().ctl("show", "-p", "ExecStopPost", "--", guard_unit(run)).out
    wanted = "argv[]=%s ;" % " ".join(own_argv(program, "after-guard", run))
    return (
        "" if wanted in told else "the guard's end would not restore: it has %s" % (told.strip() or "no ExecStopPost")
    )


def guard_lives(run: Run) -> bool:
    """Whether the guard runs, by its identity."""
    return processes.alive((read_json(run.at("guard.json")) or {}).get("process"))


# -- leg B: the hard cap ------------------------------------------------------------------------------------------


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


# -- leg C: boot --------------------------------------------------------------------------------------------------


def boot_unit(run: Run) -> str:
    """The installed unit."""
    return "stager-restore-%s.service" % run.run_id


def boot_text(run: Run, program: str) -> str:
    """The installed unit's file.

    It runs after everything that boot starts by itself, with no time limit of systemd's.
    """
    return """# Written by stager for run %s; removed when the run is over.
[Unit]
Description=Restore production after stager run %s
ConditionPathExists=%s
After=local-fs.target network.target dbus.service
RequiresMountsFor=%s

[Service]
Type=exec
TimeoutStartSec=infinity
OOMScoreAdjust=-900
ExecStart=%s

[Install]
WantedBy=multi-user.target
""" % (
        run.run_id,
        run.run_id,
        specifiers(run.journal_path),
        quoted([run.state], in_file=True),
        quoted(own_argv(program, "boot", run), in_file=True),
    )


def install_boot(run: Run, program: str) -> str:
    """Lay the boot leg, without a daemon-reload (it would change production's units).

    Returns why it could not be laid.
    """
    if not by_unit():
        return cron.add(run.run_id, own_argv(program, "boot", run))
    try:
        os.makedirs(WANTS, 0o755, exist_ok=True)
        write_atomically(os.path.join(UNITS, boot_unit(run)), boot_text(run, program).encode(), 0o644)
        link = os.path.join(WANTS, boot_unit(run))
        unlink_quietly(link)
        os.symlink(os.path.join(UNITS, boot_unit(run)), link)
        sync_folder(WANTS)
    except OSError as error:
        return "%s cannot be written: %s" % (UNITS, error.strerror)
    return "" if os.path.exists(os.path.join(WANTS, boot_unit(run))) else "the link in %s leads nowhere" % WANTS


# -- all together -------------------------------------------------------------------------------------------------


def arm(run: Run, program: str) -> List[Dict[str, Any]]:
    """Arm B and C and read all three back: name, armed, why not, what it covers."""
    cap, boot = start_cap(run, program), install_boot(run, program)
    guard = guard_trouble(run, program)
    return [
        {"leg": "lease", "armed": not guard, "why": guard, "how": "guard service" if by_unit() else "detached process"},
        {
            "leg": "cap",
            "armed": not cap,
            "why": cap,
            "how": "timer on a fixed base" if by_unit() else "second detached process",
        },
        {"leg": "boot", "armed": not boot, "why": boot, "how": "installed unit" if by_unit() else "cron @reboot"},
    ]


def disarm(run: Run) -> None:
    """Take the cap and the boot leg away; the guard ends itself."""
    if not by_unit():
        cron.remove(run.run_id)
        return
    Systemd().ctl("stop", "--", cap_unit(run) + ".timer")
    for path in (os.path.join(WANTS, boot_unit(run)), os.path.join(UNITS, boot_unit(run))):
        unlink_quietly(path)
    sweep_private(os.path.join(UNITS, boot_unit(run)))


def standing(run: Run) -> List[str]:
    """The legs that hold now."""
    found = ["lease"] if guard_lives(run) else []
    if by_unit():
        timer = Systemd().units([cap_unit(run) + ".timer"])[cap_unit(run) + ".timer"]
        found += ["cap"] if timer.get("ActiveState") == "active" else []
        found += ["boot"] if os.path.exists(os.path.join(WANTS, boot_unit(run))) else []
    else:
        found += ["cap"] if processes.alive((read_json(run.at("cap.json")) or {}).get("process")) else []
        found += ["boot"] if cron.has(run.run_id) else []
    return found

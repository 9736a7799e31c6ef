"""The three legs that restore without a controller: lease (the guard), hard cap, boot.

Armed and read back before the first stop.
"""

from __future__ import annotations

import os
import signal
from typing import Any, Dict, List

from . import cron, processes
from .cap import cap_unit, start_cap
from .files import read_json, sweep_private, sync_folder, unlink_quietly, write_atomically
from .launch import by_unit
from .spawning import own_argv, quoted, spawn, specifiers, unsayable
from .state import Run
from .systemd import Systemd

UNITS = "/etc/systemd/system"
WANTS = UNITS + "/multi-user.target.wants"


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


def end_guard(run: Run) -> None:
    """End a guard that stands still, by its own identity; what its end sets off restores."""
    identity = (read_json(run.at("guard.json")) or {}).get("process")
    if identity:
        processes.send(identity, signal.SIGKILL)


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

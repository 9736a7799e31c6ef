"""What runs this host: whether systemd does, what state it is in, which of its starts this is, a user's own manager."""

from __future__ import annotations

import os
import pwd

from . import clocks, processes
from .systemd import systemctl


def state_of_system(user: bool = False) -> str:
    """What ``is-system-running`` says.

    Running, degraded, starting, stopping, offline, or empty where there is no systemd.
    """
    return processes.run(systemctl(user, "is-system-running")).out.strip() if is_pid_one() else ""


def no_user_manager() -> str:
    """Why the user manager of whoever we are cannot be asked; empty when it can."""
    folder = processes.environment().get("XDG_RUNTIME_DIR", "")
    if folder and os.path.exists(os.path.join(folder, "systemd", "private")):
        return ""
    if os.geteuid() == 0:
        return (
            "production.manager is systemd-user, and we are root here, whose user manager does not run: log in as the "
            "user whose units they are, with host/become: none"
        )
    user = pwd.getpwuid(os.geteuid()).pw_name
    return "no user manager runs for %s: `loginctl enable-linger %s` starts one that stays" % (user, user)


def wait_for_user_manager(seconds: float) -> None:
    """At boot: give the user manager time to come up, as far as it does."""
    end = clocks.boottime_ns() + int(seconds * clocks.SECOND)
    while no_user_manager() and clocks.boottime_ns() < end:
        clocks.pause(0.2)


def is_pid_one() -> bool:
    """Whether systemd runs this host (the test that sd_booted(3) makes)."""
    return os.path.isdir("/run/systemd/system")


def going_down() -> bool:
    """Whether systemd is shutting this host down: it refuses starts then, and no verdict would be true."""
    return is_pid_one() and state_of_system() == "stopping"


def userspace() -> str:
    """Which start of this host's userspace this is, within one kernel's boot; empty where nobody says so.

    A soft reboot (systemd 254 and later) ends every process and starts all units anew, but the kernel's boot id, its
    clocks and /run stay. What tells it is the InvocationID of ``sysinit.target``, which stays over a daemon-reload and
    a daemon-reexec (the manager's own start times are kept over a soft reboot before systemd 256).
    """
    if not is_pid_one():
        return ""
    ran = processes.run(systemctl(False, "show", "-p", "InvocationID", "--value", "sysinit.target"))
    return ran.out.strip() if ran.ok else ""

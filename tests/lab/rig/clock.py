"""Step a host's wall clock without stepping this machine's: libfaketime in front of what starts from then on."""

from __future__ import annotations

from .machine import Machine

OFFSET = "/etc/stager-lab-clock"  # seconds, read anew at every look at the clock
ENVIRONMENT = {
    "FAKETIME_TIMESTAMP_FILE": OFFSET,
    "FAKETIME_NO_CACHE": "1",
    "DONT_FAKE_MONOTONIC": "1",  # a step moves the wall clock alone; this holds for the boot-time clock too
    "NO_FAKE_STAT": "1",  # files keep the times the kernel wrote
}


def fake(machine: Machine) -> None:
    """Let every service started from now on, and every new ssh session, see a clock that `step` can move.

    Raises:
        ValueError: a bookworm host; its libfaketime (0.9.10) makes Python's `time.sleep` fail with EINVAL.
    """
    if machine.suite == "bookworm":
        raise ValueError("bookworm's libfaketime breaks time.sleep: take a bullseye or trixie host")
    (library,) = machine.path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    inside = "/usr/lib/" + str(library.relative_to(machine.path("/usr/lib")))
    pairs = [f"{name}={value}" for name, value in {**ENVIRONMENT, "LD_PRELOAD": inside}.items()]
    step(machine, 0)
    machine.sh("systemctl", "set-environment", *pairs)
    machine.write("/etc/environment", "\n".join(pairs) + "\n")


def step(machine: Machine, seconds: float) -> None:
    """Move the wall clock to this far from the true one, at once."""
    machine.write(OFFSET, f"{seconds:+g}\n")

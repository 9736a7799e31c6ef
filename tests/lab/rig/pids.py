"""Make a host reuse its process ids soon."""

from __future__ import annotations

from pathlib import Path

from .machine import Machine
from .place import command

PID_MAX = Path("/proc/sys/kernel/pid_max")


def limit(machine: Machine, count: int) -> None:
    """Let the host number its processes up to `count` only; the kernel allows no less than some 300 a core.

    Raises:
        RuntimeError: this kernel has one limit for all pid namespaces (before 6.14); it is as it was.
    """
    before = PID_MAX.read_text()
    # In the host's pid namespace but with our /proc: its own is mounted read-only.
    command("nsenter", "-t", str(machine.leader), "-p", "--", "sh", "-c", f"echo {count:d} > {PID_MAX}")
    if PID_MAX.read_text() != before:
        PID_MAX.write_text(before)
        raise RuntimeError("this kernel has one pid_max for the whole machine")

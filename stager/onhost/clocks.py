"""The host's clocks: deadlines live on the boot-time clock, and mean something only within one boot."""

from __future__ import annotations

import time
from datetime import datetime, timezone

SECOND = 1_000_000_000


def boottime_ns() -> int:
    """Nanoseconds since boot, suspend included; no clock step moves it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def monotonic_ns() -> int:
    """Nanoseconds of CLOCK_MONOTONIC, the base of systemd's ``OnBootSec=``."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def boot_id() -> str:
    """The kernel's name for this boot."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def wall() -> str:
    """The wall clock in UTC, for people; nothing is ever decided by it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def pause(seconds: float) -> None:
    """Sleep."""
    time.sleep(seconds)

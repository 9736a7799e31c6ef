"""The system clock keeps the promises of the protocol."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from stager.clock import Clock, SystemClock


def test_now_is_aware_and_in_utc() -> None:
    """Wall time carries its zone and is the present."""
    clock: Clock = SystemClock()
    now = clock.now()
    assert now.tzinfo is UTC
    assert abs(now - datetime.now(UTC)) < timedelta(seconds=5)


def test_sleep_passes_monotonic_time() -> None:
    """Sleeping takes at least as long as was asked, and a negative time is none."""
    clock = SystemClock()
    before = clock.monotonic()
    clock.sleep(0.02)
    clock.sleep(-1)
    assert 0.02 <= clock.monotonic() - before < 1

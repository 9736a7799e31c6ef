"""Schedules and times that several tests share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from stager.fleet.admission import Times
from stager.fleet.schedule import Schedule
from stager.fleet.timer import Caller

CALLER = Caller(("/opt/stager/bin/stager",), (("STAGER_HOME", "/var/lib/stager home"),))
TIMES = Times(drain=120, ready=600, probes=3600, runtime=14400, grace=30, healthy=300)


def schedule(**changes: Any) -> Schedule:
    """A schedule of 01:30 to 06:00 in Berlin, with changes."""
    common = {
        "name": "batch4",
        "playbook": "/etc/stager/batch 4.yaml",
        "host": "gpu1",
        "at": "01:30",
        "until": "06:00",
        "timezone": "Europe/Berlin",
        "worst": 4800.0,
        "added": "2026-10-01T12:00:00+00:00",
    }
    return Schedule(**{**common, **changes})


def utc(text: str) -> datetime:
    """An instant such as ``2026-10-25 01:30``."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)

"""Unit files: their text, and what systemd itself makes of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest

from stager.fleet.timer import calendar, command, disable, enable, quote, units
from tests.unit.fleet.cases import CALLER, schedule, utc

TODAY = date(2026, 11, 29)

needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze (Debian: systemd)"
)

TIMER = """\
# Written by `stager schedule`; removed again by `stager schedule remove`.
[Unit]
Description=stager: start batch4 at 01:30 Europe/Berlin

[Timer]
OnCalendar=*-*-* 01:30:00 Europe/Berlin
RandomizedDelaySec=600s
Persistent=true
AccuracySec=1s
Unit=stager-nightly-batch4.service

[Install]
WantedBy=timers.target
"""

SERVICE = """\
# Written by `stager schedule`; removed again by `stager schedule remove`.
[Unit]
Description=stager: batch4, 01:30 to 06:00 Europe/Berlin
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
Environment="STAGER_HOME=/var/lib/stager home"
Environment=TZ=Europe/Berlin
EnvironmentFile=/etc/stager/secrets
ExecCondition=/opt/stager/bin/stager schedule due batch4
ExecStart=/opt/stager/bin/stager run "/etc/stager/batch 4.yaml" --until 06:00
KillMode=mixed
TimeoutStopSec=4800s
"""


def test_the_two_files() -> None:
    """A schedule is one timer and one service, with these texts."""
    made = units(schedule(jitter=600.0), replace(CALLER, secrets_file="/etc/stager/secrets"), TODAY)

    assert (made.timer, made.service) == ("stager-nightly-batch4.timer", "stager-nightly-batch4.service")
    assert made.timer_text == TIMER
    assert made.service_text == SERVICE


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("plain", "plain"),
        ("", '""'),
        ("two words", '"two words"'),
        ("100%", '"100%%"'),
        ('say "x"', '"say \\"x\\""'),
        ("back\\slash", '"back\\\\slash"'),
        ("semi;colon", '"semi;colon"'),
    ],
)
def test_quoting(word: str, quoted: str) -> None:
    """Words with a meaning to systemd are quoted or doubled."""
    assert quote(word) == quoted


def test_a_dollar_is_not_a_variable() -> None:
    """A dollar sign in a command is doubled."""
    assert command(["echo", "$HOME"]) == "echo $$HOME"


def test_a_line_break_is_refused() -> None:
    """No word may smuggle a line into a unit file."""
    with pytest.raises(ValueError, match="unit file"):
        quote("a\nExecStart=/bin/true")


def test_the_commands() -> None:
    """Enabling starts the timer at once; disabling stops it; users have their own."""
    made = units(schedule(), CALLER, TODAY)

    assert enable(made, user=False) == [
        ["systemctl", "daemon-reload"],
        ["systemctl", "enable", "--now", "stager-nightly-batch4.timer"],
    ]
    assert disable("batch4", user=True) == [["systemctl", "--user", "disable", "--now", "stager-nightly-batch4.timer"]]


def test_days_are_written_systemds_way() -> None:
    """Only some days become a list in front of the date."""
    assert calendar(schedule(days="mon-fri").window(), TODAY)[0] == "Mon,Tue,Wed,Thu,Fri *-*-* 01:30:00 Europe/Berlin"


def test_a_skipped_start_gets_its_own_line() -> None:
    """Each coming night whose start the clocks skip is named with the moment after the gap."""
    lines = calendar(schedule(at="02:30").window(), TODAY)

    assert lines[:2] == ["*-*-* 02:30:00 Europe/Berlin", "2027-03-28 03:00:00 Europe/Berlin"]
    assert len(lines) == 6


def elapses(expression: str, base: datetime, count: int) -> list[datetime]:
    """Ask systemd when an expression elapses."""
    done = subprocess.run(
        [
            "systemd-analyze",
            "calendar",
            f"--base-time={base:%Y-%m-%d %H:%M:%S} UTC",
            f"--iterations={count}",
            expression,
        ],
        capture_output=True,
        text=True,
        check=True,
        env={"TZ": "UTC", "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
    )
    return [utc(found) for found in re.findall(r"\w{3} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC", done.stdout)]


@needs_analyze
@pytest.mark.parametrize("at", ["01:30", "02:00", "02:30", "03:00", "23:45"])
@pytest.mark.parametrize("first", ["2026-10-18 12:00", "2027-03-21 12:00"])
@pytest.mark.parametrize("days", ["daily", "sat,sun"])
def test_systemd_fires_at_our_starts(at: str, first: str, days: str) -> None:
    """Over fourteen nights around each change of the clocks systemd elapses exactly when our nights start."""
    window = schedule(at=at, until="05:30" if at != "23:45" else "04:00", days=days).window()
    base = utc(first)
    ours = [night.start for night in _until(window, base, 14)]
    theirs = {moment for line in calendar(window, base.date()) for moment in elapses(line, base, 15)}

    assert sorted(moment for moment in theirs if moment <= ours[-1]) == ours


def _until(window, base: datetime, days: int):
    for night in window.nights(base.date()):
        if (night.day - base.date()).days > days:
            return
        if night.start > base:
            yield night


@needs_analyze
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """systemd reads both files without a complaint."""
    made = units(
        schedule(jitter=60.0, playbook='/srv/100% $odd "name".yaml'), replace(CALLER, program=("/bin/true",)), TODAY
    )
    (tmp_path / made.timer).write_text(made.timer_text)
    (tmp_path / made.service).write_text(made.service_text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / made.timer), str(tmp_path / made.service)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert [line for line in done.stderr.splitlines() if "stager-nightly" in line] == []

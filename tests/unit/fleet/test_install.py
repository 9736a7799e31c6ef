"""Putting units and crontab lines in place, and taking exactly them away, with stand-ins for the two programs.

The real ones are in ``tests/lab/test_schedule.py``.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from stager.errors import Refused, StagerError
from stager.fleet import cron, install, timer
from tests.unit.fleet.cases import CALLER, schedule

TODAY = date(2026, 11, 29)
SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$LOG"
case "$*" in *"$REFUSES"*) echo "it said no" >&2; exit 1;; esac
"""
CRONTAB = """#!/bin/sh
cd "${0%/*}"
case "$1" in
  -l) [ -f table ] || { echo "no crontab for you" >&2; exit 1; }; cat table;;
  -r) rm table;;
  -) cat > table;;
esac
"""


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the two programs, in front of PATH, and a folder for system units."""
    for name, text in (("systemctl", SYSTEMCTL), ("crontab", CRONTAB)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("REFUSES", "nothing")
    monkeypatch.setattr(install, "SYSTEM_UNITS", tmp_path / "units")
    return tmp_path


def systemd_plan() -> install.Plan:
    return install.systemd_plan(timer.units(schedule(), CALLER, TODAY), user=False)


def cron_plan() -> install.Plan:
    return install.cron_plan(cron.entries(schedule(), CALLER, ZoneInfo("UTC"), TODAY))


def test_the_plan_shows_everything(box: Path) -> None:
    """What is shown are the files whole, and every command."""
    text = systemd_plan().text()

    assert f"--- {box}/units/stager-nightly-batch4.timer" in text
    assert "OnCalendar=*-*-* 01:30:00 Europe/Berlin" in text
    assert "$ systemctl enable --now stager-nightly-batch4.timer" in text
    assert not (box / "units").exists()


def test_units_come_and_go(box: Path) -> None:
    """Both files are written and the timer enabled; removing stops it and leaves nothing."""
    installed = install.install(systemd_plan())
    written = sorted(path.name for path in (box / "units").iterdir())
    left = install.uninstall("batch4", installed)

    assert written == ["stager-nightly-batch4.service", "stager-nightly-batch4.timer"]
    assert left == []
    assert list((box / "units").iterdir()) == []
    assert (box / "log").read_text().splitlines() == [
        "daemon-reload",
        "enable --now stager-nightly-batch4.timer",
        "disable --now stager-nightly-batch4.timer",
        "daemon-reload",
    ]


def test_users_have_their_own_folder(box: Path) -> None:
    """A user's units lie in the user's own configuration."""
    plan = install.systemd_plan(timer.units(schedule(), CALLER, TODAY), user=True)

    assert plan.files[0][0].parent == Path.home() / ".config" / "systemd" / "user"


def test_somebody_elses_unit_is_not_overwritten(box: Path) -> None:
    """A unit file of that name that is there already forbids the installation, and nothing is written."""
    (box / "units").mkdir()
    (box / "units" / "stager-nightly-batch4.service").write_text("mine\n")
    with pytest.raises(Refused, match="is not this schedule's"):
        install.install(systemd_plan())

    assert [path.name for path in (box / "units").iterdir()] == ["stager-nightly-batch4.service"]


def test_a_failed_command_leaves_no_files(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If systemd refuses the timer, its files are gone again, and its words are said."""
    monkeypatch.setenv("REFUSES", "enable")
    with pytest.raises(StagerError, match="it said no"):
        install.install(systemd_plan())

    assert list((box / "units").iterdir()) == []


def test_a_changed_unit_is_left(box: Path) -> None:
    """A file that another hand changed is left and named; the other is removed."""
    installed = install.install(systemd_plan())
    (box / "units" / "stager-nightly-batch4.service").write_text("changed\n")
    left = install.uninstall("batch4", installed)

    assert [path.name for path in (box / "units").iterdir()] == ["stager-nightly-batch4.service"]
    assert "changed by another hand" in left[0]


def test_crontab_lines_come_and_go(box: Path) -> None:
    """Our lines are added behind the others and taken out again; the others stay byte for byte."""
    theirs = b"MAILTO=ops\n# caf\xe9\x0cpage\n0 4 * * * backup 'a\rb'\n"
    (box / "table").write_bytes(theirs)
    installed = install.install(cron_plan())
    between = (box / "table").read_bytes()
    left = install.uninstall("batch4", installed)

    assert between.startswith(theirs)
    assert between.count(b"# stager schedule batch4") == 3
    assert left == []
    assert (box / "table").read_bytes() == theirs


def test_a_first_crontab(box: Path) -> None:
    """A user without a crontab gets one, and has none again afterwards."""
    installed = install.install(cron_plan())
    assert (box / "table").read_text().count("# stager schedule batch4") == 3

    assert install.uninstall("batch4", installed) == []
    assert not (box / "table").exists()


def test_a_crontab_that_cannot_be_read_is_left_alone(box: Path) -> None:
    """Where `crontab -l` fails for another reason than that there is none, nothing is written."""
    (box / "crontab").write_text('#!/bin/sh\n[ "$1" = -l ] || touch "${0%/*}/table"\necho "not allowed" >&2\nexit 1\n')
    with pytest.raises(StagerError, match="not allowed"):
        install.install(cron_plan())

    assert not (box / "table").exists()


def test_a_changed_crontab_line_is_left(box: Path) -> None:
    """A line that another hand changed is left and named."""
    installed = install.install(cron_plan())
    (box / "table").write_text((box / "table").read_text().replace("30 0 ", "45 0 ", 1))
    left = install.uninstall("batch4", installed)

    assert len(left) == 1
    assert (box / "table").read_text().startswith("45 0 * * *")


def test_whether_it_ticks(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timer that systemd does not know as active is reported."""
    installed = install.install(systemd_plan())
    ticking = install.ticks("batch4", installed)
    monkeypatch.setenv("REFUSES", "is-active")

    assert ticking == ""
    assert "its timer is" in install.ticks("batch4", installed)

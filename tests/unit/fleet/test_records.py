"""Where schedules are kept, and the claim that lets one run a night through."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from stager.errors import InvalidFile, UsageError
from stager.fleet.records import Installed, Record, Records
from tests.unit.fleet.cases import schedule

NIGHT = date(2026, 11, 30)
RECORD = Record(schedule=schedule(jitter=90.0), installed=Installed(kind="systemd", files={"/etc/x": "text"}))


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    """What was put is what is got, and is listed."""
    records = Records(tmp_path)
    records.put(RECORD)

    assert records.get("batch4") == RECORD
    assert records.all() == [RECORD]


def test_removed_is_gone_with_its_nights(tmp_path: Path) -> None:
    """A schedule made anew under an old name does not inherit claimed nights."""
    records = Records(tmp_path)
    records.put(RECORD)
    records.claim("batch4", NIGHT)
    records.remove("batch4")

    assert records.all() == []
    assert records.started("batch4") == frozenset()


def test_a_night_is_claimed_once(tmp_path: Path) -> None:
    """Of many that claim one night at once exactly one gets it."""
    records = Records(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda _: records.claim("batch4", NIGHT), range(32)))

    assert won.count(True) == 1
    assert records.started("batch4") == {NIGHT}


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    """A typing error is answered with the names there are."""
    records = Records(tmp_path)
    records.put(RECORD)
    with pytest.raises(UsageError, match="there are: batch4"):
        records.get("batch5")


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    """A record that cannot be read is refused by its path, not skipped."""
    (tmp_path / "schedules" / "x").mkdir(parents=True)
    (tmp_path / "schedules" / "x" / "schedule.json").write_text("{")
    with pytest.raises(InvalidFile, match=r"x/schedule\.json"):
        Records(tmp_path).all()


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b"])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    """A name cannot lead out of the folder."""
    with pytest.raises(UsageError):
        Records(tmp_path).get(name)

"""The machine's own time zone, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.fleet.localzone import machine_zone


@pytest.mark.parametrize(
    ("environment", "link", "name", "expected"),
    [
        ("America/New_York", "/usr/share/zoneinfo/Europe/Berlin", "Asia/Kolkata", "America/New_York"),
        (":Europe/Rome", None, None, "Europe/Rome"),
        ("", "/usr/share/zoneinfo/Europe/Berlin", "Asia/Kolkata", "Europe/Berlin"),
        ("", "../usr/share/zoneinfo/Etc/UTC", None, "Etc/UTC"),
        ("", None, "Asia/Kolkata\n", "Asia/Kolkata"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", None, None, "UTC"),
        ("", None, None, "UTC"),
    ],
)
def test_the_first_that_names_a_zone(
    tmp_path: Path, environment: str, link: str | None, name: str | None, expected: str
) -> None:
    """TZ comes first, then what /etc/localtime points to, then /etc/timezone, then UTC."""
    if link:
        (tmp_path / "localtime").symlink_to(link)
    if name:
        (tmp_path / "timezone").write_text(name)

    assert machine_zone(environment, tmp_path / "localtime", tmp_path / "timezone").key == expected

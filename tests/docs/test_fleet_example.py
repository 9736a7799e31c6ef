"""The fleet file in the README is one."""

from __future__ import annotations

import re
from pathlib import Path

from stager.fleet.waves import in_waves, lacking, names_of
from stager.models.fleet import FleetFile
from stager.models.source import read

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_fleet_file_in_the_readme_loads_and_comes_in_the_waves_it_says() -> None:
    """gpu1 is the canary, and every host has what the candidate needs."""
    (text,) = re.findall(r"^```yaml\n(# fleet\.yaml.*?)^```$", README, re.DOTALL | re.MULTILINE)
    fleet = read(text, "fleet.yaml", FleetFile)
    (placement,) = fleet.place
    hosts = names_of(fleet, placement.on)

    assert in_waves(hosts, fleet.waves.canary, fleet.waves) == [["gpu1"], ["gpu2"]]
    assert not any(lacking(fleet, host, placement.needs) for host in hosts)

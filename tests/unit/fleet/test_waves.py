"""Waves: who comes when, and what stops a rollout."""

from __future__ import annotations

import pytest

from stager.fleet.waves import in_waves, lacking, names_of, stopped
from stager.models.fleet import FleetFile, Needs, Told, Waves

GIB = 2**30
FLEET = FleetFile.model_validate_json(
    """{"stager": 1, "name": "night", "candidates": {"a": "a.yaml"},
        "hosts": {"gpu1": {"address": "gpu1", "groups": ["big", "canary"], "gpus": ["24GiB", "24GiB"]},
                  "gpu2": {"address": "gpu2", "groups": ["big"], "gpus": ["24GiB", "8GiB"]},
                  "gpu3": {"address": "gpu3", "groups": ["small"]}},
        "place": [{"candidate": "a", "on": ["big", "gpu3"]}]}"""
)


def told(code: int, ending: str = "done") -> Told:
    return Told(ending=ending, exit_code=code)  # type: ignore[arg-type]


def test_groups_and_hosts_stand_for_hosts() -> None:
    """A group's name stands for its members; nobody is named twice."""
    assert names_of(FLEET, ["big", "gpu1", "gpu3"]) == ["gpu1", "gpu2", "gpu3"]


def test_canaries_come_first_and_the_rest_in_groups() -> None:
    """The canaries are a wave of their own, the others follow so many at a time."""
    hosts = [f"h{number}" for number in range(6)]

    assert in_waves(hosts, ["h3"], Waves(size=2)) == [["h3"], ["h0", "h1"], ["h2", "h4"], ["h5"]]
    assert in_waves(hosts[:2], ["elsewhere"], Waves(size=4)) == [["h0", "h1"]]


def test_needs_are_of_each_gpu() -> None:
    """A host has what is needed only if enough of its GPUs are large enough, each by itself."""
    assert lacking(FLEET, "gpu1", Needs(gpus=2, memory=24 * GIB)) == ""
    assert (
        lacking(FLEET, "gpu2", Needs(gpus=2, memory=24 * GIB)) == "gpu2 has 1 GPU(s) of the kind that is needed, not 2"
    )
    assert lacking(FLEET, "gpu3", None) == ""


@pytest.mark.parametrize(
    ("ends", "stop_after", "stops"),
    [
        ([told(0), told(0)], 1, False),
        ([told(0), told(6)], 1, True),
        ([told(0), told(6)], 2, False),
        ([told(143, "cancelled"), told(5)], 2, True),
        ([told(8)], 9, True),
        ([told(9, "lost")], 9, True),
    ],
)
def test_the_stop_rule(ends: list[Told], stop_after: int, stops: bool) -> None:
    """So many jobs that did not end well stop it; a host that needs a person does at once."""
    assert bool(stopped(ends, stop_after)) is stops

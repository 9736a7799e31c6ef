"""What is submitted: playbooks in their order, or a fleet file's rollout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stager.errors import InvalidFile, Refused, UsageError
from stager.fleet.files import submission
from tests.unit.fleet.cases import utc

NOW = utc("2026-11-29 22:00")
FLEET = """
stager: 1
name: night
candidates: {one: one.yaml, two: two.yaml}
hosts:
  gpu1: {address: 10.0.0.1, groups: [big], gpus: [24GiB]}
  gpu2: {address: 10.0.0.2, groups: [big], gpus: [24GiB, 24GiB]}
  gpu3: {address: 10.0.0.3, user: ops, become: sudo}
place:
  - {candidate: one, on: [big, gpu3]}
  - {candidate: two, on: [gpu2], needs: {gpus: 2, memory: 20GiB}}
waves: {canary: [gpu2], size: 2}
"""


@pytest.fixture
def fleet(playbook: Callable[..., Path], tmp_path: Path) -> Path:
    """A fleet file with its two playbooks."""
    playbook("one")
    playbook("two")
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return path


def test_playbooks_are_one_wave(playbook: Callable[..., Path]) -> None:
    """Several playbooks are queued together, in the order given."""
    made = submission([playbook("a"), playbook("b", "gpu2")], "b", NOW)

    assert [[(job.name, job.host) for job in wave] for wave in made.waves] == [[("a", "gpu1"), ("b", "gpu2")]]


def test_a_fleet_file_comes_in_waves(fleet: Path) -> None:
    """The canary's candidates come first, in the order of the file; hosts are reached as the file says."""
    made = submission([fleet], "b", NOW)

    assert [[(job.name, job.host) for job in wave] for wave in made.waves] == [
        [("one", "10.0.0.2"), ("two", "10.0.0.2")],
        [("one", "10.0.0.1"), ("one", "10.0.0.3")],
    ]
    assert [job.wave for wave in made.waves for job in wave] == [0, 0, 1, 1]
    assert '"become": "sudo"' in made.waves[1][1].text


def test_a_host_that_lacks_gpus_is_refused(fleet: Path) -> None:
    """All hosts that cannot carry a candidate are named, and nothing is queued."""
    fleet.write_text(FLEET.replace("on: [gpu2], needs", "on: [big, gpu3], needs"))

    with pytest.raises(Refused) as error:
        submission([fleet], "b", NOW)
    assert len(error.value.reasons) == 2


def test_a_wrong_fleet_file_is_told_with_its_lines(fleet: Path) -> None:
    """Names that nothing stands for are complaints with line and key."""
    fleet.write_text(FLEET.replace("on: [gpu2]", "on: [gpu9]").replace("candidate: two", "candidate: three"))

    with pytest.raises(InvalidFile, match="gpu9") as error:
        submission([fleet], "b", NOW)
    assert "three" in str(error.value)


def test_a_fleet_file_comes_alone(fleet: Path, playbook: Callable[..., Path]) -> None:
    """A fleet file among playbooks is wrong use."""
    with pytest.raises(UsageError, match="submit it alone"):
        submission([playbook("a"), fleet], "b", NOW)

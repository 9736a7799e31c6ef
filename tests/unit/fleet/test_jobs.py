"""A job is exactly what was submitted, on whatever machine it is carried out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from stager.errors import InvalidFile
from stager.fleet.jobs import for_host, job_id, load_job, make_job, new_batch, playbook_of
from stager.loading import load_playbook
from stager.models.playbook import HostSpec
from tests.unit.fleet.cases import utc

NOW = utc("2026-11-29 22:00")


def test_names_sort_by_submission() -> None:
    """Later submissions, and later jobs of one, sort later: that is what decides within one second."""
    early, late = new_batch(NOW), new_batch(NOW + timedelta(milliseconds=2))
    assert job_id(early, 9) < job_id(early, 10) < job_id(late, 1)


def test_a_job_is_its_playbook(playbook: Callable[..., Path]) -> None:
    """What a worker loads is what was submitted, and the host is in the job itself."""
    loaded = load_playbook(playbook())
    job = make_job(loaded, "b", 1, NOW)

    assert load_job(job).playbook == loaded.playbook
    assert playbook_of(job) == loaded.playbook
    assert (job.host, job.lane) == ("gpu1", "gpu1")


def test_a_playbook_for_another_host(playbook: Callable[..., Path]) -> None:
    """Only the host section is another; the text that is kept and journalled has it, too."""
    loaded = load_playbook(playbook())
    host = HostSpec(address="gpu7", port=2222, become="sudo")
    job = make_job(for_host(loaded, host), "b", 1, NOW)

    assert job.host == "gpu7:2222"
    there = load_job(job)
    assert there.playbook == loaded.playbook.model_copy(update={"host": host})
    assert '"gpu7"' in there.text
    assert there.release == loaded.release


def test_what_changed_since_is_refused(playbook: Callable[..., Path], tmp_path: Path) -> None:
    """A release or a playbook that is not what was submitted is refused before anything is connected to."""
    path = playbook()
    job = make_job(load_playbook(path), "b", 1, NOW)

    (tmp_path / "server" / "serve").write_text("#!/bin/sh\necho other\n")
    with pytest.raises(InvalidFile, match="is not the one that was submitted"):
        load_job(job)
    path.write_text(path.read_text().replace("30m", "40m"))
    with pytest.raises(InvalidFile, match="has been changed since"):
        load_job(job)
    path.unlink()
    with pytest.raises(InvalidFile, match="is not on this machine"):
        load_job(job)

"""What the two container engines print of a container, and what is read in it."""

from __future__ import annotations

from typing import Any

import pytest

from stager.onhost.containers import lasting, told

ID = "8ac8a52bb05fbe7098aa609780920eb923d5082d9339de91b2b7f937847383d7"


def docker(status: str, started: str = "2026-11-29T22:10:01.417097049Z", **host: Any) -> dict[str, Any]:
    """The parts read here, in the form of `docker container inspect` (no engine of its kind runs where this does)."""
    return {
        "Id": ID,
        "State": {
            "Status": status,
            "Running": status == "running",
            "Paused": status == "paused",
            "Restarting": status == "restarting",
            "Pid": 4242 if status == "running" else 0,
            "ExitCode": 0,
            "StartedAt": started,
            "FinishedAt": "0001-01-01T00:00:00Z",
        },
        "Name": "/prod",
        "RestartCount": 0,
        "HostConfig": {"NetworkMode": "host", "RestartPolicy": {"Name": "always"}, "AutoRemove": False, **host},
        "Config": {"Image": "engine:1", "Labels": {}},
    }


@pytest.mark.parametrize(
    ("status", "active"),
    [
        ("running", "active"),
        ("exited", "inactive"),
        ("created", "inactive"),
        ("restarting", "activating"),
        ("removing", "deactivating"),
        ("paused", "deactivating"),
        ("dead", "failed"),
        ("of another age", "unknown"),
    ],
)
def test_a_containers_state_is_told_in_the_common_words(status: str, active: str) -> None:
    """Every state of Docker's has its place; one that is not known is no state."""
    state = told(docker(status))

    assert (state["active"], state["sub"]) == (active, status)


def test_a_start_by_another_hand_is_another_identity() -> None:
    """The same container started again has the same id and another start."""
    first = told(docker("running"))
    stopped = told(docker("exited"))
    again = told(docker("running", started="2026-11-29T22:12:00.1Z"))

    assert first["invocation"] == stopped["invocation"]
    assert first["invocation"] != again["invocation"]


def test_a_container_that_a_stop_removes_is_named() -> None:
    """What was made with --rm could not be put back; a plain one could."""
    assert lasting("prod", docker("running")) == []
    (why,) = lasting("prod", docker("running", AutoRemove=True))
    assert "--rm" in why


def test_a_container_of_a_units_is_the_units() -> None:
    """Podman writes down which unit runs a container: that is what has to be stopped and started."""
    document = docker("running")
    document["Config"]["Labels"] = {"PODMAN_SYSTEMD_UNIT": "engine.service"}

    (why,) = lasting("prod", document)

    assert "the unit engine.service" in why


def test_a_container_without_labels_is_no_trouble() -> None:
    """Podman prints null where there is none."""
    document = docker("running")
    document["Config"]["Labels"] = None

    assert lasting("prod", document) == []

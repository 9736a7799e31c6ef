"""A first playbook: it loads whatever the host is, and guesses nothing that what was seen speaks against."""

from __future__ import annotations

from typing import Any

import pytest

from stager.models.playbook import HostSpec, Playbook
from stager.models.source import Source
from stager.staging.draft import draft

LISTENER = {
    "unit": "llama.service",
    "user_unit": False,
    "container": "",
    "port": 8080,
    "pid": 7,
    "argv": ["/usr/bin/llama-server", "--port", "8080"],
    "exe": "/usr/bin/llama-server",
    "cwd": "/",
    "wide": False,
    "models": ["m"],
    "why": "",
}


def seen(*listeners: dict[str, Any], systemd: bool = True) -> dict[str, Any]:
    """What a host answers to a first look."""
    host = {"hostname": "gpu1", "kernel": "6.12", "gpus": [], "systemd": systemd}
    return {"host": host, "listeners": list(listeners), "watchers": []}


def read(text: str) -> Playbook:
    """The playbook that was written."""
    return Source.parse(text, "draft").part(Playbook, ())


@pytest.mark.parametrize(
    ("listeners", "systemd", "manager", "services"),
    [
        ([LISTENER], True, "systemd", ("llama.service",)),
        ([LISTENER | {"user_unit": True}], True, "systemd-user", ("llama.service",)),
        ([LISTENER | {"unit": ""}], False, "command", ()),
        ([], False, "command", ()),
        ([], True, "systemd", ()),
    ],
)
def test_the_manager_is_one_that_runs_there(
    listeners: list[dict[str, Any]], systemd: bool, manager: str, services: tuple[str, ...]
) -> None:
    """Units of systemd are guessed only where systemd runs the host; elsewhere a person is told what to fill in."""
    text = draft(HostSpec(address="gpu1"), seen(*listeners, systemd=systemd))
    production = read(text).production

    assert (production.manager, production.services) == (manager, services)
    assert ("systemd does not run this host" in text) is not systemd

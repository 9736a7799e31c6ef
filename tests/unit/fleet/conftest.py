"""Playbooks on disk and a queue in a file, for those that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stager.fleet.database import Database, find_database
from stager.fleet.queue import Queue, open_queue

TEXT = """
stager: 1
name: NAME
host: {address: HOST}
candidate:
  release: ./server
  launch: [/bin/serve, "{port}"]
  engine: llama.cpp
  port: 18080
  ready: {timeout: 2m}
  limits: {runtime: 30m}
production: {manager: systemd, services: [a.service], healthy: {url: "http://127.0.0.1:8080/v1", within: 60s}}
probes: {overlap: {time_limit_s: 600}}
"""


@pytest.fixture
def playbook(tmp_path: Path) -> Callable[..., Path]:
    """`playbook(name, host)`: a playbook with a release beside it."""
    release = tmp_path / "server"
    release.mkdir()
    (release / "serve").write_text("#!/bin/sh\n")

    def make(name: str = "p", host: str = "gpu1") -> Path:
        path = tmp_path / f"{name}.yaml"
        path.write_text(TEXT.replace("NAME", name).replace("HOST", host))
        return path

    return make


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """The queue's file."""
    return find_database(tmp_path / "home")


@pytest.fixture
def queue(database: Database) -> Iterator[Queue]:
    """A queue in a file that no worker serves."""
    with open_queue(database) as opened:
        opened.roster.make()
        opened.prepare(8)
        yield opened

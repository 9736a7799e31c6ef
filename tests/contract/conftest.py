"""Every kind of host, as one parameter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stager.host.base import Host
from stager.host.connect import connect
from stager.models.playbook import HostSpec

from .servers import Server, asyncssh_server, openssh


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with openssh(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture(scope="session")
def other_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with asyncssh_server(tmp_path_factory.mktemp("asyncssh")) as server:
        yield server


@pytest.fixture(params=["local", "openssh", "asyncssh"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    if request.param == "local":
        made = connect(HostSpec(address="local"))
    else:
        server = request.getfixturevalue("sshd" if request.param == "openssh" else "other_server")
        made = connect(server.spec(), config=server.empty_config)
    yield made
    made.close()

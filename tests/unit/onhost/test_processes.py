"""Processes by identity, also where Python or the kernel has no pidfds."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from stager.onhost import processes


@pytest.mark.parametrize(
    "missing", [(signal, "pidfd_send_signal"), (os, "pidfd_open")], ids=["pidfd_send_signal", "pidfd_open"]
)
def test_a_python_without_pidfds_signals_all_the_same(
    missing: tuple[object, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python may be built without either call: then the identity looked at just before the kill has to do."""
    monkeypatch.delattr(*missing)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        identity = processes.identify(child.pid)
        assert identity is not None
        assert processes.send(dict(identity, start=identity["start"] - 1), signal.SIGKILL) is False
        assert processes.send(identity, signal.SIGKILL) is True
        assert child.wait(5) == -signal.SIGKILL
    assert not processes.pidfds_work()


def test_a_filter_that_refuses_pidfds_is_no_dead_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers' filters answer EPERM to calls they do not know: the process is signalled all the same."""

    def refused(pid: int) -> int:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "pidfd_open", refused)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        identity = processes.identify(child.pid)
        assert identity is not None
        assert processes.send(identity, signal.SIGKILL) is True
        assert child.wait(5) == -signal.SIGKILL


def test_a_commands_output_is_kept_byte_for_byte() -> None:
    """Text is for people; what goes back to where it came from is bytes."""
    ran = processes.run(["cat"], stdin=b"caf\xe9\r\n\x0c")
    assert ran.raw == b"caf\xe9\r\n\x0c"
    assert ran.out == "caf�\r\n\x0c"

"""Whole frames or none."""

from __future__ import annotations

import pytest

from stager.errors import Unreachable
from stager.host.local import LocalHost
from stager.host.outbox import Outbox


def test_frames_go_out_in_order() -> None:
    """Each frame is written when send returns, in the order of the calls."""
    pipe = LocalHost().open(["cat"])
    outbox = Outbox(pipe)
    outbox.send(b"one ")
    outbox.send(b"two")
    pipe.end_input()
    assert b"".join(iter(lambda: pipe.read(100), b"")) == b"one two"


def test_a_closed_outbox_raises_instead_of_waiting() -> None:
    """A frame that comes after the close, or for a pipe that is closed, is Unreachable, never a wait without end."""
    pipe = LocalHost().open(["cat"])
    outbox = Outbox(pipe)
    outbox.close()
    with pytest.raises(Unreachable):
        outbox.send(b"late")
    pipe.close()
    with pytest.raises(Unreachable):
        Outbox(pipe).send(b"late")

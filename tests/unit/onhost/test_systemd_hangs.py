"""A systemctl that hangs: what a question about units costs then."""

from __future__ import annotations

import time

import pytest

from stager.onhost import systemd


def test_a_question_waits_no_longer_than_its_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hanging systemctl is given up after the limit of a question, which is half that of a change or less."""
    assert systemd.ASK_S <= 30.0
    monkeypatch.setattr(systemd, "ASK_S", 0.3)
    monkeypatch.setattr(systemd, "systemctl", lambda user, *words: ("sleep", "8"))
    begun = time.monotonic()
    with pytest.raises(OSError, match="answered 0 of 1"):
        systemd.Systemd().units(["prod.service"])
    assert systemd.Systemd().in_order(["a.service", "b.service"]) == ["a.service", "b.service"]
    assert time.monotonic() - begun < 5

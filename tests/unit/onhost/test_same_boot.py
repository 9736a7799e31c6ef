"""Whether a record was written since the host last booted: by the kernel's boot id, and by its userspace's start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stager.onhost import booted, clocks
from stager.onhost.journal import Journal
from stager.onhost.ledger import Ledger
from stager.onhost.state import Run


def ledger(folder: Path, **opened: Any) -> Ledger:
    """A run's journal with these fields in its first record."""
    run = Run(str(folder), "run")
    run.make()
    Journal.create(run.journal_path, spec={}, **opened)
    return Ledger(run)


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [("17", "17", True), ("17", "4711", False), ("17", "", True), ("", "4711", True), (None, "4711", True)],
    ids=["same", "soft-rebooted", "no-answer", "none-then", "older-program"],
)
def test_a_soft_reboot_is_told_by_userspaces_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str | None, now: str, same: bool
) -> None:
    """Under one boot id another start of userspace is another boot; where either is not known, the boot id decides."""
    monkeypatch.setattr(booted, "userspace", lambda: now)
    found = ledger(tmp_path, **({} if then is None else {"userspace": then}))
    assert found.same_boot() is same
    assert found.same_boot(found.write("note", "later")) is same


def test_another_boot_id_is_another_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever userspace says."""
    monkeypatch.setattr(booted, "userspace", lambda: "17")
    found = ledger(tmp_path, userspace="17")
    monkeypatch.setattr(clocks, "boot_id", lambda: "another")
    assert not found.same_boot()
    assert found.same_boot(found.write("note", "after the boot"))

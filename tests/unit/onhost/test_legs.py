"""What systemd is told of a leg: a path with anything in it comes out as the same words, or is refused beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.onhost import legs, spawning
from stager.onhost.state import Run

ODD = "/srv/a b%c\"d'e\\f"


def test_a_property_is_quoted_without_doubling_percent_signs() -> None:
    """As read back on systemd 247, 252 and 257: systemd-run unquotes its value and reads no specifiers in it."""
    assert spawning.quoted(["/py", ODD], in_file=False) == r'''"/py" "/srv/a b%c\"d'e\\f"'''


def test_a_unit_file_gets_its_specifiers_and_variables_doubled() -> None:
    """As run from a unit file on systemd 252 and 257."""
    assert spawning.quoted(["/py", ODD + "$g"], in_file=True) == r'''"/py" "/srv/a b%%c\"d'e\\f$$g"'''


def test_the_boot_unit_names_an_odd_folder_whole(tmp_path: Path) -> None:
    """Every line that holds the folder keeps it one word without specifiers."""
    run = Run(ODD, "run-1")
    lines = dict(line.partition("=")[::2] for line in legs.boot_text(run, ODD + "/onhost").splitlines())
    assert lines["RequiresMountsFor"] == r'''"/srv/a b%%c\"d'e\\f"'''
    assert lines["ConditionPathExists"] == "/srv/a b%%c\"d'e\\f/runs/run-1/journal.jsonl"
    assert lines["ExecStart"].endswith(r'''"boot" "/srv/a b%%c\"d'e\\f" "run-1"''')


@pytest.mark.parametrize("path", ["/srv/$HOME", "/srv/a\nb", "/srv/\udce9"])
def test_what_systemd_would_not_keep_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard is not started with an end that could restore nothing."""
    monkeypatch.setattr(legs, "by_unit", lambda: True)
    assert "systemd does not keep" in legs.start_guard(Run(path, "run-1"), "/onhost")

"""The crontab is somebody's work: not a byte of it changes but for our line, and what cannot be read is left alone."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from stager.onhost import cron

# The interface of crontab(1) over one file; `refuses` makes every read fail as PAM or a full table would.
CRONTAB = """#!/bin/sh
cd {folder}
[ "$1" = -l ] && [ -e refuses ] && {{ echo "crontab: you are not allowed to use this program" >&2; exit 1; }}
case "$1" in
-l) [ -e table ] || {{ echo "no crontab for ops" >&2; exit 1; }}; cat table ;;
-r) rm table ;;
-) cat > table ;;
esac
"""
THEIRS = b"# caf\xe9\x0cpage\n\n0 3 * * * backup --name 'a\rb' # stager of old\n"
ARGV = ["/usr/bin/python3", "-I", "/srv/it's 100%/onhost", "boot"]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The crontab's file; the program stands first in PATH."""
    program = tmp_path / "crontab"
    program.write_text(CRONTAB.format(folder=shlex.quote(str(tmp_path))))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(cron, "daemon_runs", lambda: True)
    return tmp_path / "table"


def test_every_other_byte_stays(table: Path) -> None:
    """Latin-1, form feeds, carriage returns and empty lines come through an add and a remove."""
    table.write_bytes(THEIRS)
    assert cron.add("run-1", ARGV) == ""
    assert table.read_bytes().startswith(THEIRS + b"@reboot ")
    assert cron.has("run-1")
    cron.remove("run-1")
    assert table.read_bytes() == THEIRS


def test_a_failed_read_is_no_empty_crontab(table: Path) -> None:
    """Where `crontab -l` fails for another reason, nothing is written and the leg is missing, with the reason."""
    table.write_bytes(THEIRS)
    (table.parent / "refuses").touch()
    assert "not allowed" in cron.add("run-1", ARGV)
    assert not cron.has("run-1")
    cron.remove("run-1")
    assert table.read_bytes() == THEIRS


def test_a_crontab_that_was_not_there_is_gone_again(table: Path) -> None:
    """Only where our line was the sole one is the whole crontab removed."""
    assert cron.add("run-1", ARGV) == ""
    assert cron.add("run-1", ARGV) == ""
    assert len(table.read_bytes().splitlines()) == 1
    cron.remove("another")
    assert table.exists()
    cron.remove("run-1")
    assert not table.exists()


@pytest.mark.parametrize(
    ("said", "none"),
    [
        ("no crontab for root", True),  # Debian's cron, and cronie
        ("crontab: can't open 'root': No such file or directory", True),  # BusyBox 1.35, recorded
        ("crontab: can't open 'root': Permission denied", False),
        ("crontab: can't change directory to '/var/spool/cron/crontabs': No such file or directory", False),  # recorded
        ("crontab: read error: Is a directory", False),  # recorded
        ("You (ops) are not allowed to use this program (crontab)", False),
    ],
)
def test_only_a_crontab_that_is_not_there_counts_as_none(said: str, none: bool) -> None:
    """Each cron's own words for "there is none yet" are known; every other failure is one."""
    assert cron.says_none(said) is none


def test_the_line_survives_cron_and_the_shell() -> None:
    """After cron has taken the backslash before a percent sign off, the shell sees the argv as it was."""
    line = cron.entry("run-1", ["printf", "%s\\n", *ARGV]).decode()
    command = line.partition(" ")[2].replace("\\%", "%")
    out = subprocess.run(["/bin/sh", "-c", command], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert out.splitlines() == ARGV


def test_no_crontab_program_is_no_cron(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon without crontab(1) (another container's, seen in /proc) is told in the words that `doctor` uses."""
    monkeypatch.setenv("PATH", str(table.parent / "nowhere"))
    monkeypatch.setattr(cron.processes, "found", lambda program: False)
    assert cron.add("run-1", ARGV) == cron.missing() == "there is neither systemd for root nor cron's program crontab"
    monkeypatch.setattr(cron, "daemon_runs", lambda: False)
    assert cron.add("run-1", ARGV) == cron.missing() == "there is neither systemd for root nor a cron daemon"

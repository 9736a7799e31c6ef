"""What `make` says on a machine that lacks something: one clear line, and nothing half made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE = shutil.which("make")

pytestmark = pytest.mark.skipif(MAKE is None, reason="make is not here: install the package make")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with what make reads, and an empty folder `bin` to be the whole PATH."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    return tmp_path


def make(clone: Path, target: str) -> subprocess.CompletedProcess[str]:
    """Run make with only what lies in `bin` on the PATH."""
    return subprocess.run(
        [str(MAKE), target], cwd=clone, env={"PATH": str(clone / "bin")}, capture_output=True, text=True
    )


def python(clone: Path, name: str, *, new_enough: bool) -> None:
    """Put a Python on the PATH that is old, or that has no venv module."""
    script = f'#!/bin/sh\ncase "$2" in *version_info*) exit {int(not new_enough)};; *) exit 1;; esac\n'
    (clone / "bin" / name).write_text(script)
    (clone / "bin" / name).chmod(0o755)


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines on stderr that make itself did not add."""
    return [line for line in done.stderr.splitlines() if "***" not in line]


@pytest.mark.parametrize("target", ["demo", "test", "check", "test-faults"])
def test_no_python_is_one_line(clone: Path, target: str) -> None:
    """Without any Python, or with an old one only, make says which is needed and makes nothing."""
    python(clone, "python3", new_enough=False)
    done = make(clone, target)
    assert done.returncode != 0
    assert said(done) == ["make: stager needs Python 3.11 or newer (Debian, Ubuntu: apt install python3 python3-venv)."]
    assert not (clone / ".venv").exists()


def test_no_venv_module_is_one_line(clone: Path) -> None:
    """A Python without venv, as Debian ships it, is told how to get one."""
    python(clone, "python3.12", new_enough=True)
    done = make(clone, "demo")
    assert done.returncode != 0
    assert said(done) == ["make: python3.12 has no venv module (Debian, Ubuntu: apt install python3-venv)."]
    assert not (clone / ".venv").exists()


def test_make_alone_lists_the_targets(clone: Path) -> None:
    """`make` says what there is and does nothing."""
    (clone / "bin" / "sed").symlink_to(str(shutil.which("sed")))
    done = make(clone, "help")
    assert done.returncode == 0
    assert {"make demo", "make test", "make test-faults", "make check", "make wheel-test"} <= {
        line.split("\t")[0].strip() for line in done.stdout.splitlines()
    }

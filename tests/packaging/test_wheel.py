"""The wheel, not the tree: built, installed alone in an environment of its own, and tried from elsewhere."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]


def run(*argv: object, cwd: Path | None = None) -> str:
    """Return what a command printed; a failing one fails the test with its words."""
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (built,) = folder.glob("stager-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel and its plain dependencies, no extras."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel)
    return python


def test_the_wheel_holds_the_package_and_its_data(wheel: Path) -> None:
    """Every source file, the marker kinds and the type marker are in; tests are not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "stager").rglob("*.py")}
    assert sources <= names
    assert {"stager/shipped/markers/maintenance.yaml", "stager/py.typed"} <= names
    assert not [name for name in names if name.startswith("tests/")]


def test_every_command_loads_without_extras(python: Path, tmp_path: Path) -> None:
    """A plain install can show the help of every command."""
    listed = run(python, "-c", "from stager.cli.main import COMMANDS; print(*COMMANDS)", cwd=tmp_path).split()
    for name in listed:
        assert "Usage: stager" in run(python.parent / "stager", name, "--help", cwd=tmp_path)


def test_shipped_data_is_found(python: Path, tmp_path: Path) -> None:
    """An installed stager finds its marker kinds in itself, not in a checkout."""
    where = run(python, "-c", "from stager.loading import shipped_markers as s; print(s())", cwd=tmp_path).strip()
    assert where.startswith(str(python.parent.parent))
    assert (Path(where) / "maintenance.yaml").is_file()

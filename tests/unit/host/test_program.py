"""The zipapp and its name."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import stager.onhost
from stager.host.program import build_program, pack


def test_the_same_sources_give_the_same_bytes() -> None:
    """Neither the order of files nor the time of day changes the digest."""
    one = pack({"b.py": b"2", "a.py": b"1"})
    two = pack({"a.py": b"1", "b.py": b"2"})
    assert one == two
    assert one.sha256 == hashlib.sha256(one.bytes).hexdigest()
    assert pack({"a.py": b"1", "b.py": b"3"}).sha256 != one.sha256


def test_the_program_holds_all_of_onhost_and_nothing_else() -> None:
    """Every source file of stager/onhost is in it, byte for byte, with an entry; no caches."""
    root = Path(stager.onhost.__file__).parent
    with zipfile.ZipFile(BytesIO(build_program().bytes)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    assert held.pop("__main__.py").startswith(b"import sys\n")
    assert held == {f"onhost/{p.relative_to(root).as_posix()}": p.read_bytes() for p in root.rglob("*.py")}


def test_it_starts_alone(tmp_path: Path) -> None:
    """The packed file runs under -I, without the package beside it."""
    path = tmp_path / "p.pyz"
    path.write_bytes(pack({"__main__.py": b"import x.y; print(x.y.z)", "x/__init__.py": b"", "x/y.py": b"z = 7"}).bytes)
    out = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, check=True, cwd="/")
    assert out.stdout == "7\n"

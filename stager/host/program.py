"""The host's program: ``stager/onhost`` as one zipapp, named by its digest."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_ENTRY = "import sys\nfrom onhost.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Program:
    """The bytes of a zipapp and their SHA-256 in hex."""

    bytes: bytes = field(repr=False)
    sha256: str

    @property
    def name(self) -> str:
        """The file's name on the host."""
        return f"{self.sha256}.pyz"


@cache
def build_program() -> Program:
    """Pack the installed ``stager/onhost``; the same sources always give the same bytes."""
    root = Path(__file__).parent.parent / "onhost"
    files = {f"onhost/{path.relative_to(root).as_posix()}": path.read_bytes() for path in root.rglob("*.py")}
    return pack({**files, "__main__.py": _ENTRY.encode()})


def pack(files: Mapping[str, bytes]) -> Program:
    """Pack files into a zipapp: sorted, without times, stored.

    Stored, not deflated: zlib's output differs between its versions, and the digest is the program's name.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, files[name])
    data = buffer.getvalue()
    return Program(data, hashlib.sha256(data).hexdigest())

"""The real llama.cpp server, for tests marked ``engine``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = Path(__file__).with_name("llama_server.py")


@contextmanager
def llama(slots: int) -> Iterator[str]:
    """The real server with so many slots; gives its URL."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), str(slots)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()

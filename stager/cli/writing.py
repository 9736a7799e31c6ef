"""Writing a file the operator named."""

from __future__ import annotations

from pathlib import Path

from stager.errors import UsageError


def write_file(path: Path, content: bytes) -> None:
    """Write a file where the operator wants it.

    Raises:
        UsageError: it cannot be written there.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error

"""The time zone this machine lives in, by name."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo

from stager.errors import UsageError
from stager.fleet.window import find_zone

_LINK = Path("/etc/localtime")
_NAME = Path("/etc/timezone")


def machine_zone(environ_zone: str | None = None, link: Path = _LINK, name: Path = _NAME) -> ZoneInfo:
    """Return the zone of ``TZ``, of ``/etc/localtime``'s target, of ``/etc/timezone``; UTC where none names one."""
    candidates = [environ_zone if environ_zone is not None else os.environ.get("TZ", "")]
    if link.is_symlink():
        candidates.append(str(link.readlink()).rpartition("zoneinfo/")[2])
    if name.is_file():
        candidates.append(name.read_text(encoding="utf-8").strip())
    for candidate in candidates:
        try:
            return find_zone(candidate.removeprefix(":"))
        except UsageError:
            continue  # not a name, such as a POSIX rule in TZ
    return find_zone("UTC")

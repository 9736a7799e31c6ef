"""Named points at which a test may stop this program: after each synced journal record.

A file ``failpoint`` in the state folder, writable by its owner only, names a record (``{"seq": 7}`` or ``{"step":
"unit.stop"}``); the process that writes that record stops itself (SIGSTOP) until it is continued or killed. Without
the file this costs one failed open.
"""

from __future__ import annotations

import os
import signal
from typing import Any, Dict

from .files import read_json, unlink_quietly, write_json


def boundary(state: str, record: Dict[str, Any]) -> None:
    """Stop here if a test asked for it; once."""
    path = os.path.join(state, "failpoint")
    wanted = read_json(path)
    if wanted is None or any(record.get(key) != value for key, value in wanted.items()):
        return
    unlink_quietly(path)
    write_json(path + ".hit", {"pid": os.getpid(), "seq": record["seq"], "step": record["step"]})
    os.kill(os.getpid(), signal.SIGSTOP)

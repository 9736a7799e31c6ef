"""A worker whose runs are carried out by something else than a run: `python serve.py HOME SLOTS POLLING COMMAND...`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from stager.clock import SystemClock
from stager.fleet.database import find_database
from stager.fleet.worker import Worker


def main() -> None:
    """Serve until SIGTERM."""
    home, slots, polling, *command = sys.argv[1:]
    worker = Worker(
        Path(home), find_database(Path(home)), SystemClock(), lambda text: print(text, flush=True), int(slots), command,
        polling=float(polling),
    )  # fmt: skip
    signal.signal(signal.SIGTERM, lambda *_: worker.stop.set())
    worker.serve()
    os._exit(0)


if __name__ == "__main__":
    main()

"""How many logins may be under way at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from itertools import accumulate
from pathlib import Path

from stager.host.starts import AT_ONCE, SHARED, start


def test_eight_at_once_for_each_machine() -> None:
    """Of twenty starts to one machine never more than eight are under way; another machine's do not wait for them."""
    lock = threading.Lock()
    now = most = 0

    def one() -> None:
        nonlocal now, most
        with start("gpu1", 22):
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.02)
            with lock:
                now -= 1

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    with start("gpu2", 22):
        pass
    for thread in threads:
        thread.join()
    assert most == AT_ONCE


LOGIN = """
import sys, time
from stager.host.starts import start
with start("gpu1", 22):
    print("in", time.monotonic(), flush=True)
    time.sleep(0.5)
    print("out", time.monotonic(), flush=True)
"""


def test_processes_share_their_places(tmp_path: Path) -> None:
    """Processes of one worker log in to a machine at most eight at a time, all of them together."""
    environment = {**os.environ, SHARED: str(tmp_path / "places")}
    processes = [
        subprocess.Popen([sys.executable, "-c", LOGIN], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(AT_ONCE + 4)
    ]
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    changes = sorted((float(words[1 + 2 * half]), 1 - 2 * half) for words in said for half in (0, 1))
    at_once = list(accumulate(change for _, change in changes))

    assert max(at_once) <= AT_ONCE

"""How many logins may be under way at once."""

from __future__ import annotations

import threading
import time

from stager.host.starts import AT_ONCE, start


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

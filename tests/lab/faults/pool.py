"""Several hosts at once: each in a process of its own, fed with cases, so that one waits while another works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from tests.lab.faults.cases import Case
from tests.lab.faults.results import Result
from tests.lab.rig.place import LAB

HOSTS = 3  # what two noisy cores carry without being late themselves


class Pool:
    """Tries cases in the order given; ``result`` waits for one."""

    def __init__(self, folder: Path, cases: Sequence[Case]) -> None:
        self.folder = folder
        self.waiting = deque(dict.fromkeys(cases))
        self.futures: dict[str, Future[Result]] = {case.name: Future() for case in self.waiting}
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._work, args=(n,)) for n in range(min(HOSTS, len(self.waiting)))]
        for thread in self.threads:
            thread.start()

    def result(self, case: Case) -> Result:
        """The case's result, as soon as there is one."""
        return self.futures[case.name].result()

    def results(self) -> list[Result]:
        """What is known by now."""
        return [future.result() for future in self.futures.values() if future.done()]

    def close(self) -> None:
        """Try nothing more, and end the hosts."""
        with self.lock:
            self.waiting.clear()
        for thread in self.threads:
            thread.join()

    def _next(self, kind: str) -> Case | None:
        """The next case for a host of this kind, so that hosts are changed seldom; else the next of all."""
        with self.lock:
            for case in self.waiting:
                if case.host == kind:
                    self.waiting.remove(case)
                    return case
            return self.waiting.popleft() if self.waiting else None

    def _work(self, number: int) -> None:
        argv = [sys.executable, "-m", "tests.lab.faults.worker", str(self.folder / f"host-{number}")]
        env = dict(os.environ, STAGER_LAB_DIR=str(LAB))
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as worker:
            assert worker.stdin
            assert worker.stdout
            kind = "plain"
            while case := self._next(kind):
                kind = case.host
                worker.stdin.write(case.name + "\n")
                worker.stdin.flush()
                line = worker.stdout.readline()
                result = Result(**json.loads(line)) if line else Result(case.name, "broken", trouble=("no answer",))
                self.futures[case.name].set_result(result)
                if not line:
                    break
            worker.stdin.close()

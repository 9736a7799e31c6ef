"""One host's process: takes names of cases on stdin, answers with results on stdout, a JSON document a line."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import traceback
from pathlib import Path

from tests.lab.faults.bench import Bench
from tests.lab.faults.cases import ALL, Case
from tests.lab.faults.results import Result
from tests.lab.faults.trial import Trial
from tests.lab.rig.nspawn import until
from tests.lab.rig.slots import Slots

CASES = {case.name: case for case in ALL}


def fresh(slots: Slots, old: Bench | None, folder: Path, kind: str) -> Bench:
    """A new host in place of the one before."""
    if old:
        slots.give_back(old.machine.slot)
    slot = slots.take()
    try:
        return Bench(slot, folder, kind)
    except Exception:
        slots.give_back(slot)
        raise


def attempt(slots: Slots, bench: Bench | None, folder: Path, case: Case) -> tuple[Bench | None, Result]:
    """Try one case on the host at hand, or on a new one where that is not what it must be."""
    try:
        if bench is None or bench.kind != case.host:
            bench = fresh(slots, bench, folder, case.host)
        result = Trial(bench, case).run()
        if result.outcome == "broken" or not ready(bench):
            slots.give_back(bench.machine.slot)
            bench = None
    except Exception:  # noqa: BLE001 - whatever it is, it is this case's result
        return None, Result(case.name, "broken", trouble=("no host: " + traceback.format_exc()[-1500:],))
    return bench, result


def ready(bench: Bench) -> bool:
    """Whether the host is fit for the next case: as it was at first, with its bystander and the other's marker."""
    bench.disarm()
    until(lambda: not bench.pids_of("stager.* serve "), "the end of the last channel", 30)
    bench.stand_by()
    until(bench.machine.network.answers, "sshd", 15)
    bench.before = dataclasses.replace(bench.before, files=bench.snapshot().files)
    return not bench.differences(patience=8)


def main() -> None:
    """Until stdin ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder = Path(sys.argv[1])
    bench: Bench | None = None
    with Slots() as slots:
        try:
            for line in sys.stdin:
                bench, result = attempt(slots, bench, folder, CASES[line.strip()])
                out.write(json.dumps(dataclasses.asdict(result)) + "\n")
                out.flush()
        finally:
            if bench:
                slots.give_back(bench.machine.slot)


if __name__ == "__main__":
    main()

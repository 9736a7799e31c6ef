"""``stager demo``: the main job on this machine, with a real engine as production and as candidate."""

from __future__ import annotations

import getpass
import shlex
import signal
import sys

from stager.cli.command import command
from stager.cli.exits import DOWN_AND_UP
from stager.cli.home import writable_home
from stager.cli.output import Output
from stager.cli.planned import show_plan
from stager.cli.progress import Progress
from stager.cli.raw_samples import raw_samples
from stager.cli.run_shown import run_document, show_run
from stager.cli.writing import write_file
from stager.clock import Clock, SystemClock
from stager.demo.place import Place, make_place
from stager.demo.scene import Scene, set_scene
from stager.errors import CandidateFailed, GateRefused, NotShown, Stopped
from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.models.record import RunRecord
from stager.reports.page import report_page
from stager.run.foresight import foresee
from stager.run.whole import Outcome, Run


@command(*DOWN_AND_UP, CandidateFailed, NotShown, GateRefused)
def demo(output: Output) -> int:
    """Run the main job on this machine: a real engine in production, a real candidate staged over real SSH.

    Everything lies in one new folder under $STAGER_HOME/demo; what it starts it ends, also on Ctrl-C.
    """
    clock = SystemClock()
    place = make_place(writable_home() / "demo", f"{clock.now():%Y%m%dT%H%M%S}")
    output.say(f"stager demo, in {place.root}")
    output.say("  starting production: a real engine, and a watchdog over it …")
    try:
        with set_scene(place, clock) as scene:
            outcome, record = _carry_out(output, scene, clock)
    except KeyboardInterrupt:
        raise Stopped(signal.SIGINT, host_state="everything the demo had started has been ended") from None
    if record is None:
        assert outcome.error is not None
        raise outcome.error
    write_file(place.report, _page(place, record))
    for line in rest(place, record.run_id):
        output.say(line)
    output.emit(run_document(outcome, record) | {"folder": str(place.root), "report": str(place.report)})
    return outcome.code


def _carry_out(output: Output, scene: Scene, clock: Clock) -> tuple[Outcome, RunRecord | None]:
    _tell(output, scene)
    output.say("\nwhat a run will do, as `stager plan playbook.yaml` shows it")
    show_plan(output, foresee(scene.loaded))
    output.say("\nthe run")
    before, progress = scene.process("engine"), Progress(output)
    run = Run(scene.loaded, scene.place.home, clock, progress.listen, progress.told)
    outcome, record = run.carry_out(baseline=["overlap"])
    if record:
        show_run(output, outcome, record)
        _tell_production(output, before, scene.process("engine"))
    return outcome, record


def _tell(output: Output, scene: Scene) -> None:
    place, engine, watchdog = scene.place, scene.process("engine"), scene.process("watchdog")
    assert engine
    assert watchdog
    output.say(f"  production: llama.cpp with one slot, process {engine['pid']}, port {place.production_port}")
    output.say(f"  watchdog: process {watchdog['pid']}; starts production when it is down, unless a marker is there")
    output.say(f"  candidate: the same engine with four slots, {scene.account}")
    output.say(f"  way in: {scene.door.words}, {getpass.getuser()}@127.0.0.1:{place.ssh_port}, host key pinned")


def _tell_production(output: Output, before: object, now: object) -> None:
    first, last = (item["pid"] if isinstance(item, dict) else "none" for item in (before, now))
    changed = f"process {first} was stopped for the run (one card, one engine), process {last} serves now"
    output.say(f"production: {'the same process' if before == now else changed}")


def _page(place: Place, record: RunRecord) -> bytes:
    store, records = Store(place.home), Records(place.home)
    return report_page(record, raw_samples(store, records, record)).encode()


#: Commands that need only what the demo leaves, and those that would need the host's sshd, which is gone with it.
LEFT = ("runs", "show", "logs", "evidence", "gate", "report", "compare", "worklog")
GONE = ("doctor", "plan", "rehearse", "stage", "run", "status", "cleanup")


def rest(place: Place, run_id: str) -> list[str]:
    """What the demo leaves, and what can be done with it."""
    stager = f"STAGER_HOME={shlex.quote(str(place.home))} {sys.argv[0] if '/' in sys.argv[0] else 'stager'}"
    return [
        "everything the demo started has been ended; this is left to look at:",
        f"  report    {place.report}",
        f"  playbook  {place.playbook}",
        f"  its runs  {stager} runs",
        f"  more      {stager} show {run_id}",
        f"With that STAGER_HOME these still work: {', '.join(LEFT)} (gate with --policy {place.root / 'policy.yaml'}).",
        f"Those that ask the host ({', '.join(GONE)}) do not: its SSH server has ended with the demo.",
    ]

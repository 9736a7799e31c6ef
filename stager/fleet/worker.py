"""The worker: the only process that launches the engine. It takes jobs, and looks after what dead workers left."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stager.clock import Clock
from stager.fleet import workflows
from stager.fleet.database import Database, DatabaseGone
from stager.fleet.identity import Identity, only_one
from stager.fleet.launches import CARRY, Launches
from stager.fleet.queue import Queue, open_queue
from stager.fleet.roster import BEAT_EVERY, DEAD_AFTER, Entry
from stager.fleet.rows import ROLLOUT, VERSION
from stager.fleet.settle import Settling
from stager.fleet.work import Work
from stager.host.starts import SHARED

Say = Callable[[str], None]
#: Workers write into one database at their start; on a file each waits for the other.
SLOTS = 8


@dataclass
class Worker:
    """One worker of one state folder.

    Args:
        home: ``$STAGER_HOME``.
        database: the queue.
        clock: for records and pauses.
        say: told of what a person should know.
        slots: how many runs it carries out at once.
        command: how a run's process is started.
        dead_after: seconds without a sign of life after which another worker counts as dead.
    """

    home: Path
    database: Database
    clock: Clock
    say: Say
    slots: int = SLOTS
    command: Sequence[str] = CARRY
    dead_after: float = DEAD_AFTER
    polling: float = 1.0

    def __post_init__(self) -> None:
        self.stop = threading.Event()
        self._well_since: float | None = None
        self._said_gone = False

    def serve(self) -> None:
        """Serve the queue until ``stop`` is set; then let every run clean up, and leave.

        Raises:
            Refused: another worker serves this state folder.
            DatabaseGone: the database does not answer at the start.
        """
        os.environ[SHARED] = str(self.home / "fleet" / "places")  # our runs' processes log in side by side
        with only_one(self.home) as me, open_queue(self.database) as queue:
            queue.roster.make()
            queue.roster.beat(me.process, me.folder, self.slots)
            queue.prepare(self.slots, self.polling)
            launches = Launches(self.home, self.command)
            settling = Settling(self.home, self.clock, stopped=self.stop.is_set)
            work = Work(me.process, self.home, self.clock, launches, settling)
            self._launch(work, queue, me)
            self.say(f"worker {me.process} serves {self.database.shown}, {self.slots} runs at once")
            while not self.stop.wait(BEAT_EVERY):
                self._tend(queue, me, launches)
            self._leave(queue, me, launches)

    def _launch(self, work: Work, queue: Queue, me: Identity) -> None:
        from dbos import DBOS

        from stager.fleet.nights import begin_night

        workflows.configure(self.database, me.process)
        workflows.define(work, queue, lambda context: begin_night(context, queue, self.clock))
        DBOS.launch()

    def _tend(self, queue: Queue, me: Identity, launches: Launches) -> None:
        """Give a sign of life, end what was cancelled, take over what the dead had begun.

        Whatever goes wrong here, the runs under way go on.
        """
        try:
            queue.roster.beat(me.process, me.folder, self.slots)
            for job_id in queue.cancelled(launches.jobs()):
                launches.cancel(job_id)
            self._adopt(queue, me)
        except DatabaseGone as error:
            if not self._said_gone:
                self.say(f"{error.message} Runs under way go on; nothing new starts.")
            self._said_gone, self._well_since = True, None
        except Exception as error:  # noqa: BLE001 - it is said, and tried again
            self.say(f"a fault while looking after the queue: {type(error).__name__}: {error}")
        else:
            self._said_gone = False
            if self._well_since is None:
                self._well_since = self.clock.monotonic()

    def _adopt(self, queue: Queue, me: Identity) -> None:
        """Take over the jobs of dead processes: their runs are then settled by asking the hosts.

        The process before us in this state folder is dead, or we had no lock. Others are judged by their signs of
        life, and only when the database has answered us all that time: after an outage everybody looks dead at first.
        What another version of stager had begun cannot go on from where it was; it begins anew, by asking the host
        about the run that was named last.
        """
        from dbos import DBOS

        entries = queue.roster.all()
        dead = [entry for entry in entries if entry.process != me.process and self._is_dead(entry, me)]
        strays = queue.strays.left_by([entry.process for entry in dead])
        for entry in dead:
            left = [one for one in strays if one.executor_id == entry.process]
            if not left:
                queue.roster.strike(entry.process)
                continue
            self.say(f"worker {entry.process} is gone; what it had begun is taken over and settled")
            if any(one.app_version == VERSION for one in left):
                DBOS._recover_pending_workflows([entry.process])  # matches only rows of that dead process
            for one in sorted(left, key=lambda one: one.name == ROLLOUT):  # a rollout asks for its jobs
                if one.app_version != VERSION:
                    queue.strays.begin_anew(one)
        living = [entry.process for entry in entries if entry not in dead]
        for one in sorted(queue.strays.put_back(living), key=lambda one: one.name == ROLLOUT):
            queue.strays.begin_anew(one)

    def _is_dead(self, entry: Entry, me: Identity) -> bool:
        if entry.folder == me.folder:
            return True
        well = self._well_since is not None and self.clock.monotonic() - self._well_since > self.dead_after
        return well and entry.age > self.dead_after

    def _leave(self, queue: Queue, me: Identity, launches: Launches) -> None:
        """Let every run clean up and its job be written, then close the engine."""
        from dbos import DBOS

        self.say(f"stopping: {len(launches.jobs())} runs clean up first")
        launches.close()
        while launches.jobs():
            self.clock.sleep(0.2)
        self.clock.sleep(1.0)  # their words are being written
        DBOS.destroy()
        try:
            if not queue.strays.left_by([me.process]):
                queue.roster.strike(me.process)
        except DatabaseGone as error:
            self.say(error.message)

"""The lab engine: a true step loop that advances all active sequences together, honest unless a knob says otherwise."""

from __future__ import annotations

import asyncio

from stager.lab.ask import Ask
from stager.lab.gauges import Counters, Gauges, read_gauges
from stager.lab.knobs import Knobs, Shape
from stager.lab.sequence import Phase, Sequence, visible_tokens
from stager.lab.voice import Voice

_BASE_MEMORY = 64 * 2**20
_BYTES_PER_TOKEN = 65_536


class Engine:
    """Slots, a queue in front of them, and one loop that steps.

    A step reads some prompt tokens and says one token for every sequence that speaks, then hands the
    tokens out together. With ``time_slicing`` a step advances a single sequence instead.
    """

    def __init__(self, shape: Shape, knobs: Knobs) -> None:
        self.shape, self.knobs = shape, knobs
        self.active: list[Sequence] = []
        self.waiting: list[Sequence] = []
        self.counters = Counters()
        self.dead = knobs.dead
        self.leaked_tokens = 0
        self._numbers = 0
        self._turn = 0
        self._work = asyncio.Event()
        self.stepped = asyncio.Condition()
        self._voice = Voice(shape, knobs)

    # Requests come and go.

    def submit(self, ask: Ask) -> Sequence:
        """Queue a request. The caller reads ``out`` until None."""
        self._numbers += 1
        if 0 < self.knobs.dies_after < self._numbers:
            self.dead = True
        shown = visible_tokens(ask.tokens, self.knobs)
        sequence = Sequence(self._numbers, ask, shown, room=max(1, self.shape.context - len(shown)))
        self.waiting.append(sequence)
        self._work.set()
        return sequence

    def disconnected(self, sequence: Sequence) -> None:
        """The client went away before the end: free what the sequence holds, if honest."""
        if sequence.phase is Phase.OVER:
            return
        self.counters.cancels += 1
        if self._stays_as_ghost(sequence):
            sequence.ghost = True
            return
        sequence.abandoned = True
        self._voice.left(sequence)
        if self.knobs.memory_kept_after_cancel:
            self.leaked_tokens += sequence.held
        for neighbour in self.active:
            if neighbour is not sequence and neighbour.phase is Phase.SPEAKING:
                self._harm(neighbour)
        self.dead = self.dead or self.knobs.cancel_kills_engine
        self._work.set()

    def _stays_as_ghost(self, sequence: Sequence) -> bool:
        knobs = self.knobs
        by_phase = {
            Phase.SPEAKING: knobs.ghost_in_decode or knobs.ghost_behind_true_gauge,
            Phase.READING: knobs.ghost_in_prefill,
            Phase.WAITING: knobs.ghost_in_queue,
        }
        lost_in_a_race = knobs.ghost_every > 0 and self.counters.cancels % knobs.ghost_every == 0
        unnoticed = knobs.ghost_unless_streamed and not sequence.ask.stream
        return by_phase.get(sequence.phase, False) or lost_in_a_race or unnoticed

    def _harm(self, neighbour: Sequence) -> None:
        if self.knobs.cancel_kills_neighbour:
            self._finish(neighbour, "stop")
        if self.knobs.cancel_corrupts_neighbour:
            neighbour.salt = "harmed"

    # What it says about itself.

    def gauges(self) -> Gauges:
        """Return the gauges as published."""
        return read_gauges(self.active, self.waiting, self.counters, self.knobs, self.shape.slots)

    @property
    def reading(self) -> bool:
        """Whether some prompt is being read."""
        return any(s.phase is Phase.READING for s in self.active)

    def memory_bytes(self) -> int:
        """Return the device memory held, in bytes."""
        held = sum(s.held for s in self.active) + self.leaked_tokens
        return _BASE_MEMORY + held * _BYTES_PER_TOKEN

    # The loop.

    async def run(self) -> None:
        """Step for ever; idle without work, and for ever once dead."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self._reap()
            self._admit()
            if self.dead or not self.active:
                self._work.clear()
                await self._work.wait()
                due = loop.time()
                continue
            due = max(due + self._step_seconds(), loop.time())
            await asyncio.sleep(due - loop.time())
            self._step()
            async with self.stepped:
                self.stepped.notify_all()

    def _step_seconds(self) -> float:
        width = 1 if self._one_at_a_time() else len(self.active)
        growth = 1 + self.shape.step_growth * (width - 1)
        worn = 1 + 0.05 * self.counters.finished if self.knobs.slows_down else 1.0
        return self.shape.step_s * growth * worn

    def _one_at_a_time(self) -> bool:
        knobs = self.knobs
        return knobs.time_slicing or knobs.batch_default_of_one or knobs.lock_around_generation

    def _reap(self) -> None:
        self.waiting = [s for s in self.waiting if not s.abandoned]
        for sequence in [s for s in self.active if s.abandoned]:
            self._finish(sequence, None)
        self.active = [s for s in self.active if s.phase is not Phase.OVER]

    def _admit(self) -> None:
        width = 1 if self.knobs.lock_around_generation else self.knobs.real_slots or self.shape.slots
        while self.waiting and len(self.active) < width and self._fits(self.waiting[0]):
            sequence = self.waiting.pop(0)
            sequence.admit()
            self.active.append(sequence)

    def _fits(self, sequence: Sequence) -> bool:
        if not self.knobs.one_pool_waits or not self.active:
            return True
        asked = sum(len(s.shown) + s.ask.max_tokens for s in [*self.active, sequence])
        return asked <= self.shape.context

    def _step(self) -> None:
        chosen = self._chosen()
        self._count_step()
        budget = self.shape.prefill_per_step
        for sequence in chosen:
            if sequence.phase is Phase.READING:
                budget -= sequence.read(budget)
                if sequence.unread == 0:
                    self._voice.understand(sequence, self.active)
                    if self.knobs.answers_empty:
                        self._finish(sequence, "stop")
            elif sequence.phase is Phase.SPEAKING:
                self._say(sequence)

    def _chosen(self) -> list[Sequence]:
        if self.knobs.time_slicing:
            self._turn += 1
            return [self.active[self._turn % len(self.active)]]
        return self.active[:1] if self.knobs.batch_default_of_one else list(self.active)

    def _count_step(self) -> None:
        self.counters.busy_slots += len(self.active)
        round_over = self._turn % max(1, len(self.active)) == 0
        if round_over or not self.knobs.time_slicing_counts_rounds:
            self.counters.steps += 1

    def _say(self, sequence: Sequence) -> None:
        self._voice.say(sequence, self.active)
        if sequence.phase is Phase.OVER:
            self._finish(sequence, sequence.finish)

    def _finish(self, sequence: Sequence, finish: str | None) -> None:
        sequence.end(finish, sequence.error)
        self.counters.finished += 1
        self.counters.prompt_tokens += len(sequence.shown)
        self.counters.predicted_tokens += len(sequence.spoken)
        if self.knobs.memory_leaks:
            self.leaked_tokens += sequence.held
        sequence.out.put_nowait(None)

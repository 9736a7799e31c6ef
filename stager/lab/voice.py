"""What the lab engine's sequences take in and say; here texts may get mixed up, lost or broken off."""

from __future__ import annotations

from collections.abc import Sequence as Ordered

from stager.lab.knobs import Knobs, Shape
from stager.lab.model import babble
from stager.lab.sequence import Phase, Sequence


class Voice:
    """One engine's: it remembers what a liar lets slip into the next prompt."""

    def __init__(self, shape: Shape, knobs: Knobs) -> None:
        self.shape, self.knobs = shape, knobs
        self._last_text = ""
        self._cancelled_text = ""

    def left(self, sequence: Sequence) -> None:
        """A client left: what its slot holds stays where it is."""
        self._cancelled_text = sequence.text or "".join(sequence.shown)

    def understand(self, sequence: Sequence, active: Ordered[Sequence]) -> None:
        """Make up the reply to a prompt that has been read."""
        text = "".join(sequence.shown)
        if self.knobs.one_pool_evicts and (over := sum(s.held for s in active) - self.shape.context) > 0:
            text = "".join(sequence.shown[min(over, len(sequence.shown)) :])
        if self.knobs.crosstalk_after_cancel and self._cancelled_text:
            text, self._cancelled_text = self._cancelled_text, ""
        leaked = self._last_text if self.knobs.previous_prompt_leaks else ""
        self._last_text = text
        sequence.understand(leaked + text)
        if self.knobs.tool_operands_swapped:
            _swap_replies(sequence, active)

    def say(self, sequence: Sequence, active: Ordered[Sequence]) -> None:
        """Say one token, which may end the sequence."""
        token = sequence.next_token()
        if self.knobs.crosstalk and len(sequence.spoken) % 48 >= 32:
            speaking = [s for s in active if s.phase is Phase.SPEAKING and s is not sequence]
            token = speaking[0].next_token() if speaking else token
        if self.knobs.cancel_corrupts_neighbour and sequence.salt:
            token = babble(sequence.text + sequence.salt, len(sequence.spoken))
        sequence.say(token)
        if not (self.knobs.tokens_lost and len(sequence.spoken) % 4 == 0):
            sequence.out.put_nowait(token)
        if self.knobs.error_without_done and len(sequence.spoken) == 5:
            sequence.end(None, error="the device fell over")


def _swap_replies(sequence: Sequence, active: Ordered[Sequence]) -> None:
    for other in active:
        if other is not sequence and other.reply and other.reply.call and not other.spoken:
            other.reply, sequence.reply = sequence.reply, other.reply
            return

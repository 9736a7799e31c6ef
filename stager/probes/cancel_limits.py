"""What the cancel probe does not prove, in words for a reader, and its claim that is no phase's."""

from __future__ import annotations

from collections.abc import Sequence

from stager.client.completion import How
from stager.probes.cancel_bench import Bench
from stager.probes.cancel_cells import Phase
from stager.probes.target import Target

#: The claim about clients that asked for no stream.
UNSTREAMED = "unstreamed"


def not_proven(
    claim: str, target: Target, bench: Bench | None, *, races: int, skipped: Sequence[How]
) -> tuple[str, ...]:
    """Return the limits of what one claim's experiment shows.

    Args:
        claim: a phase's, or ``UNSTREAMED``.
        target: what was asked.
        bench: the controls, None where they broke.
        races: how many clients left in races.
        skipped: ways of leaving that could not be measured from here.
    """
    limits = [
        "that no device work is left: an idle gauge or device confirms nothing by itself",
        "that cache pages are free, where the engine keeps a pool of fixed size: only slots and times were seen",
        *_of_claim(claim, bench, races),
    ]
    if skipped:
        ways = " and ".join(way.value for way in skipped)
        limits.append(f"{ways}: not measurable through an SSH forward, which ends connections in its own way")
    if bench and bench.idle_busy is None:
        limits.append(f"whether the device comes to rest: {bench.device_unseen}")
    if bench and bench.active is None:
        limits.append("that the engine's own count comes down: it shows none here")
    if target.path == "direct":
        limits.append("anything about disconnects through a proxy in between")
    return tuple(limits)


def _of_claim(claim: str, bench: Bench | None, races: int) -> list[str]:
    """The limits of one claim alone."""
    unseen = bench is not None and (bench.waiting is None or bench.target.claims.slots is None)
    if claim == UNSTREAMED:
        limits = [
            "what only races show, and other ways of leaving than an orderly close",
            "what a request in its slot was at when its client left: without a stream only time tells",
        ]
        if unseen:
            limits.append("that it is dropped while it waits: the engine shows no queue, so none was left")
        return limits
    limits = ["requests whose answer is asked for as a whole: see the claim unstreamed"]
    if claim == Phase.DECODE.claim:
        limits.append(f"races rarer than the {races} cancels tried, and jobs that come back later")
    if claim == Phase.PREFILL.claim:
        limits.append("when, within the step it was in, a job ended: engines look for disconnects between steps")
        if bench and not bench.beside:
            limits.append("that a neighbour goes on undisturbed: beside the only claimed slot there is room for none")
    if claim == Phase.QUEUED.claim:
        limits.append("queues of more than one request")
        if unseen:
            limits.append("that it is dropped while it waits: the engine shows no gauge of its queue")
    return limits

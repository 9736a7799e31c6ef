"""``stager calibrate``: every probe against the liars it must catch, and against the honest engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.table import Table

from stager.cli.command import command
from stager.cli.output import Output
from stager.errors import NotShown, UsageError

if TYPE_CHECKING:
    from stager.probes.calibrate import Trial


@command(NotShown)
@click.option("--probe", "probes", multiple=True, metavar="NAME", help="Only this probe; may be given several times.")
@click.option("--honest-only", is_flag=True, help="Leave the liars out.")
def calibrate(output: Output, probes: tuple[str, ...], *, honest_only: bool) -> int:
    """Run every probe against the built-in liars, and against the honest engine.

    The lab engine runs in a process of its own on loopback and needs no GPU. Each liar must be caught by the probe
    meant for it; the honest engine must pass every probe, with and without the protocol's legal quirks.
    """
    from stager.probes.calibrate import calibrate as hold_against  # the probes are slow to load
    from stager.probes.catalog import PROBES

    if unknown := sorted(set(probes) - set(PROBES)):
        raise UsageError(f"There is no probe {unknown[0]!r}; there are {', '.join(PROBES)}.")

    def told(trial: Trial) -> None:
        output.detail(f"{trial.lie or 'honest'}: {trial.probe} says {trial.verdict} after {trial.seconds:.1f} s")
        for reason in trial.reasons:
            output.detail(f"  {reason}", level=2)

    found = asyncio.run(hold_against(told, probes, liars=not honest_only))
    wrong = (*found.liars_uncaught, *found.honest_unpassed)
    output.emit(found.document() | {"exit_code": NotShown.exit_code if wrong else 0})
    output.show(_table(found.trials))
    liars = [trial for trial in found.trials if trial.lie]
    honest = [trial for trial in found.trials if not trial.lie]
    caught = sum(trial.right for trial in liars)
    passed = sum(trial.right for trial in honest)
    output.say(f"{caught} of {len(liars)} liars caught; the honest engine passed {passed} of {len(honest)} trials.")
    if found.jitter_ms_p99 is not None:
        output.say(f"The client's own jitter: {found.jitter_ms_p99:.2f} ms (99th percentile).")
    for trial in wrong:
        who = f"the liar {trial.lie}" if trial.lie else "the honest engine"
        output.warn(f"stager: {trial.probe} says {trial.verdict} of {who}: {'; '.join(trial.reasons) or 'no reason'}")
    return NotShown.exit_code if wrong else 0


def _table(trials: Sequence[Trial]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("engine", "probe", "verdict", "result", "s"):
        table.add_column(name, justify="right" if name == "s" else "left")
    for trial in trials:
        engine = trial.lie or ("honest, with quirks" if trial.quirks else "honest")
        word = ("caught" if trial.lie else "passed") if trial.right else "WRONG"
        table.add_row(engine, trial.probe, trial.verdict.value, word, f"{trial.seconds:.1f}")
    return table

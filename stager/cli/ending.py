"""How the host was left, as every command that restores tells it. Light: a cleanup must start at once."""

from __future__ import annotations

from stager.cli.output import Output
from stager.models.record import Cleanup


def show_cleanup(output: Output, words: str, cleanup: Cleanup) -> None:
    """Tell how the host was left."""
    output.say(f"host: {words}")
    output.say(f"  candidate stopped: {'yes' if cleanup.candidate_stopped else 'NO'}")
    output.say(f"  restored: {', '.join(cleanup.restored) or 'nothing was down'}")
    output.say(f"  markers cleared: {', '.join(cleanup.markers_cleared) or 'none'}")
    for entry in cleanup.left:
        output.say(f"  LEFT: {entry.path or entry.what} {entry.why}")
    if cleanup.downtime_seconds is not None:
        output.say(f"  production was down for {cleanup.downtime_seconds:.1f} s")
    output.say(f"  production as before: {'yes' if cleanup.production_as_before else 'NO'}")

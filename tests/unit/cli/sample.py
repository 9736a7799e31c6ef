"""Commands that do, on demand, everything a command may do."""

from __future__ import annotations

import os
import signal
from time import sleep

import click

from stager.cli.command import command
from stager.cli.output import Output
from stager.errors import NotRestored, Refused, Stopped

HOST_TEXT = "log line \x1b[2Jwith [bold]markup[/bold] and \x07bell"


@command(Refused, NotRestored, Stopped)
@click.argument("what")
@click.option("--hold", default="30m", show_default=True, help="How long.")
def sample(output: Output, what: str, hold: str) -> int | None:
    """Do one of many things.

    The second paragraph is for --help alone.
    """
    match what:
        case "fine":
            output.say(f"for people: {hold}")
            output.detail("in detail")
            output.emit({"fine": True})
        case "seven":
            output.emit({"verdict": "refuse"})
            return 7
        case "refused":
            raise Refused(["the port is taken", "the disk is full"], next="stager doctor x.yaml", port=8080)
        case "late":
            output.emit({"run_id": "r"})
            raise NotRestored("Production is down.", next="stager status")
        case "twice":
            output.emit({})
            output.emit({})
        case "fault":
            raise ZeroDivisionError("nobody thought of this")
        case "extra":
            raise ModuleNotFoundError("No module named 'dbos.core'", name="dbos.core")
        case "interrupt":
            raise KeyboardInterrupt
        case "terminate" | "hangup":
            os.kill(os.getpid(), signal.SIGTERM if what == "terminate" else signal.SIGHUP)
            sleep(5)
        case "much":
            for number in range(100_000):
                output.say(f"line {number}")
            output.warn("the work went on to its end")
        case "host text":
            output.say(HOST_TEXT)
            output.show(HOST_TEXT)
    return None


@command()
@click.argument("path")
def keeps(output: Output, path: str) -> None:
    """Write a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("kept")


@command()
def looks(output: Output) -> None:
    """Change nothing, and fail."""
    raise ZeroDivisionError("in a command that changes nothing")

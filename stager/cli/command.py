"""The frame of every command: ``--json``, ``-v``, exit codes under ``--help``, an ``Output`` as first argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from stager.cli.exits import codes_of, table
from stager.cli.output import Output, Said
from stager.errors import NotRestored, StagerError, Unreachable

Body = Callable[..., int | None]


class Command(click.Command):
    """A click command that knows its exit codes and writes them under its help as they stand."""

    exit_codes: tuple[int, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes, one a line."""
        with formatter.section("Exit codes (an unknown code is a failure)"):
            formatter.write_text("")
            formatter.write(table(self.exit_codes) + "\n")


class Group(click.Group):
    """A group of commands under one word (``stager evidence list``)."""

    command_class = Command


def command(*errors: type[StagerError], name: str | None = None) -> Callable[[Body], Command]:
    """Make a function a command; it gets an ``Output`` first, then click's own parameters.

    The function returns None for exit code 0, or the code. It prints through the output, calls ``emit`` once
    with its document, and raises errors; it never prints them.

    Args:
        errors: the classes it may raise besides a fault and wrong use; their codes go under ``--help``.
        name: the command's name, where the function's own will not do.
    """

    def make(body: Body) -> Command:
        changes_host = any(issubclass(error, NotRestored) for error in errors)
        asks_host = any(issubclass(error, Unreachable) for error in errors)

        def run(*, as_json: bool, verbose: int, **parameters: Any) -> int:  # noqa: ANN401
            said = click.get_current_context().obj
            typed = said.typed if isinstance(said, Said) else ()
            output = Output(
                as_json=as_json, verbose=verbose, changes_host=changes_host, asks_host=asks_host, typed=typed
            )
            if isinstance(said, Said):
                said.output = output
            return body(output, **parameters) or 0

        parameters: list[click.Parameter] = list(reversed(getattr(body, "__click_params__", [])))
        parameters.append(click.Option(["--json", "as_json"], is_flag=True, help="One JSON document on stdout."))
        parameters.append(click.Option(["-v", "--verbose"], count=True, help="Say more; twice for everything."))
        made = Command(
            name or body.__name__.replace("_", "-"),
            callback=run,
            params=parameters,
            help=body.__doc__,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        made.exit_codes = codes_of(errors)
        return made

    return make

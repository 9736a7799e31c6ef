"""The command ``stager``: a table of commands loaded when asked for, and the only place that turns errors into text."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from difflib import get_close_matches

import click

import stager
from stager.cli.group import Group
from stager.cli.home import forbidden
from stager.cli.next_step import next_step
from stager.cli.output import Output, Said, flush
from stager.cli.signals import stopping
from stager.errors import UNKNOWN, UNTOUCHED, HostHeld, Refused, StagerError, Stopped, Unreachable, UsageError

#: Command name -> where it is. One line a command; its module is imported when the command is used.
COMMANDS: dict[str, str] = {
    "init": "stager.cli.init:init",
    "doctor": "stager.cli.doctor:doctor",
    "rehearse": "stager.cli.rehearse:rehearse",
    "plan": "stager.cli.plan:plan",
    "stage": "stager.cli.stage:stage",
    "verify": "stager.cli.verify:verify",
    "logs": "stager.cli.logs:logs",
    "extend": "stager.cli.extend:extend",
    "cleanup": "stager.cli.cleanup:cleanup",
    "run": "stager.cli.run:run",
    "promote": "stager.cli.promote:promote",
    "rollback": "stager.cli.rollback:rollback",
    "status": "stager.cli.status:status",
    "runs": "stager.cli.runs:runs",
    "show": "stager.cli.show:show",
    "evidence": "stager.cli.evidence:evidence",
    "gate": "stager.cli.gate:gate",
    "report": "stager.cli.report:report",
    "compare": "stager.cli.compare:compare",
    "worklog": "stager.cli.worklog:worklog_command",
    "context": "stager.cli.context:context",
    "audit": "stager.cli.audit:audit",
    "calibrate": "stager.cli.calibrate:calibrate",
    "schedule": "stager.cli.schedule:schedule",
    "fleet": "stager.cli.fleet:fleet",
    "demo": "stager.cli.demo:demo",
}


class Commands(Group):
    """The group of all commands, in the order of a night's work."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one there is."""
        if args and not args[0].startswith("-") and args[0] not in self.elsewhere:
            near = get_close_matches(args[0], self.elsewhere, n=1)
            raise click.UsageError(
                f"No such command '{args[0]}'." + (f" Did you mean '{near[0]}'?" if near else ""), ctx
            )
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, elsewhere=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(stager.__version__, "-V", "--version", prog_name="stager", message="%(prog)s %(version)s")
def group() -> None:
    """Stage a candidate LLM engine beside production, count what happens, put production back."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every error ends here."""
    words = list(sys.argv[1:] if argv is None else argv)
    said = Said(tuple(words))
    try:
        with stopping():
            result = group.main(words, prog_name="stager", standalone_mode=False, obj=said)
        code = result if isinstance(result, int) else 0
    except BaseException as error:  # noqa: BLE001 - the one place where every error becomes an exit code
        output = said.output or Output(as_json=wants_json(words), typed=said.typed)
        code = _end(error, output)
    for stream in (sys.stdout, sys.stderr):
        flush(stream)
    return code


def wants_json(words: Sequence[str]) -> bool:
    """Say whether ``--json`` stands among the options, for errors met before they were parsed."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _end(error: BaseException, output: Output) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not output.as_json:
        output.warn(error.format_message())
        return UsageError.exit_code
    return tell(_known(error, output), output)


def _known(error: BaseException, output: Output) -> StagerError:
    """Return an error as one of ours; whoever does not change a host leaves it untouched."""
    host_state = UNKNOWN if output.changes_host else UNTOUCHED
    if isinstance(error, StagerError):
        return error
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return Stopped(signal.SIGINT, host_state=host_state)
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        return UsageError(error.format_message(), next=f"{context.command_path} --help" if context else "")
    if isinstance(error, OSError) and not output.changes_host and (told := forbidden(error)):
        return told
    from stager.cli.extras import missing_extra  # these two are loaded only when they are needed
    from stager.cli.faults import fault

    return missing_extra(error, host_state=host_state) or fault(error, host_state=host_state)


def command_path(words: Sequence[str]) -> str:
    """Return the command that was typed, as far as it is one, without what it was given (``stager evidence show``)."""
    command: click.Command | None = group
    context, path = click.Context(group), "stager"
    for word in words:
        if word.startswith("-"):
            continue
        command = command.get_command(context, word) if isinstance(command, click.Group) else None
        if command is None:
            break
        path += f" {word}"
    return path


def concerns_host(error: StagerError, output: Output) -> bool:
    """Say whether an operator must be told what became of the host: there is one, and it was not only a typing mistake.

    Whatever happened to a host is always told; the JSON document has its key in any case.
    """
    if error.host_state != UNTOUCHED or isinstance(error, Refused | Unreachable | HostHeld):
        return True
    return output.asks_host and not isinstance(error, UsageError)


def tell(error: StagerError, output: Output) -> int:
    """Write an error for people on stderr and, with ``--json``, as the one document on stdout; return its code."""
    if isinstance(error, UsageError) and not error.next:
        error.next = f"{command_path(output.typed)} --help"
    error.next = error.next or next_step(error, output.typed)
    output.warn(f"stager: {error.message}")
    if log := error.details.get("log"):
        output.warn(f"the end of the candidate's output:\n{log}")
    if concerns_host(error, output):
        output.warn(f"host: {error.host_state}")
    output.warn(f"next: {error.next}")
    if not output.emitted:
        output.emit(error.document())
    return error.code

"""Every error says what to type next, and it can be typed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import stager.cli.faults
from stager.cli.main import COMMANDS, group, main
from stager.cli.next_step import next_step
from stager.errors import InvalidFile, Refused, StagerError, Stopped, Unreachable

PACKAGE = Path(stager.cli.faults.__file__).parent.parent
#: Programs besides stager that a `next` may name.
PROGRAMS = {"apt-get", "loginctl", "ls", "make", "pip", "ssh", "ssh-add", "ssh-copy-id", "ssh-keygen", "visudo"}
PROGRAMS |= {"${EDITOR:-vi}"}
#: Words that each command takes.
WORDS = {
    "init": "gpu1",
    "doctor": "p.yaml",
    "rehearse": "'my host.yaml'",
    "plan": "p.yaml",
    "stage": "p.yaml --hold 5m",
    "verify": "2026 --probe overlap",
    "logs": "2026",
    "extend": "2026 5m",
    "cleanup": "--host gpu1",
    "run": "p.yaml --until 06:00",
    "promote": "cd34 --policy policy.yaml --playbook p.yaml",
    "rollback": "--playbook=p.yaml",
    "status": "p.yaml",
    "runs": "",
    "show": "2026",
    "evidence": "list --build cd34",
    "gate": "cd34 --policy policy.yaml",
    "report": "2026",
    "compare": "2026 2027",
    "worklog": "--last 3",
    "context": "m.gguf",
    "audit": "./server --config engine.yaml",
    "calibrate": "",
    "schedule": "add p.yaml --at 01:30 --until 06:00",
    "fleet": "submit fleet.yaml",
    "demo": "",
}


def classes(root: type[StagerError] = StagerError) -> Iterator[type[StagerError]]:
    """Yield every class of error there is."""
    yield root
    for below in root.__subclasses__():
        yield from classes(below)


def made(kind: type[StagerError]) -> StagerError:
    """An error of a class that says nothing itself."""
    if issubclass(kind, Stopped):
        return kind(15)
    return kind(["no"]) if issubclass(kind, Refused) else kind("no")


def typeable(text: str) -> bool:
    """Whether a shell would find the program, and stager the command with its options and arguments."""
    program, *words = shlex.split(text)
    if program != "stager":
        return program in PROGRAMS
    command: click.Command = group
    context = click.Context(group)
    while isinstance(command, click.Group) and words and words[0] != "--help":
        found = command.get_command(context, words.pop(0))
        if found is None:
            return False
        command = found
    if "--help" in words:
        return True
    try:
        command.make_context("stager", words)
    except click.exceptions.NoArgsIsHelpError:
        return False
    return True


@pytest.mark.parametrize("command", COMMANDS)
def test_every_class_of_error_in_every_command(command: str) -> None:
    """Whatever goes wrong wherever, there is something to type that stager or a shell understands."""
    typed = [command, *shlex.split(WORDS[command])]
    for kind in classes():
        step = next_step(made(kind), typed)
        assert typeable(step), f"{kind.__name__} in stager {command}: {step}"


@pytest.mark.parametrize(
    ("words", "error", "step"),
    [
        ("run p.yaml", Refused(["no"]), "stager doctor p.yaml"),
        ("doctor p.yaml", Refused(["no"]), "stager doctor p.yaml"),
        ("promote cd34 --policy q.yaml --playbook 'my p.yaml'", Unreachable("no"), "stager doctor 'my p.yaml'"),
        ("cleanup --host gpu1", Unreachable("no"), "stager status gpu1"),
        ("schedule add p.yaml --at 1", Refused(["no"]), "stager schedule list"),
        ("gate cd34 --policy 'q w.yaml'", InvalidFile("no"), "stager gate cd34 --policy 'q w.yaml'"),
        ("plan p.yaml", StagerError("no"), "stager plan p.yaml -v"),
        ("", StagerError("no"), "stager --help"),
    ],
)
def test_it_fits_what_was_typed(words: str, error: StagerError, step: str) -> None:
    """The playbook or host that was named is the one that is asked about, quoted; a policy is not taken for one."""
    assert next_step(error, shlex.split(words)) == step


def written() -> Iterator[tuple[str, str]]:
    """Yield every `next=` in the source whose words stand there, with its place; values put in become `x1`."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.keyword) or node.arg != "next":
                continue
            if isinstance(node.value, ast.Constant) and node.value.value:
                yield f"{path.name}:{node.value.lineno}", str(node.value.value)
            elif isinstance(node.value, ast.JoinedStr) and isinstance(node.value.values[0], ast.Constant):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "x1" for part in node.value.values]
                yield f"{path.name}:{node.value.lineno}", "".join(parts)


def test_what_errors_say_themselves_can_be_typed() -> None:
    """Each `next` in the source names a program, and each of stager's a command with options that it has."""
    found = list(written())
    assert len(found) > 40
    wrong = [f"{place}: {text}" for place, text in found if not typeable(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("evidence show 4806 --raw", "stager evidence show"),
        ("evidence export 2026", "stager evidence export"),
        ("schedule morning --since nope", "stager schedule morning"),
        ("evidence verify --nope", "stager evidence verify"),
        ("evidence nope", "stager evidence"),
        ("runs --since nope", "stager runs"),
        ("--nope", "stager"),
    ],
)
def test_wrong_use_leads_to_the_help_of_the_very_command(
    words: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the parser or the command refuses, the help that is named is that of the command in its group."""
    assert main(shlex.split(words)) == 2
    assert f"next: {command} --help\n" in capsys.readouterr().err


def test_documents_and_words_have_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error that says nothing itself has its next step in the document and on stderr."""
    missing = str(tmp_path / "none.gguf")
    assert main(["context", missing, "--json"]) == 3
    said = capsys.readouterr()
    step = f"stager context {missing} --json"
    assert f'"next": "{step}"' in said.out
    assert re.search(rf"^next: {re.escape(step)}$", said.err, re.MULTILINE)

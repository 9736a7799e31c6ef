"""The README says what is: commands, options, exit codes, examples."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import click
import pytest

from stager.cli.command import Command
from stager.cli.exits import MEANINGS
from stager.cli.group import summary
from stager.cli.main import COMMANDS, group
from stager.errors import GRAVITY, InvalidFile
from stager.models.playbook import Playbook
from stager.models.source import read

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the README's code blocks in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def rows(header: str) -> list[tuple[str, ...]]:
    """Return the rows of the README's table with this header line."""
    _, _, rest = README.partition(header + "\n")
    lines = []
    for line in rest.splitlines()[1:]:
        if not line.startswith("|"):
            break
        lines.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
    return lines


#: Where a shell line goes on to another command, or to a file.
SHELL_WORDS = {"|", "||", "&&", ";", ">", ">>", "<"}


def command_lines() -> Iterator[list[str]]:
    """Yield the words of each `stager ...` line in the README's shell blocks."""
    for block in blocks("sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = list(takewhile(lambda word: word not in SHELL_WORDS, shlex.split(line, comments=True)))
            if words[:1] == ["stager"] or words[:1] == [".venv/bin/stager"]:
                yield words[1:]


def found(name: str) -> click.Command:
    """Return a command by its name."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def leaves(command: click.Command) -> list[click.Command]:
    """Return a command, or the commands under a word."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        inner = [command.get_command(context, name) for name in command.list_commands(context)]
        assert inner, f"{command.name} has no commands"
        return [leaf for one in inner if one for leaf in leaves(one)]
    return [command]


def test_every_command_is_in_the_table_and_nothing_else() -> None:
    """A command without a line, or a line without a command, fails."""
    told = {name.strip("`").removeprefix("stager ") for name, _ in rows("| command | does |")}
    assert told == set(COMMANDS)


def test_the_exit_codes_are_those_of_the_program() -> None:
    """The README, the help texts and the error classes share one table."""
    assert {int(code): meaning for code, meaning in rows("| code | meaning |")} == MEANINGS
    assert ", ".join(map(str, GRAVITY)) in README


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_explains_itself(name: str) -> None:
    """Its help has a first sentence, a line for each option, and its exit codes; --json and -v are there."""
    assert summary(COMMANDS[name]).endswith(".") or isinstance(found(name), click.Group)
    for leaf in leaves(found(name)):
        assert isinstance(leaf, Command), f"{name} is not made by stager.cli.command"
        assert leaf.help, f"{name} {leaf.name} has no help"
        assert {0, 1, 2} <= set(leaf.exit_codes)
        options = [param for param in leaf.params if isinstance(param, click.Option)]
        assert {"--json", "--verbose"} <= {word for option in options for word in option.opts}
        silent = [option.opts for option in options if not option.help]
        assert not silent, f"{name} {leaf.name}: no help for {silent}"


def test_every_option_the_readme_types_exists() -> None:
    """A command line in a shell block uses options its command has, and parameters it takes."""
    for words in command_lines():
        command: click.Command = found(words[0])
        rest = words[1:]
        while isinstance(command, click.Group):
            inner = command.get_command(click.Context(command), rest.pop(0))
            assert inner, f"there is no stager {' '.join(words)}"
            command = inner
        known = {word for param in command.params for word in (*param.opts, *param.secondary_opts)}
        wrong = [word for word in rest if word.startswith("-") and word.partition("=")[0] not in known | {"--help"}]
        assert not wrong, f"stager {' '.join(words)}: {wrong}"


def test_shell_blocks_parse() -> None:
    """Each is accepted by a POSIX shell that reads it without running it."""
    shell = shutil.which("sh")
    assert shell
    for block in blocks("sh"):
        done = subprocess.run([shell, "-n"], input=block, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_make_targets_exist() -> None:
    """What the README tells one to make is in the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z-]+)", "\n".join(blocks("sh")))):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_playbook_in_the_readme_loads_and_its_mistakes_are_told_as_shown() -> None:
    """The example is right; with a production port and a misspelt key, the program says what the README shows."""
    (text,) = [block for block in blocks("yaml") if block.startswith("stager: 1")]
    assert read(text, "p", Playbook).name == "four-slots"
    wrong = text.replace("engine: llama.cpp", "engine: llama.cpp\n  port: 8080").replace("watchdogs:", "watchdog:")
    with pytest.raises(InvalidFile) as caught:
        read(wrong, "playbooks/gpu1.yaml", Playbook)
    assert str(caught.value) in README


def test_links_lead_somewhere() -> None:
    """A relative link in the README is a file or folder of the tree."""
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target

"""Groups of commands that are imported when they are asked for; help reads their first sentences without importing."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click


class Group(click.Group):
    """A group whose commands lie elsewhere.

    Args:
        elsewhere: a command's name and where it is (``module:function``), in the order of the help.
    """

    def __init__(self, *args: Any, elsewhere: Mapping[str, str], **settings: Any) -> None:  # noqa: ANN401 - click's own
        super().__init__(*args, **settings)
        self.elsewhere = elsewhere

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's order."""
        return list(self.elsewhere)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.elsewhere:
            return None
        module, _, attribute = self.elsewhere[cmd_name].partition(":")
        found = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their first sentences."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(target)) for name, target in self.elsewhere.items()])


def summary(target: str) -> str:
    """Return the first line of a command's docstring, read from its source."""
    module, _, attribute = target.partition(":")
    found = importlib.util.find_spec(module)
    source = Path(found.origin).read_text(encoding="utf-8") if found and found.origin else ""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == attribute:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""

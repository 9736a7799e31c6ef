"""The kinds of text a playbook is made of, each with the words that say what it must be."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

#: Letters, digits, dot, dash, underscore: safe in a file name, a unit name and a URL.
Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"),
    Field(description="a name of letters, digits, dots, dashes and underscores, at most 63"),
]
OneLine = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"),
    Field(description="one line of text"),
]
EnvName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"),
    Field(description="the name of an environment variable (never its value)"),
]
EnvValue = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$"), Field(description="text")]
Word = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$"), Field(description="text")]
Argv = Annotated[
    tuple[Word, ...], Field(min_length=1, description="a command as a list of words, such as [/usr/bin/env, true]")
]


def _absolute(path: str) -> str:
    plain = all(part not in ("..", ".") for part in path.split("/"))
    if not path.startswith("/") or not plain or any(ord(character) < 32 for character in path):
        raise PydanticCustomError("path", "an absolute path without . or .. in it")
    return path


def runnable_on_host(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a command whose program would depend on a working directory; an empty one passes."""
    program = argv[0] if argv else "-"
    if not program or ("/" in program and not program.startswith("/")):
        raise PydanticCustomError("argv", "a command whose program is an absolute path or a bare name")
    return argv


#: A path on the host (or a glob there).
AbsolutePath = Annotated[str, AfterValidator(_absolute), Field(description="an absolute path")]
#: A command run on the host, outside the candidate's own tree.
HostArgv = Annotated[Argv, AfterValidator(runnable_on_host)]
Port = Annotated[int, Field(ge=1, le=65535, description="a port from 1 to 65535")]
Count = Annotated[int, Field(ge=1, description="a whole number of 1 or more")]

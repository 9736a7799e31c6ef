"""Reads configuration files into keys with their lines: YAML, JSON, TOML, INI and env files."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

from stager.errors import InvalidFile

_ENV_LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=")


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a configuration file: its path in it, its line, and whether it is an environment variable."""

    path: tuple[str, ...]
    file: str
    line: int
    environment: bool = False

    @property
    def name(self) -> str:
        """The key's own name, without its section."""
        return self.path[-1]

    @property
    def dotted(self) -> str:
        """The whole path as text."""
        return ".".join(self.path)


def read_keys(name: str, content: bytes) -> list[Key]:
    """Return the keys of one configuration file, in order.

    Raises:
        InvalidFile: it does not parse as what its name says it is.
    """
    suffix = PurePosixPath(name).suffix.lower()
    try:
        text = content.decode("utf-8")
        if suffix in {".yaml", ".yml"}:
            return list(_yaml(name, text))
        if suffix in {".json", ".jsonc"}:
            json.loads(text)
            return list(_yaml(name, text))  # JSON is YAML, and YAML nodes know their lines
        if suffix == ".toml":
            return list(_located(name, text, tomllib.loads(text), ()))
        if suffix in {".ini", ".cfg"}:
            return list(_ini(name, text))
        if suffix == ".env" or PurePosixPath(name).name.startswith(".env") or _ENV_LINE.search(text):
            return list(_env(name, text))
    except (UnicodeDecodeError, ValueError, yaml.YAMLError, configparser.Error) as error:
        raise InvalidFile(f"{name} cannot be read: {error}", file=name) from error
    raise InvalidFile(f"{name} is no YAML, JSON, TOML, INI or env file.", file=name)


def _yaml(name: str, text: str) -> Iterator[Key]:
    for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
        if node is not None:
            yield from _nodes(name, node, ())


def _nodes(name: str, node: yaml.Node, path: tuple[str, ...]) -> Iterator[Key]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, str(key.value))
            yield Key(here, name, key.start_mark.line + 1)
            yield from _nodes(name, value, here)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _nodes(name, item, path)


def _located(name: str, text: str, table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Key]:
    """Find a parsed table's keys again in the text, below their section's header."""
    lines = text.splitlines()
    start = 0
    if path:
        header = re.compile(rf"^\s*\[+\s*{re.escape('.'.join(path))}\s*\]+")
        start = next((number for number, line in enumerate(lines) if header.match(line)), 0)
    for key, value in table.items():
        pattern = re.compile(rf"^\s*\[*\s*(?:[\w.-]+\.)?[\"']?{re.escape(key)}[\"']?\s*(?:=|\.|\])")
        line = next((n for n in range(start, len(lines)) if pattern.match(lines[n])), start)
        yield Key((*path, key), name, line + 1)
        if isinstance(value, dict):
            yield from _located(name, text, value, (*path, key))
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from _located(name, text, item, (*path, key))


def _ini(name: str, text: str) -> Iterator[Key]:
    configparser.ConfigParser(interpolation=None, allow_no_value=True, strict=False).read_string(text, name)
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("[") and "]" in bare:
            section = bare[1 : bare.index("]")]
        elif bare and bare[0] not in "#;" and line[:1] not in {" ", "\t"}:
            key = re.split(r"[=:]", bare, maxsplit=1)[0].strip()
            yield Key((section, key) if section else (key,), name, number)


def _env(name: str, text: str) -> Iterator[Key]:
    for number, line in enumerate(text.splitlines(), 1):
        found = _ENV_LINE.match(line)
        if found:
            yield Key((found.group(1),), name, number, environment=True)

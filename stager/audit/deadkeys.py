"""Finds configuration keys that no source reads, and options that are parsed and never used.

A mention is no reading: a comment, a docstring, a default in a table, an assignment or a declared field does not
count, only code that asks for the name. What is asked for by a computed name cannot be seen, and the summary says so.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from stager.audit.configfiles import Key
from stager.audit.findings import DeadKey, Place, UnusedFlag
from stager.audit.limits import Flag, flags
from stager.audit.project import Project

_NAMESPACES = frozenset({"args", "kwargs", "options", "opts"})
_SECTION_WORDS = re.compile(r"^(?:default|common|global|settings?|config|DEFAULT)$")


def _plain(name: str) -> str:
    return name.replace("-", "_").casefold()


class Reads:
    """Every name that some source reads, and where first."""

    def __init__(self, project: Project, mentions: Mapping[str, tuple[str, int]]) -> None:
        self.places: dict[str, Place] = {}
        self.paths: dict[str, list[tuple[tuple[str, ...], str, int]]] = {}
        self.bare: set[str] = set()
        for module in project.modules:
            stored = {store.name for store in module.stores if store.how == "name"}
            for table in (module.key_reads, module.attribute_reads, module.strings, module.name_reads):
                for name, line in table.items():
                    if table is module.name_reads and name in stored and name not in module.key_reads:
                        continue  # a local variable of the same name reads no configuration
                    self._add(name, module.path, line)
            for keys, line in module.key_paths:
                self.paths.setdefault(_plain(keys[-1]), []).append((keys, module.path, line))
            self.bare |= {_plain(name) for name in module.attribute_reads}
        for name, (path, line) in mentions.items():
            self._add(name, path, line)
            self.bare.add(_plain(name))

    def _add(self, name: str, path: str, line: int) -> None:
        self.places.setdefault(_plain(name), Place(name=name, file=path, line=line))


def find_dead_keys(project: Project, keys: Iterable[Key], mentions: Mapping[str, tuple[str, int]]) -> list[DeadKey]:
    """Return the keys that nothing reads; ``mentions`` are the words of other languages' sources with their places."""
    reads = Reads(project, mentions)
    every = list(keys)
    parents = {key.path[:-1] for key in every}
    return [
        found for key in every for found in (_judge(project, reads, key, key.path in parents),) if found is not None
    ]


def _judge(project: Project, reads: Reads, key: Key, is_section: bool) -> DeadKey | None:
    plain = _plain(key.name)
    place = reads.places.get(plain)
    if place is None:
        if is_section and _SECTION_WORDS.match(key.name):
            return None
        near = [reads.places[name] for name in _near(plain, reads.places)]
        words = "no source reads this name" + _declared(project, key)
        if near:
            words += f"; read instead, spelled alike: {', '.join(f'{p.name} ({p.file}:{p.line})' for p in near)}"
        return _dead(key, words, near)
    elsewhere = _other_section(reads, key, plain)
    if elsewhere:
        near = [Place(name=".".join(path), file=file, line=line) for path, file, line in elsewhere[:3]]
        return _dead(key, f"this name is read in another section only: {near[0].name}", near)
    return None


def _dead(key: Key, words: str, near: list[Place]) -> DeadKey:
    return DeadKey(name=key.name, key=key.dotted, file=key.file, line=key.line, why=f"{words}.", near=tuple(near))


def _near(plain: str, places: Mapping[str, Place]) -> list[str]:
    size = len(plain)
    likely = [name for name in places if abs(len(name) - size) <= max(2, size // 4)]
    return difflib.get_close_matches(plain, likely, n=3, cutoff=0.84)


def _declared(project: Project, key: Key) -> str:
    stores = project.stores_named.get(key.name) or project.stores_named.get(key.name.replace("-", "_")) or []
    declared = [store for store in stores if store.how in {"field", "item", "attribute"}]
    return f", though it is set at {declared[0].path}:{declared[0].line}" if declared else ""


def _other_section(reads: Reads, key: Key, plain: str) -> list[tuple[tuple[str, ...], str, int]]:
    """Return where the name is read, if every reading names a section and none names this key's."""
    if len(key.path) < 2 or plain in reads.bare:
        return []
    paths = reads.paths.get(plain, [])
    parent = _plain(key.path[-2])
    if not paths or reads.places[plain].line not in {line for _, _, line in paths}:
        return []
    return [] if any(_plain(path[-2]) == parent for path, _, _ in paths) else paths


def find_unused_flags(project: Project) -> list[UnusedFlag]:
    """Return options whose value no code reads; where all options are passed on together, none is judged."""
    return [
        UnusedFlag(
            name=flag.spelling,
            file=flag.path,
            line=flag.line,
            why=f"it is parsed into {flag.dest}, and nothing in the source reads {flag.dest}.",
        )
        for flag in _judged(project)
        if not _used(project, flag)
    ]


def _judged(project: Project) -> Iterator[Flag]:
    whole = {module.path for module in project.modules if _passes_all_on(project, module.path)}
    for flag in flags(project):
        if flag.path not in whole and flag.dest not in {"help", "version"} and not flag.dest.startswith("_"):
            yield flag


def _passes_all_on(project: Project, path: str) -> bool:
    """Say whether a file hands its parsed options over as a whole, so that names alone tell nothing."""
    module = project.by_path[path]
    if "__dict__" in module.attribute_reads or "vars" in module.name_reads or "_get_kwargs" in module.attribute_reads:
        return True
    calls = (event.value for function in module.functions if not function.owner for event in function.calls)
    spread = (call.keyword("**") for call in calls if call is not None)
    return any(value is not None and value.terminal in _NAMESPACES for value in spread)


def _used(project: Project, flag: Flag) -> bool:
    if flag.kind == "click":
        takers = [
            f for f in project.functions if f.path == flag.path and any(p.name == flag.dest for p in f.parameters)
        ]
        return not takers or any(flag.dest in function.reads for function in takers)
    return any(flag.dest in table for m in project.modules for table in (m.attribute_reads, m.key_reads, m.strings))

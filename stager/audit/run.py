"""One audit from beginning to end: list, read, analyse, apply accept comments, say what was not read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from stager.audit import accept, othertext
from stager.audit.batching import BatchDefaults
from stager.audit.configfiles import Key, read_keys
from stager.audit.deadkeys import find_dead_keys, find_unused_flags
from stager.audit.facts import Module
from stager.audit.fields import find_fields
from stager.audit.findings import Audit, BatchDefault, Serialiser, Summary, Unread
from stager.audit.generation import Generation
from stager.audit.metrics import find_dead_metrics
from stager.audit.othertext import TextFile
from stager.audit.project import Project
from stager.audit.python import read_python
from stager.audit.serialisers import Serialisers
from stager.audit.sources import MAX_BYTES, Entry, Sources
from stager.audit.textflags import find_text_flags
from stager.audit.workers import find_workers
from stager.audit.writebacks import find_write_backs

_TESTS = re.compile(r"(?:^|/)(?:tests?|testing|bench|benchmarks?)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
_BATCH = 256

LIMITS = (
    "It is read, not run: what names computed at run time reach is not seen.",
    "Other languages are searched by text only; their findings say so.",
    "What a library outside of the given paths does is not known.",
)


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    modules: list[Module] = field(default_factory=list)
    texts: list[TextFile] = field(default_factory=list)
    comments: list[accept.Comment] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


def audit(sources: Sequence[Sources], configs: Sequence[tuple[str, bytes]] = ()) -> Audit:
    """Audit some places together, as one source, against some configuration files.

    Args:
        sources: where to read; names are resolved across all of them.
        configs: name and content of each configuration file.

    Raises:
        InvalidFile: a configuration file does not parse.
    """
    reading = _Reading()
    for place in sources:
        prefix = f"{place.label}/" if len(sources) > 1 else ""
        _read(place, prefix, reading)
    keys: list[Key] = []
    for name, content in configs:
        keys.extend(read_keys(name, content))
        reading.comments.extend(accept.comments(name, content))
    return _analyse([place.label for place in sources], reading, keys, len(configs))


def _read(place: Sources, prefix: str, reading: _Reading) -> None:
    wanted: list[str] = []
    others: dict[str, int] = {}
    tests = 0
    for entry in place.entries():
        why = _skip(entry)
        if entry.path.endswith("__pycache__/"):
            continue  # compiled from what is read
        if why == "test":
            tests += 1
        elif why == "other":
            suffix = PurePosixPath(entry.path).suffix or "no suffix"
            others[suffix] = others.get(suffix, 0) + 1
        elif why:
            reading.unread.append(Unread(path=_shown(prefix + entry.path), why=_shown(why)))
        else:
            wanted.append(entry.path)
    for start in range(0, len(wanted), _BATCH):
        for path, content in place.read_many(wanted[start : start + _BATCH]):
            _take(_shown(prefix + path), content, reading)
    if tests:
        reading.unread.append(Unread(path=prefix or ".", why=f"{tests} files of tests and benchmarks: not the engine"))
    if others:
        counts = ", ".join(
            f"{count} {suffix}" for suffix, count in sorted(others.items(), key=lambda item: -item[1])[:12]
        )
        reading.unread.append(Unread(path=prefix or ".", why=f"not source files of a known language: {counts}"))


def _shown(text: str) -> str:
    """Return a name as text; bytes of it that are none are escaped."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _skip(entry: Entry) -> str:
    """Return why a file is not read; empty if it is."""
    if entry.skipped:
        return entry.skipped
    suffix = PurePosixPath(entry.path).suffix.lower()
    if suffix != ".py" and suffix not in othertext.SUFFIXES:
        return "other"
    if _TESTS.search(entry.path):
        return "test"
    return f"larger than {MAX_BYTES // (1024 * 1024)} MiB" if entry.size > MAX_BYTES else ""


def _take(path: str, content: bytes | OSError, reading: _Reading) -> None:
    if isinstance(content, OSError):
        reading.unread.append(Unread(path=path, why=content.strerror or str(content)))
        return
    reading.comments.extend(accept.comments(path, content))
    if not path.endswith(".py"):
        reading.texts.append(othertext.read_text(path, content))
        return
    try:
        reading.modules.append(read_python(path, content))
    except SyntaxError as error:
        reading.unread.append(Unread(path=path, why=f"does not parse: {error.msg} (line {error.lineno})"))
    except (ValueError, RecursionError, MemoryError) as error:
        reading.unread.append(Unread(path=path, why=f"does not parse: {error}"))


def _analyse(paths: Iterable[str], reading: _Reading, keys: list[Key], configs: int) -> Audit:
    project = Project(reading.modules)
    generation = Generation(project)
    used: set[accept.Comment] = set()
    notes = reading.comments
    serialisers = accept.apply(
        [*Serialisers(project, generation).find(), *find_workers(project, generation)], notes, used
    )
    batch_defaults = accept.apply(BatchDefaults(project).find(), notes, used)
    fields = accept.apply([*find_fields(project), *othertext.find_text_fields(reading.texts)], notes, used)
    dead_keys = accept.apply(
        find_dead_keys(project, keys, othertext.mentions(reading.texts) if keys else {}), notes, used
    )
    unused_flags = accept.apply([*find_unused_flags(project), *find_text_flags(reading.texts)], notes, used)
    dead_metrics = accept.apply(find_dead_metrics(project), notes, used)
    write_backs = accept.apply(find_write_backs(project), notes, used)
    return Audit(
        paths=tuple(paths),
        serialisers=serialisers,
        batch_defaults=batch_defaults,
        fields=fields,
        dead_keys=dead_keys,
        unused_flags=unused_flags,
        dead_metrics=dead_metrics,
        dead_write_backs=write_backs,
        next_steps=tuple(_next_steps(serialisers, batch_defaults)),
        void_acceptances=accept.void(notes, used),
        summary=Summary(
            python_files=len(reading.modules),
            python_lines=sum(module.lines for module in reading.modules),
            text_files=len(reading.texts),
            config_files=configs,
            accepted=len(used),
            unread=tuple(reading.unread),
            limits=LIMITS,
        ),
    )


def _next_steps(serialisers: Sequence[Serialiser], defaults: Sequence[BatchDefault]) -> Iterator[str]:
    """Say in which order the limits must move; a serialiser alone is seldom the last."""
    open_ones = [item for item in serialisers if not item.accepted and item.kind not in {"middleware", "gate"}]
    if open_ones:
        names = ", ".join(f"{item.name} ({item.where})" for item in open_ones[:4])
        yield f"First the serialisers: {names}."
    for winner in (item for item in defaults if item.wins):
        chain = [item for item in defaults if item.limit == winner.limit]
        narrowed = any(item.how == "clamp" or item.replaced for item in chain)
        if narrowed and len(chain) > 1 and winner.value is not None:
            lead = "Taking the serialiser away alone changes nothing: " if open_ones else ""
            yield f"{lead}{winner.name} = {winner.value} ({winner.where}) comes next and decides {winner.limit}."

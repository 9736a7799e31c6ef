"""What text alone can honestly say about sources in other languages: which words they hold, which lines name a field.

Comments are left out by their markers, line by line; nothing is parsed, and every finding says that it is by text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from stager.audit.findings import Field, FieldKind, Place
from stager.audit.vocabulary import HEALTH_PATH, is_capacity

SUFFIXES = frozenset(
    {".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu", ".cuh", ".go", ".rs", ".java", ".kt", ".swift", ".zig"}
    | {".js", ".mjs", ".ts", ".tsx", ".cs", ".rb", ".lua", ".sh", ".pyx"}
)
_HASH = frozenset({".sh", ".rb", ".pyx"})
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{2,}")
_FIELD = re.compile(r"""["'`]([A-Za-z_][A-Za-z0-9_]*)["'`]\s*(?::|,|=>|\]\s*=)\s*([^,}\n]{1,80})""")
_FIELD_NAME = re.compile(
    r"n_ctx|context_(?:length|size)|busy|active|is_processing|in_?flight|(?:requests|slots|jobs)_\w+"
    r"|\w+_(?:slots|requests|jobs|concurrency)|model_loaded|queue\w*|concurrencyLimit",
    re.IGNORECASE,
)
_GOOD = re.compile(r"""(?:["'](?:ok|OK|healthy|ready|up)["']|true\b)""")
#: Words without which a file answers no request.
_SERVES = ("json", "JSON", "http", "Http", "metrics")
_ROUTE = re.compile(r"""["'`](/[a-zA-Z0-9_/-]+)["'`]""")
_LITERAL = re.compile(r"""^(?:-?\d[\d.]*|true|false|null|nil|["'][^"']*["'])\s*[)};]*\s*$""", re.IGNORECASE)
_CONFIGURED = re.compile(r"\b(?:params?|config|cfg|opts?|options|args|settings?|env|getenv|flags?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A source in another language, its comments blanked."""

    path: str
    lines: tuple[str, ...]


def read_text(path: str, source: bytes) -> TextFile:
    """Return a file's lines without what its comment markers hide."""
    marker = "#" if PurePosixPath(path).suffix in _HASH else "//"
    lines: list[str] = []
    inside = False
    for line in source.decode("utf-8", "replace").splitlines():
        if inside:
            inside = "*/" not in line
            lines.append("")
            continue
        bare = line.strip()
        if marker == "//" and bare.startswith("/*"):
            inside = "*/" not in bare
            lines.append("")
        elif bare.startswith(marker):
            lines.append("")
        else:
            lines.append(line.partition(f" {marker} ")[0])
    return TextFile(path, tuple(lines))


def mentions(files: list[TextFile]) -> dict[str, tuple[str, int]]:
    """Return every word of the sources, with the first place it stands at."""
    found: dict[str, tuple[str, int]] = {}
    for file in files:
        for number, line in enumerate(file.lines, 1):
            for word in _WORD.findall(line):
                found.setdefault(word, (file.path, number))
    return found


def find_text_fields(files: list[TextFile]) -> list[Field]:
    """Return lines that give a capacity or health field a value, as far as text tells."""
    return [field for file in files for field in _fields(file)]


def _fields(file: TextFile) -> Iterator[Field]:
    endpoint = "not told by text"
    if not any(word in line for line in file.lines for word in _SERVES):
        return  # no answer of a server is made here
    for number, line in enumerate(file.lines, 1):
        if not any(quote in line for quote in "\"'`"):
            continue
        path = _ROUTE.search(line)
        if path and HEALTH_PATH.search(path.group(1)):
            endpoint = f"{path.group(1)} (the nearest route above)"
        pairs = {found.group(1): found.group(2).strip() for found in reversed(list(_FIELD.finditer(line)))}
        for name, value in pairs.items():  # a name counts once on a line, with what stands first
            healthy = name in {"status", "ok", "health"} and _GOOD.match(value) is not None
            if is_capacity(name) or healthy or _FIELD_NAME.fullmatch(name):
                yield _field(file, number, name, value, endpoint)


def _field(file: TextFile, line: int, name: str, value: str, endpoint: str) -> Field:
    kind: FieldKind = "computed"
    words = "Not settled by text: the value may be anything; read the line."
    if _LITERAL.match(value):
        kind, words = "constant", "Yes, if the line is what is answered: a literal says the same whatever happens."
    elif _CONFIGURED.search(value):
        kind, words = "configured", "Yes, if the line is what is answered: its text speaks of settings only."
    return Field(
        name=name,
        file=file.path,
        line=line,
        why=f"this line names it: {value}",
        by="text",
        endpoint=endpoint,
        kind=kind,
        settled=False,
        returned_at=Place(name="", file=file.path, line=line),
        can_disagree=words,
    )

"""Options of other languages that are parsed and never used, as far as text alone can honestly tell.

An option is called unused only if no other line anywhere names the place its value goes to, but for lines that merely
set or declare it. So a common name hides an unused option, and nothing that another line names is ever called unused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from stager.audit.findings import UnusedFlag
from stager.audit.othertext import TextFile
from stager.audit.textoptions import LONGEST, WORD, Option, read_options

_QUOTED = re.compile(r"""["'`]([A-Za-z][\w-]*)["'`]""")
#: What a statement that only sets or declares a name looks like: ``a.b->name =``, ``Type name``, ``name: Type,``.
_SETS = r"(?:[\w:<>,\[\]*&.]|->|\s)*?(?<!\w){name}\s*(?:[+\-|*]|<<|\?\?|:)?=(?![=>])"
_DECLARES = r"\s*(?:[a-z]+\s+)*[A-Za-z_][\w:]*(?:<[\w:, ]+>)?(?:\[\])?\s+{name}\s*(?:\[\w*\])?\s*"
_TYPED = r"\s*(?:pub(?:\([a-z]+\))?\s+|readonly\s+)?{name}\??\s*:(?!:)\s*[^{{}}=]+"
_READS = re.compile(
    r"\s*(?:return|yield|throw|case|await|co_\w+|delete|goto|new|not|and|or|go|defer|local|echo|if|else|while|for|in|match|export)\b"
)


def find_text_flags(files: list[TextFile]) -> list[UnusedFlag]:
    """Return the options of other languages whose value no line of text uses."""
    options = [option for file in files for option in read_options(file)]
    used = _used(files, options)
    return [_finding(option) for option in options if not any((option.quoted, name) in used for name in option.names)]


def _used(files: list[TextFile], options: Iterable[Option]) -> set[tuple[bool, str]]:
    """Return the names, as words or as quoted text, that some line uses that is not the option's own."""
    wanted: dict[tuple[bool, str], set[tuple[str, int]]] = {}
    for option in options:
        for name in option.names:
            own = {(option.file.path, line) for line in option.own}
            wanted.setdefault((option.quoted, name), set()).update(own)
    used: set[tuple[bool, str]] = set()
    for file in files if wanted else ():
        for number, line in enumerate(file.lines, 1):
            named = {(False, word) for word in WORD.findall(line)} | {(True, word) for word in _QUOTED.findall(line)}
            for key in (named & wanted.keys()) - used:
                if (file.path, number) not in wanted[key] and (key[0] or not _only_sets(line, key[1])):
                    used.add(key)
    return used


def _only_sets(line: str, name: str) -> bool:
    """Say whether a line names something only to set or declare it."""
    if len(line) > LONGEST:
        return False
    if re.fullmatch(_TYPED.format(name=name), line):
        return name not in WORD.findall(line.partition(":")[2])
    return all(_sets(part, name) for part in re.split("[;{}]", line) if name in WORD.findall(part))


def _sets(statement: str, name: str) -> bool:
    if _READS.match(statement):
        return False
    match = re.match(_SETS.format(name=name), statement)
    if match is not None:
        return name not in WORD.findall(statement[match.end() :])
    return re.fullmatch(_DECLARES.format(name=name), statement) is not None


def _finding(option: Option) -> UnusedFlag:
    place = " and ".join(option.names)
    return UnusedFlag(
        name=option.spelling,
        file=option.file.path,
        line=option.line,
        why=f"its value goes to {place}, and no other line of text uses {'it' if len(option.names) == 1 else 'them'}; "
        "names made by macros or at run time are not seen.",
        by="text",
    )

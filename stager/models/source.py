"""Read YAML text into a model, with every complaint at once, each with its line, key path and expectation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from stager.models.checks import KIND
from stager.models.complaint import Complaint, Path, invalid
from stager.models.wording import complaints, data_path, value_at
from stager.models.yamltree import Tree, parse
from stager.models.yamlwords import DISAGREE

M = TypeVar("M", bound=BaseModel)


def read(text: str, name: str, model: type[M]) -> M:
    """Return the model a YAML text describes.

    Args:
        text: the whole file.
        name: the file's name, for the complaints.
        model: what the text must describe.

    Raises:
        InvalidFile: the text does not describe it; every complaint has file, line, column and key path.
    """
    source = Source.parse(text, name)
    value, found = source.check(model)
    if value is None or found:
        raise invalid(found)
    return value


@dataclass(frozen=True)
class Source:
    """A parsed text that can still say where each of its keys stands."""

    tree: Tree

    @classmethod
    def parse(cls, text: str, name: str) -> Source:
        """Parse a text; mistakes in it are reported by ``check``."""
        return cls(parse(text, name))

    def check(self, model: type[M], at: Path = ()) -> tuple[M | None, list[Complaint]]:
        """Validate the whole text, or the part at a path; return the model, if there is one, and all complaints."""
        found = list(self.tree.complaints) if at == () else []
        data = value_at(self.tree.data, at)
        if data is None and found:
            return None, found
        value, wrong = self._validate(model, data, at)
        told = complaints(wrong, self.tree, model, at)
        if wrong:
            # Cross-checks run only where all else is right: look again without what is wrong.
            rest, removed = without(data, [error["loc"] for error in wrong if error["type"] != KIND])
            again = [error for error in self._validate(model, rest, at)[1] if error["type"] == KIND]
            told += complaints(again, self.tree, model, at, removed)
        found, told = _one_each(found, told)
        seen = {(complaint.line, complaint.column) for complaint in found}
        return value, found + [complaint for complaint in told if (complaint.line, complaint.column) not in seen]

    def part(self, model: type[M], at: Path) -> M:
        """Return the model that the part at a path describes.

        Raises:
            InvalidFile: it does not describe one.
        """
        value, found = self.check(model, at)
        if value is None or found:
            raise invalid(found)
        return value

    def named_parts(self, models: Mapping[str, type[BaseModel]], at: Path) -> dict[str, BaseModel]:
        """Validate a free section whose keys are names (probes), each with a model of its own.

        Args:
            models: name -> what stands under it.
            at: the section's path.

        Raises:
            InvalidFile: with every unknown name and every complaint about the others at once.
        """
        section = self.at(at)
        names = list(section) if isinstance(section, dict) else []
        found = [complaint for name in names for complaint in self.unknown(name, models, (*at, name))]
        parts: dict[str, BaseModel] = {}
        for name in names:
            if name in models:
                part, wrong = self.check(models[name], (*at, name))
                found += wrong
                if part is not None:
                    parts[name] = part
        if found:
            raise invalid(found)
        return parts

    def unknown(self, name: str, known: Iterable[str], at: Path) -> list[Complaint]:
        """Return a complaint, with the nearest known name, if a name at a path is none of those known."""
        names = sorted(known)
        if name in names:
            return []
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean `{near[0]}`?" if near else ""
        return [self.complaint(at, f"one of {', '.join(names)}", f"`{name}`", hint)]

    def at(self, path: Path) -> Any:  # noqa: ANN401 - whatever the text holds
        """Return the plain value at a path, checked or not; None where there is none."""
        return value_at(self.tree.data, path)

    def complaint(self, at: Path, expected: str, found: str, hint: str = "") -> Complaint:
        """Return a complaint about the place a path stands at; raise it with ``complaint.invalid``."""
        return self.tree.complaint(at, expected, found, hint)

    def _validate(self, model: type[M], data: Any, at: Path) -> tuple[M | None, list[Any]]:  # noqa: ANN401
        try:
            # JSON mode: a strict model takes a list for a tuple and a word for an enum only there.
            return TypeAdapter(model).validate_json(json.dumps(data)), []
        except ValidationError as error:
            return None, error.errors(include_url=False)


def _one_each(found: list[Complaint], told: list[Complaint]) -> tuple[list[Complaint], list[Complaint]]:
    """Say of a word that YAML readers disagree about only one thing.

    That it should be true or false, or in quotes, is of no use where neither belongs there; else it is of more use
    than what the model says of it.
    """
    expected = {complaint.path: complaint.expected for complaint in told}
    words = [complaint for complaint in found if complaint.hint == DISAGREE and complaint.path in expected]
    useless = [
        complaint
        for complaint in words
        if complaint.expected.startswith(("true,", "false,")) and expected[complaint.path] != "true or false"
    ]
    better = {complaint.path for complaint in words if complaint not in useless}
    return [one for one in found if one not in useless], [one for one in told if one.path not in better]


def without(data: Any, locations: Iterable[Path]) -> tuple[Any, list[Path]]:  # noqa: ANN401
    """Return a copy of some data without the keys that errors lie at or under, and the paths of those keys."""
    copy, removed = json.loads(json.dumps(data)), []
    for location in locations:
        path = data_path(location, data, keep_last=False)
        while path and not isinstance(value_at(data, path[:-1]), dict):
            path = path[:-1]  # an entry of a list goes with its whole list, or the others would change places
        if path:
            removed.append(path)
            above = value_at(copy, path[:-1])
            if isinstance(above, dict):
                above.pop(path[-1], None)
    return copy, removed

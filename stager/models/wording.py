"""Pydantic's errors in an operator's words: what was expected at which key, what was found."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails

from stager.models import shape
from stager.models.checks import KIND, Finding
from stager.models.complaint import Complaint, Path, key_path
from stager.models.yamltree import Tree

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
}
_LIMITS = {
    "greater_than": "a value above {gt}",
    "greater_than_equal": "a value of {ge} or more",
    "less_than": "a value below {lt}",
    "less_than_equal": "a value of {le} or less",
    "too_short": "{min_length} or more entries",
    "too_long": "{max_length} entries or fewer",
    "string_too_short": "text of {min_length} or more characters",
    "string_too_long": "text of {max_length} characters or fewer",
    "string_pattern_mismatch": "text that matches {pattern}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}
#: Values longer than this are cut when they are repeated.
SHOWN = 60


def complaints(
    errors: Iterable[ErrorDetails],
    tree: Tree,
    model: Any,  # noqa: ANN401
    at: Path = (),
    removed: Iterable[Path] = (),
) -> list[Complaint]:
    """Return the complaints a validation's errors amount to, each with the place in the text it is about.

    Args:
        errors: of one validation.
        tree: the text that was validated, or from which a part was.
        model: what it was validated against.
        at: the path of the part, if only a part was validated.
        removed: paths taken out before; a cross-check that looked at one of them is not repeated.
    """
    gone = list(removed)
    return [complaint for error in errors for complaint in _translate(error, tree, model, at, gone)]


def _translate(error: ErrorDetails, tree: Tree, model: Any, at: Path, gone: list[Path]) -> list[Complaint]:  # noqa: ANN401
    kind, loc, context = error["type"], error["loc"], error.get("ctx") or {}
    inner = data_path(loc, value_at(tree.data, at), keep_last=kind in ("missing", "extra_forbidden"))
    path = (*at, *inner)
    if kind == KIND:
        found = [one for one in context["findings"] if not _touches(gone, inner, one)]
        return [_cross(tree, path, one) for one in found]
    if kind == "missing":
        return [tree.complaint(path, shape.words_for(model, inner)[0], "nothing", "the key is missing")]
    if kind == "extra_forbidden":
        return [_unknown_key(tree, model, at, inner)]
    if loc[-1:] == ("[key]",):
        return [tree.complaint(path, shape.words_for_key(model, inner[:-1]), f"the key `{inner[-1]}`")]
    value = value_at(tree.data, path)
    if kind == "too_short" and isinstance(value, list) and len(value) >= context["min_length"]:
        return []  # pydantic counts only the entries that are right; the wrong ones have been complained about
    shown = "a value that is not repeated here" if shape.is_private(model, inner) else describe(value)
    return [tree.complaint(path, _expected(error, model, inner), shown, _hint(kind, value))]


def _cross(tree: Tree, at: Path, finding: Finding) -> Complaint:
    """Say what does not fit together; a default that does not, at the written value that speaks against it."""
    path = (*at, *finding.path)
    if tree.is_written(path):
        return tree.complaint(path, finding.expected, finding.found)
    spot = next((spot for read in finding.reads if (spot := tree.keys.get((*at, *read)))), tree.spot(path))
    hint = "this is its default: the key is not written"
    return Complaint(tree.file, spot.line, spot.column, key_path(path), finding.expected, finding.found, hint)


def _touches(gone: list[Path], inner: Path, finding: Finding) -> bool:
    looked_at = [(*inner, *path) for path in (finding.path, *finding.reads)]
    return any(path[: len(lost)] == lost or lost[: len(path)] == path for path in looked_at for lost in gone)


def _expected(error: ErrorDetails, model: Any, inner: Path) -> str:  # noqa: ANN401
    kind, context = error["type"], error.get("ctx") or {}
    described, own = shape.words_for(model, inner)
    if own and (kind in _KINDS or kind in _LIMITS):
        return described
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _LIMITS:
        return _LIMITS[kind].format(**context).replace("'", "")
    return error["msg"].removeprefix("Value error, ")


def _unknown_key(tree: Tree, model: Any, at: Path, inner: Path) -> Complaint:  # noqa: ANN401
    key, known = str(inner[-1]), shape.known_keys(model, inner[:-1])
    near = get_close_matches(key, known, n=1, cutoff=0.6)
    homes = [key_path((*at, *home)) for home in shape.homes_of(model, key)]
    if near:
        hint = f"did you mean `{near[0]}`?"
    elif homes:
        hint = f"`{key}` belongs at {' or '.join(homes)}"
    else:
        hint = ""
    expected = f"one of {', '.join(known)}" if known else "no key here"
    return tree.complaint((*at, *inner), expected, f"the unknown key `{key}`", hint)


def _hint(kind: str, value: object) -> str:
    if kind == "string_type" and isinstance(value, dict) and len(value) == 1 and list(value.values()) == [None]:
        return f'put it in quotes: "{{{next(iter(value))}}}"'
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        return "put it in quotes"
    if kind in ("dict_type", "model_type", "model_attributes_type") and value is None:
        return "write {} for an empty one"
    return ""


def describe(value: object) -> str:
    """Say what a value is, short enough for one line."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}..."
            return f'the text "{shown}"' if value else "an empty text"
        case int() | float():
            return f"the number {value}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "a mapping"


def value_at(data: Any, path: Path) -> Any:  # noqa: ANN401
    """Return the value at a path, None where there is none."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def data_path(loc: tuple[str | int, ...], data: Any, *, keep_last: bool) -> Path:  # noqa: ANN401
    """Return an error's place as a path in the data, without the words pydantic adds for unions and keys."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        present = (isinstance(data, dict) and part in data) or (isinstance(data, list) and part in range(len(data)))
        if present:
            path.append(part)
            data = data[part]
        elif keep_last and index == len(loc) - 1:
            path.append(part)
    return tuple(path)

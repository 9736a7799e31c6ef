"""What a model expects at a key path: the names it knows there, and words for what belongs there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, WithJsonSchema
from pydantic.fields import FieldInfo

from stager.models.complaint import Path

#: Put into ``Field(json_schema_extra=...)`` where a wrong value must not be repeated in a message.
PRIVATE: dict[str, JsonValue] = {"private": True}


def field_name(name: str, info: FieldInfo) -> str:
    """Return the name a field has in a file."""
    return info.alias or name


def models_in(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401
    """Return the models a value of this annotation may be, looking through unions and ``Annotated`` only."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return [model for part in get_args(annotation) for model in models_in(part)]
    return []


def step(annotation: Any, part: str | int) -> tuple[list[Any], FieldInfo | None]:  # noqa: ANN401
    """Return what may stand under one key or index of a value, and the field it is, if it is one."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, info in annotation.model_fields.items():
            if field_name(name, info) == part:
                return [info.annotation], info
        return [], None
    if origin in (Union, UnionType, Annotated):
        found = [step(option, part) for option in arguments]
        return [item for items, _ in found for item in items], next((info for _, info in found if info), None)
    if origin in (tuple, list) and isinstance(part, int):
        return list(arguments[:1]), None
    if origin is dict and isinstance(part, str):
        return list(arguments[1:]), None
    return [], None


def walk(model: Any, path: Path) -> tuple[list[Any], list[FieldInfo | None]]:  # noqa: ANN401
    """Return the annotations at a path below a model, and for each step the field it was, if it was one."""
    here: list[Any] = [model]
    passed: list[FieldInfo | None] = []
    for part in path:
        found = [step(annotation, part) for annotation in here]
        here = [item for items, _ in found for item in items]
        passed.append(next((info for _, info in found if info), None))
    return here, passed


def known_keys(model: Any, path: Path) -> list[str]:  # noqa: ANN401
    """Return the keys that may stand directly under a path."""
    here, _ = walk(model, path)
    inner = [found for annotation in here for found in models_in(annotation)]
    return list(dict.fromkeys(field_name(name, info) for found in inner for name, info in found.model_fields.items()))


def is_private(model: Any, path: Path) -> bool:  # noqa: ANN401
    """Say whether a value at this path must not be repeated in a message."""
    _, passed = walk(model, path)
    extras = [info.json_schema_extra for info in passed if info]
    return any(isinstance(extra, dict) and bool(extra.get("private")) for extra in extras)


def homes_of(model: Any, key: str, above: Path = ()) -> Iterator[Path]:  # noqa: ANN401
    """Yield the paths under a model at which a key of this name is known."""
    for inner in models_in(model):
        for name, info in inner.model_fields.items():
            here = (*above, field_name(name, info))
            if here[-1] == key:
                yield here
            yield from homes_of(info.annotation, key, here)


def words_for(model: Any, path: Path) -> tuple[str, bool]:  # noqa: ANN401
    """Say what belongs at a path, and whether these are the model's own words or only words for its type."""
    here, passed = walk(model, path)
    field = passed[-1] if passed else None
    own = field.description if field else None
    own = own or next(filter(None, map(_description, here)), None)
    if own:
        return own, True
    quantity = _schema_words(field.metadata) if field else None
    return quantity or " or ".join(dict.fromkeys(map(_words, here))) or "a value", False


def words_for_key(model: Any, path: Path) -> str:  # noqa: ANN401
    """Say what the keys of the free mapping at a path must be."""
    kinds = [get_args(annotation)[0] for annotation in walk(model, path)[0] if get_origin(annotation) is dict]
    return " or ".join(map(_words, kinds)) or "another key"


def _description(annotation: Any) -> str | None:  # noqa: ANN401
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        rest = [option for option in arguments if option is not type(None)]
        return _description(rest[0]) if len(rest) == 1 else None
    if origin is not Annotated:
        return None
    return next((extra.description for extra in arguments if isinstance(extra, FieldInfo) and extra.description), None)


def _schema_words(metadata: Iterable[Any]) -> str | None:
    """Return how a quantity describes itself where its type alone (a number) would mislead."""
    schemas = [extra.json_schema for extra in metadata if isinstance(extra, WithJsonSchema) and extra.json_schema]
    return next((str(schema["description"]) for schema in schemas if "description" in schema), None)


def _words(annotation: Any) -> str:  # noqa: ANN401
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _description(annotation) or _schema_words(arguments[1:]) or _words(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join(_words(option) for option in arguments if option is not type(None))
    if origin is Literal:
        return " or ".join(str(option) for option in arguments)
    if models_in(annotation) or origin is dict:
        return "a mapping (key: value)"
    plain = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    return plain.get(annotation, "a list" if origin in (tuple, list) else "a value")

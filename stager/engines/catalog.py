"""The engines a playbook may name."""

from __future__ import annotations

from stager.engines.base import Engine
from stager.engines.llamacpp import LLAMACPP
from stager.engines.openai import OPENAI

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (LLAMACPP, OPENAI)}


def engine_named(name: str) -> Engine:
    """Return the engine of that name.

    Raises:
        KeyError: there is none; the message lists those there are.
    """
    try:
        return ENGINES[name]
    except KeyError:
        raise KeyError(f"no engine {name!r}; there are: {', '.join(sorted(ENGINES))}") from None

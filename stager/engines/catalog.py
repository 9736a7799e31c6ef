"""The engines a playbook may name, and the way from its ``engine`` value to an adapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stager.engines.base import Engine
from stager.engines.described import described
from stager.engines.llamacpp import LLAMACPP
from stager.engines.llamacpppython import LLAMACPPPYTHON
from stager.engines.llamaswap import LLAMASWAP
from stager.engines.ollama import OLLAMA
from stager.engines.openai import OPENAI
from stager.engines.sglang import SGLANG
from stager.engines.tabbyapi import TABBYAPI
from stager.engines.vllm import VLLM

ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (LLAMACPP, TABBYAPI, LLAMASWAP, VLLM, SGLANG, OLLAMA, LLAMACPPPYTHON, OPENAI)
}

#: Other names people write.
ALIASES = {"exllamav3": "tabbyapi", "llamacpp": "llama.cpp", "llama-server": "llama.cpp", "llamaswap": "llama-swap"}


def engine_named(name: str) -> Engine:
    """Return the engine of that name.

    Raises:
        KeyError: there is none; its first argument is a sentence that lists those there are.
    """
    engine = ENGINES.get(ALIASES.get(name, name))
    if engine is None:
        raise KeyError(f"there is no engine {name!r}; known are: {', '.join(sorted({*ENGINES, *ALIASES}))}")
    return engine


def engine_of(value: str | Mapping[str, Any]) -> Engine:
    """Return the adapter for a playbook's ``candidate.engine``: a name, or a table that describes one.

    Raises:
        KeyError: unknown name. ValueError: unknown key, or a place that is not one.
    """
    if isinstance(value, str):
        return engine_named(value)
    return described(engine_named(str(value.get("kind", "openai"))), value)

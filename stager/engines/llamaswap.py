"""llama-swap: a router that starts and stops other servers; its own endpoints speak of processes, not requests."""

from __future__ import annotations

from stager.engines.base import Engine, TokenRequest
from stager.engines.reading import Kind, Reading

LLAMASWAP = Engine(
    name="llama-swap",
    read_in="llama-swap 0bdb372",
    health="/health",
    configured=(
        Reading(
            name="running_models",
            path="/running",
            pointer="/running",
            each="*",
            kind=Kind.COMPUTED,
            source="state of its processes and its configuration; nothing about requests",
        ),
    ),
    cancel_grace=5.0,
    quirks=(
        "/health is a constant: it says nothing of any model behind it",
        "a request for a model that is not loaded loads it first, and may unload another",
        "concurrencyLimit 0 means 10 (scheduler/fifo.go:17); above it the answer is 429, not a wait",
        "what a model behind it can do is that server's matter: probe it through the route used in production",
    ),
)


def loaded_models(running: dict[str, object]) -> tuple[str, ...]:
    """The models that ``/running`` says are loaded (state ``ready``), for warming them again later."""
    entries = running.get("running")
    return tuple(
        str(entry["model"])
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and entry.get("state") == "ready" and "model" in entry
    )


def warm_request(model: str) -> TokenRequest:
    """The request that loads a model: a real one-token answer from it."""
    return LLAMASWAP.token_request(model)

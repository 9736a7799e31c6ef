"""Holding a playbook's claims against the card before anything is staged: the model's header, read where it lies."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stager.context.architecture import Architecture
from stager.context.ceiling import Card, Ceiling, Claims, ceiling
from stager.context.fit import GIB, MIB, Stored, bytes_per_token, window_bytes
from stager.context.formats import find_format
from stager.context.launch import LaunchFit, launch_fit, read_launch
from stager.context.recorded import facts_of
from stager.context.sources import Described, describe_remote
from stager.errors import ConnectionLost, StagerError, Unreachable
from stager.models.candidate import Candidate
from stager.models.context_facts import ContextFacts
from stager.staging.session import Session

#: Bytes asked for at once: a model's header with its vocabulary is one to six of these.
BLOCK = 2 << 20
HEADERS = (".gguf", "config.json")
#: What an engine stores where its launch says nothing (llama.cpp: ``common_params.cache_type_k``).
DEFAULTS = {"llama.cpp": "fp16"}


@dataclass(frozen=True)
class ModelFit:
    """The arithmetic for one model and one launch: why the claims cannot hold, and the numbers to show.

    ``memory`` and ``weights`` are bytes, None where they are not known; ``memory_from`` says whose word it is.
    """

    path: str
    claims: Claims
    described: Described
    fit: LaunchFit
    ceiling: Ceiling
    memory: int | None
    memory_from: str
    pool_tokens: int | None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the claims cannot hold together, as preflight says it."""
        return tuple(f"candidate/claims: {reason}" for reason in self.fit.reasons)

    def facts(self) -> ContextFacts:
        """What the arithmetic was done on, as it is kept with the evidence."""
        return facts_of(
            self.described.architecture,
            self.claims,
            self.fit.stored,
            Card(self.memory, self.described.weights),
            assumed=self.fit.assumed,
            pool_tokens=self.pool_tokens,
            memory_from=self.memory_from,
        )

    def lines(self) -> list[str]:
        """The arithmetic for people."""
        model, stored, top = self.described.architecture, self.fit.stored, self.ceiling
        layers = f"{model.kv_layers} of {len(model.layers)} layers keep tokens"
        assumed = " (assumed: the launch names no format)" if self.fit.assumed else ""
        each, all_of_them = window_bytes(model, stored, top.context) / GIB, top.private_bytes / GIB
        costs = f"{each:.2f} GiB for {top.context:,} tokens, {all_of_them:.2f} GiB for {top.slots} at once"
        found = [f"{self.path}: {layers}, native window {model.window:,} tokens"]
        found.append(f"{stored.name} cache{assumed}: {bytes_per_token(model, stored):,} bytes per token, {costs}")
        if self.memory is None:
            return [
                *found,
                "device memory is not known here; candidate/limits/device_memory would say it",
            ]
        holds = "how many windows fit is not known: the weights' size is not"
        if top.windows_fit is not None:
            weights = (self.described.weights or 0) / GIB
            holds = f"{weights:.2f} GiB of it for weights, the rest holds {top.windows_fit} private windows"
        return [*found, f"{self.memory / GIB:.2f} GiB of device memory ({self.memory_from}): {holds}"]

    def document(self) -> dict[str, Any]:
        """The JSON form; sizes in bytes."""
        model, stored, top = self.described.architecture, self.fit.stored, self.ceiling
        return {
            "model": self.path,
            "window": model.window,
            "kv_layers": model.kv_layers,
            "format": stored.name,
            "format_assumed": self.fit.assumed,
            "bytes_per_token": bytes_per_token(model, stored),
            "slots": top.slots,
            "context": top.context,
            "window_bytes": window_bytes(model, stored, top.context),
            "private_bytes": top.private_bytes,
            "weights_bytes": self.described.weights,
            "device_memory_bytes": self.memory,
            "device_memory_from": self.memory_from,
            "windows_that_fit": top.windows_fit,
            "reasons": list(self.reasons),
        }


def may_refuse(candidate: Candidate, facts: Mapping[str, Any]) -> bool:
    """Whether a model's header could speak against the claims at all; where not, a run need not ask for it."""
    memory, _ = device_memory(candidate, facts["host"]["gpus"])
    return memory is not None or candidate.claims.context is not None


def model_fit(session: Session, candidate: Candidate, facts: Mapping[str, Any]) -> ModelFit | str | None:
    """Read the first model's header on the host, and hold the claims against the card.

    Returns:
        The arithmetic; a sentence where the header cannot be read; None where there is nothing to hold: no model file
        with a header, or one that is missing (preflight says so).
    """
    there = {entry["path"]: entry for entry in facts.get("candidate", {}).get("models", ())}
    path = next((path for path in candidate.models if path.endswith(HEADERS)), None)
    if path is None or there.get(path, {}).get("why"):
        return None
    try:
        described = describe_remote(path, Ranges(session).read, size=there.get(path, {}).get("size"))
    except (ConnectionLost, Unreachable):
        raise
    except StagerError as error:
        return f"{path}: its header cannot be read, so the claims were not held against the card ({error})"
    return fit_of(path, described, candidate, facts)


def fit_of(path: str, described: Described, candidate: Candidate, facts: Mapping[str, Any]) -> ModelFit:
    """Do the arithmetic; pure."""
    memory, source = device_memory(candidate, facts["host"]["gpus"])
    model: Architecture = described.architecture
    claims = Claims(candidate.claims.slots, candidate.claims.context)
    named = DEFAULTS.get(candidate.engine if isinstance(candidate.engine, str) else "")
    default = find_format(named) if named else None
    fit = launch_fit(model, claims, candidate.launch, memory, described.weights, default=default)
    pool = read_launch(candidate.launch).pool_tokens
    top = ceiling(
        model, Stored(fit.stored.key, fit.stored.value), claims, Card(memory, described.weights), pool_tokens=pool
    )
    return ModelFit(path, claims, described, fit, top, memory, source, pool)


def device_memory(candidate: Candidate, cards: Sequence[Mapping[str, Any]]) -> tuple[int | None, str]:
    """Bytes of device memory the candidate may use, and who says so.

    Its own limit, or all cards that ``CUDA_VISIBLE_DEVICES`` leaves visible.
    """
    if candidate.limits.device_memory is not None:
        return int(candidate.limits.device_memory), "candidate/limits/device_memory"
    wanted = [word.strip() for word in candidate.env.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    visible = [card for card in cards if not wanted or {str(card["index"]), str(card["uuid"])} & set(wanted)]
    sizes = [card["memory.total"] for card in visible]
    if not sizes or not all(isinstance(size, int) for size in sizes):
        return None, ""
    return sum(sizes) * MIB, ", ".join(str(card["name"]) for card in visible)


class Ranges:
    """Ranges of files on the host, fetched in blocks."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.blocks: dict[tuple[str, int], bytes] = {}

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``; fewer only at the file's end."""
        found = bytearray()
        while len(found) < size:
            at = offset + len(found)
            block = self._block(path, at // BLOCK)
            piece = block[at % BLOCK : at % BLOCK + size - len(found)]
            if not piece:
                break
            found += piece
        return bytes(found)

    def _block(self, path: str, number: int) -> bytes:
        if (path, number) not in self.blocks:
            told = self.session.call("read", "model header", path=path, offset=number * BLOCK, size=BLOCK)
            self.blocks[path, number] = base64.b64decode(told["data"])
        return self.blocks[path, number]

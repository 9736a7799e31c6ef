"""What the context arithmetic was done on when a candidate was staged, so that it can be done again later."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from stager.models.base import Model

Text = Annotated[str, StringConstraints(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class LayerGroup(Model):
    """Layers of a model that are alike, in the terms of ``stager.context.architecture.Layer``; order does not count."""

    count: Annotated[int, Field(ge=1, le=4096)]
    kind: Literal["full", "sliding", "latent", "recurrent", "shared", "stateless"]
    key_width: Count = 0
    value_width: Count = 0
    span: Count = 0
    conv_state: Count = 0
    recurrent_state: Count = 0
    draft: bool = False


class CacheFormat(Model):
    """How a cache stores values: ``block_bytes`` bytes hold ``block_values`` of them, scales included."""

    name: Text
    block_bytes: Positive
    block_values: Positive


class ContextFacts(Model):
    """The model's layers, how its cache is stored, what was claimed, and the card; sizes in bytes.

    None where something was not known or not claimed. ``assumed`` says that the launch named no format, so that the
    smallest there is was taken. ``pool_tokens`` is the size of a cache that all slots share.
    """

    model: Text
    window: Positive
    layers: Annotated[tuple[LayerGroup, ...], Field(min_length=1, max_length=4096)]
    keys: CacheFormat
    values: CacheFormat
    assumed: bool
    slots: Positive | None
    context: Positive | None
    pool_tokens: Positive | None
    memory: Count | None
    memory_from: str
    weights: Count | None

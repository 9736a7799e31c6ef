"""The arithmetic's facts as they are kept with evidence, and the same arithmetic done again on what was kept."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from stager.context.architecture import Architecture, Kind, Layer
from stager.context.ceiling import Card, Claimed, Claims, claims_fit
from stager.context.fit import Stored
from stager.context.formats import Format
from stager.models.context_facts import CacheFormat, ContextFacts, LayerGroup


def facts_of(
    architecture: Architecture,
    claims: Claimed,
    stored: Stored,
    card: Card,
    *,
    assumed: bool,
    pool_tokens: int | None = None,
    memory_from: str = "",
) -> ContextFacts:
    """Return what the arithmetic was done on, as it is kept."""
    return ContextFacts(
        model=architecture.source,
        window=architecture.window,
        layers=tuple(_group(layer, count) for layer, count in Counter(architecture.layers).items()),
        keys=_format(stored.key),
        values=_format(stored.value),
        assumed=assumed,
        slots=claims.slots,
        context=claims.context,
        pool_tokens=pool_tokens,
        memory=card.memory,
        memory_from=memory_from,
        weights=card.weights,
    )


def reasons_against(facts: ContextFacts) -> list[str]:
    """Return every reason why the claims cannot hold together on that card; see ``claims_fit``. Nothing is guessed."""
    return claims_fit(
        Architecture(
            name=facts.model,
            layers=tuple(chain.from_iterable([_layer(group)] * group.count for group in facts.layers)),
            window=facts.window,
            source=facts.model,
        ),
        Claims(facts.slots, facts.context),
        Stored(_stored(facts.keys), _stored(facts.values)),
        facts.memory,
        facts.weights,
        pool_tokens=facts.pool_tokens,
    )


def _group(layer: Layer, count: int) -> LayerGroup:
    return LayerGroup(
        count=count,
        kind=layer.kind.value,
        key_width=layer.key_width,
        value_width=layer.value_width,
        span=layer.span,
        conv_state=layer.conv_state,
        recurrent_state=layer.recurrent_state,
        draft=layer.draft,
    )


def _layer(group: LayerGroup) -> Layer:
    return Layer(
        Kind(group.kind),
        group.key_width,
        group.value_width,
        group.span,
        group.conv_state,
        group.recurrent_state,
        draft=group.draft,
    )


def _format(form: Format) -> CacheFormat:
    return CacheFormat(name=form.name, block_bytes=form.block_bytes, block_values=form.block_values)


def _stored(form: CacheFormat) -> Format:
    return Format(form.name, form.block_bytes, form.block_values, "recorded")

"""What is kept of the arithmetic: enough to do it again later, and no more than was known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stager.context.architecture import Architecture, Kind, Layer
from stager.context.ceiling import Card, Claims, claims_fit
from stager.context.fit import GIB, Stored
from stager.context.formats import FORMATS, find_format
from stager.context.recorded import facts_of, reasons_against
from stager.models.context_facts import ContextFacts
from tests.unit.context.test_fit import NOTES

widths = st.integers(0, 8192)
layers = st.builds(
    Layer,
    st.sampled_from(Kind),
    key_width=widths,
    value_width=widths,
    span=st.integers(0, 4096),
    conv_state=widths,
    recurrent_state=widths,
    draft=st.booleans(),
)
architectures = st.builds(
    Architecture,
    name=st.just("any"),
    layers=st.lists(layers, min_size=1, max_size=12).map(tuple),
    window=st.integers(1, 1 << 20),
    source=st.just("/m.gguf"),
)
some = st.none() | st.integers(1, 1 << 18)
sizes = st.none() | st.integers(0, 64 * GIB)


@given(architectures, st.builds(Claims, some, some), st.sampled_from(FORMATS), st.builds(Card, sizes, sizes), some)
def test_done_again_it_says_the_same(
    model: Architecture, claims: Claims, form: object, card: Card, pool: int | None
) -> None:
    """Written, read back and done again, the arithmetic gives the reasons it gave at staging, for any model."""
    stored = Stored(form, find_format("fp16"))  # type: ignore[arg-type]
    kept = facts_of(model, claims, stored, card, assumed=False, pool_tokens=pool)
    again = ContextFacts.model_validate_json(kept.model_dump_json())

    assert reasons_against(again) == claims_fit(model, claims, stored, card.memory, card.weights, pool_tokens=pool)


def test_equal_layers_are_kept_once() -> None:
    """The field notes' 64 layers are two groups: 48 with a state, 16 with keys and values."""
    kept = facts_of(NOTES, Claims(4), Stored.both(find_format("q4_0")), Card(), assumed=True)

    assert [(group.kind, group.count) for group in kept.layers] == [("recurrent", 48), ("full", 16)]


@pytest.mark.parametrize("part", [{"context": 0}, {"slots": 0}, {"window": 0}, {"memory": -1}, {"layers": ()}])
def test_what_cannot_be_does_not_load(part: dict[str, object]) -> None:
    """Numbers that no staging writes are refused when read, so that the gate never stumbles over them."""
    kept = facts_of(NOTES, Claims(4, 4096), Stored.both(find_format("q4_0")), Card(), assumed=True)

    with pytest.raises(ValidationError):
        ContextFacts.model_validate(kept.model_dump() | part)

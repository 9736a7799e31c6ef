"""What was claimed of a cache, in a line for people."""

from __future__ import annotations

import pytest

from stager.reports.evidence_text import context_words
from tests.unit.evidence.cases import claimed


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "claims 2 x 262,144 tokens in q4_0 on 24 GiB (RTX 3090), 12 GiB of weights"),
        ({"memory": None}, "claims 2 x 262,144 tokens in q4_0 on a card that is not known, 12 GiB of weights"),
        ({"weights": None, "assumed": True}, "claims 2 x 262,144 tokens in q4_0 (assumed) on 24 GiB (RTX 3090)"),
        (
            {"context": None, "slots": None},
            "claims 1 x 262,144 tokens in q4_0 on 24 GiB (RTX 3090), 12 GiB of weights",
        ),
    ],
)
def test_each_part_is_said_or_said_to_be_unknown(changes: dict[str, object], words: str) -> None:
    """Slots, tokens, format, card and weights; what was not known is not made up."""
    assert context_words(claimed().model_copy(update={"memory_from": "RTX 3090"} | changes)) == words

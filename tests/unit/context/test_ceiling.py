"""Claims against a card: what cannot hold together, and what an aggregate pool promises instead."""

from __future__ import annotations

from dataclasses import replace

from stager.context.architecture import Architecture, full
from stager.context.ceiling import Card, Claims, ceiling, claims_fit
from stager.context.fit import GIB, Stored
from stager.context.formats import find_format
from stager.models.candidate import Claims as Written
from tests.unit.context.test_fit import NOTES

FP16 = Stored.both(find_format("fp16"))
Q4 = Stored.both(find_format("q4_0"))
NEEDLE = 240_118


def test_four_at_once_and_240k_cannot_hold_together() -> None:
    """In one pool of the native window, each alone fits and both together do not."""
    reasons = claims_fit(NOTES, Claims(4, NEEDLE), FP16, None, None, pool_tokens=262_144)

    assert len(reasons) == 1
    assert reasons[0].startswith("4 requests of 240,118 tokens at once need 960,472 tokens of cache;")
    assert reasons[0].endswith("has 262,144. It promises 65,536 tokens each, or 1 of that depth.")
    assert claims_fit(NOTES, Claims(4, 65_536), FP16, None, None, pool_tokens=262_144) == []
    assert claims_fit(NOTES, Claims(1, NEEDLE), FP16, None, None, pool_tokens=262_144) == []


def test_four_private_windows_on_the_notes_card() -> None:
    """Four full windows at 4 bit do not fit 24 GiB beside 12 GiB of weights; the reason has the numbers."""
    (reason,) = claims_fit(NOTES, Claims(4), Q4, 24 * GIB, 12 * GIB)

    assert "4 requests of 262,144 tokens at once take 18.58 GiB of q4_0 cache" in reason
    assert "leaves 12.00 GiB: it holds 2 of them" in reason
    assert "(166,208 each)" in reason


def test_what_fits_gives_no_reason() -> None:
    """Two windows at 4 bit fit there."""
    assert claims_fit(NOTES, Claims(2), Q4, 24 * GIB, 12 * GIB) == []


def test_without_weights_the_cache_alone_counts() -> None:
    """Unknown weights are not guessed: only the cache is held against the card."""
    assert claims_fit(NOTES, Claims(4), Q4, 24 * GIB, None) == []
    assert len(claims_fit(NOTES, Claims(4), Q4, 18 * GIB, None)) == 1


def test_weights_that_leave_nothing() -> None:
    """Weights as large as the card are a reason of their own."""
    (reason,) = claims_fit(NOTES, Claims(1), Q4, 24 * GIB, 24 * GIB)

    assert "leaves 0.00 GiB: it holds 0 of them" in reason


def test_more_than_the_native_window() -> None:
    """A context beyond the model's own is named, whatever the card."""
    (reason,) = claims_fit(NOTES, Claims(1, 300_000), Q4, 64 * GIB, 0)

    assert "more than the model's native window of 262,144" in reason


def test_a_pool_too_large_for_the_card() -> None:
    """A shared pool is held against the card as a pool, not as private windows."""
    (reason,) = claims_fit(NOTES, Claims(4, 65_536), FP16, 24 * GIB, 12 * GIB, pool_tokens=262_144)

    assert "A shared pool of 262,144 tokens takes 16.58 GiB of fp16 cache" in reason
    assert "at most 186,880 tokens" in reason


def test_every_reason_is_given() -> None:
    """Reasons are collected, not cut off at the first."""
    reasons = claims_fit(NOTES, Claims(4, 300_000), FP16, 24 * GIB, 12 * GIB, pool_tokens=262_144)

    assert len(reasons) == 3


def test_the_ceiling_of_a_known_card() -> None:
    """The ceiling counts windows and pool tokens that fit, with a recurrent state for each request."""
    found = ceiling(NOTES, Q4, Claims(4), Card(24 * GIB, 12 * GIB))

    assert (found.windows_fit, found.pool_tokens_fit, found.pool_each) == (2, 664_832, 65_536)


def test_the_ceiling_without_a_card_claims_nothing_about_it() -> None:
    """What is not known is None, never zero."""
    found = ceiling(NOTES, Q4, Claims(4), Card())

    assert (found.windows_fit, found.pool_tokens_fit, found.reasons) == (None, None, ())


def test_one_request_is_not_a_plural() -> None:
    """The sentences read well for one request."""
    model = Architecture("m", (full(4, 256),), 262_144, "")
    (reason,) = claims_fit(replace(model, layers=model.layers * 64), Claims(1), FP16, 24 * GIB, 12 * GIB)

    assert reason.startswith("1 request of 262,144 tokens")
    assert "pool" not in reason


def test_a_playbooks_claims_are_understood() -> None:
    """The claims of a playbook go in as they are, also when they name nothing."""
    assert claims_fit(NOTES, Written(slots=4, context=NEEDLE), FP16, None, None, pool_tokens=262_144)
    assert claims_fit(NOTES, Written(), Q4, 24 * GIB, 12 * GIB) == []

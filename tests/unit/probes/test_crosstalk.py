"""Every stream says its own word and nobody else's."""

import random

from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.canaries import canary_prompt, pick_canaries, strangers
from tests.unit.probes.bench import finding

ALL = {"KESTREL-1234", "HERON-5678"}


def test_words_differ_in_their_numbers() -> None:
    """However many words a run needs, no two have the same digits."""
    canaries = pick_canaries(random.Random(1), 200)
    assert len({canary.partition("-")[2] for canary in canaries}) == 200


def test_a_prompt_is_long_enough_for_leaks_to_show() -> None:
    """Fifty lines of at least two words each are above the length below which leaks hid."""
    assert canary_prompt("KESTREL-1234").count("KESTREL-1234\n") == 50


def test_a_strangers_word_is_found_whole_or_by_its_number() -> None:
    """One's own word never counts, another's does, and so does its number alone."""
    assert strangers("KESTREL-1234 KESTREL-1234", "KESTREL-1234", ALL) == set()
    assert strangers("KESTREL-1234 HERON-5678", "KESTREL-1234", ALL) == {"HERON-5678"}
    assert strangers("KESTREL-5678", "KESTREL-1234", ALL) == {"HERON-5678"}
    assert strangers("15678 and 56781", "KESTREL-1234", ALL) == set()


def test_the_honest_engine_keeps_streams_apart() -> None:
    """Each stream repeats its own word often enough to mean something."""
    found = finding("crosstalk")
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["fewest_repeats"].value >= 3


def test_what_a_cancelled_request_left_is_found() -> None:
    """The request that follows a cancelled one must not say that one's word."""
    found = finding("crosstalk", Knobs(crosstalk_after_cancel=True))
    assert found.verdict is Verdict.FAILED


def test_a_model_that_will_not_repeat_is_inconclusive() -> None:
    """Where a stream hardly says its own word, its silence about others means nothing."""
    found = finding("crosstalk", Knobs(drop_tail_over=1), rounds=1)
    assert found.verdict is Verdict.INCONCLUSIVE

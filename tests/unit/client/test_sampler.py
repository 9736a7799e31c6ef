import asyncio

import pytest

from stager.client.sampler import sampling


def sample(ask, interval: float, due: int, **options):
    """Sample until so many questions have come due, however slow the machine is just now."""

    async def go():
        async with sampling(ask, interval, **options) as samples:
            while samples.expected < due:  # noqa: ASYNC110  samples are no event, on purpose
                await asyncio.sleep(interval)
        return samples

    return asyncio.run(go())


async def seven() -> int:
    return 7


def test_samples_are_asked_at_their_intended_times() -> None:
    """The k-th question is due k intervals after the begin, and never goes out before."""
    samples = sample(seven, 0.02, 8)
    assert samples.expected == len(samples.taken) >= 8
    for number, one in enumerate(samples.taken):
        assert one.intended_ns == samples.begun_ns + number * 20_000_000
        assert one.asked_ns >= one.intended_ns - 1_000_000
    assert set(samples.values) == {7}


def test_a_slow_answer_does_not_hold_back_the_next_question() -> None:
    """Open loop: questions go on while one is unanswered, and its latency counts in full."""
    asked = 0
    others = asyncio.Event()

    async def first_is_slow() -> int:
        nonlocal asked
        asked += 1
        mine = asked
        if mine == 1:
            await others.wait()
        if mine == 5:
            others.set()
        return mine

    samples = sample(first_is_slow, 0.03, 6)
    assert samples.taken[0].latency >= 4 * 0.03
    assert all(s.answered_ns <= samples.taken[0].answered_ns for s in samples.taken[1:5])


def test_errors_are_samples_too() -> None:
    """A failed question is recorded with its error, and is not a value."""

    async def broken() -> int:
        raise ConnectionError("gone")

    samples = sample(broken, 0.02, 4)
    assert samples.obtained == 0
    assert samples.values == []
    assert all("gone" in one.error for one in samples.taken)
    assert samples.longest_gap == pytest.approx((samples.ended_ns - samples.begun_ns) / 1e9)


def test_unanswered_questions_do_not_pile_up_and_are_counted() -> None:
    """Against a dead server the open questions are bounded, and every intended sample is accounted for."""

    async def never() -> int:
        await asyncio.sleep(60)
        return 0

    samples = sample(never, 0.01, 8, most_waiting=3, grace=0.05)
    assert samples.obtained == 0
    assert samples.expected == len(samples.taken)
    assert sum("unanswered" in one.error for one in samples.taken) == 3
    assert any("not asked" in one.error for one in samples.taken)


def test_the_longest_gap_counts_from_good_answer_to_good_answer() -> None:
    """A stretch without good answers shows, even though questions went out all the time."""
    asked = 0

    async def bad_in_the_middle() -> int:
        nonlocal asked
        asked += 1
        if 5 <= asked < 15:
            raise TimeoutError
        return asked

    samples = sample(bad_in_the_middle, 0.02, 22)
    assert 10 * 0.02 <= samples.longest_gap < (samples.ended_ns - samples.begun_ns) / 1e9


def test_only_samples_inside_a_span_count_for_it() -> None:
    """A question asked before or answered after a span says nothing about it."""
    samples = sample(seven, 0.02, 5)
    third = samples.taken[2]
    assert third in samples.between(third.asked_ns, third.answered_ns)
    assert third not in samples.between(third.asked_ns + 1, samples.ended_ns)

"""Device memory: its slope against prompt length, and its floor."""

import pytest

from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from stager.probes.memory_fit import above_floor, fit
from stager.probes.target import Unseen
from tests.unit.probes.bench import finding

MIB = 2**20


def test_a_line_is_found_again() -> None:
    """Points on a line give its base and slope, and explain everything."""
    line = fit([(x, 91_251_006 + 65_638 * x) for x in (1000, 2000, 4000, 8000)])
    assert line is not None
    assert line.slope == pytest.approx(65_638)
    assert line.base == pytest.approx(91_251_006)
    assert line.r_squared == pytest.approx(1.0)


def test_a_pool_of_fixed_size_has_no_slope() -> None:
    """A flat series has slope zero and no share of variance; one length alone has no line at all."""
    line = fit([(1000, 5), (2000, 5)])
    assert line is not None
    assert (line.slope, line.r_squared) == (0, None)
    assert fit([(1000, 5), (1000, 6)]) is None


@pytest.mark.parametrize(
    ("before", "after", "left"), [(1000, 1000, 0), (1000, 1030, 0), (1000, 1040, 40), (4000, 4060, 0)]
)
def test_the_floor_has_some_slack(before: int, after: int, left: int) -> None:
    """32 MiB or two in a hundred are the driver's; what is beyond counts whole."""
    assert above_floor(before * MIB, after * MIB) == left * MIB


def test_the_honest_engine_gives_everything_back() -> None:
    """Memory follows the prompt's length and is back after each end, also a cut one."""
    found = finding("memory")
    assert found.verdict is Verdict.PASSED, found.reasons
    assert found.measurements["bytes_per_token"].value == pytest.approx(65_536, rel=0.02)


def test_memory_kept_after_a_cancel_is_found() -> None:
    """What a cancelled request leaves behind is told apart from what a finished one would."""
    found = finding("memory", Knobs(memory_kept_after_cancel=True))
    assert found.verdict is Verdict.FAILED
    assert "whose client left" in found.reasons[0]


def test_where_nothing_can_be_read_nothing_is_said() -> None:
    """A host without a way to read device memory gives inconclusive, with the reason."""

    async def unseen() -> int:
        raise Unseen("nvidia-smi: No such file or directory")

    for read, why in ((None, "no way to read it"), (unseen, "nvidia-smi: No such file")):
        found = finding("memory", target={"device_memory": read})
        assert found.verdict is Verdict.INCONCLUSIVE
        assert found.sample_count == 0
        assert why in found.reasons[0]


def test_memory_that_can_be_read_no_more_is_not_taken_for_back() -> None:
    """Readings that end in mid-experiment, with memory still held, give inconclusive and never a pass."""
    readings = iter([2**30] * 3)  # before anything, as the floor, and one more

    async def read() -> int:
        if (value := next(readings, None)) is None:
            raise Unseen("the driver is gone")
        return value

    found = finding("memory", target={"device_memory": read})
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "cannot be read any more, after 3 readings: the driver is gone" in found.reasons[0]
    assert found.sample_count == 3
    assert found.termination.reason == "reading ended"

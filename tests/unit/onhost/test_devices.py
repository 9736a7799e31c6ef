"""What a card's rows say of one candidate; the rows are nvidia-smi's documented forms."""

from __future__ import annotations

import pytest

from stager.onhost import devices, gpu

APPS = "4711, GPU-5a1c, 8123\n4712, GPU-77fe, 512\n99, GPU-5a1c, 3000\n"
LOAD = "GPU-5a1c, 97\nGPU-77fe, 3\n"
MIB = 2**20


def mine(text: str, pids: set[int]) -> list[dict]:
    return [row for row in gpu.parse(text, gpu.APPS) if row["pid"] in pids]


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        (APPS, 8635 * MIB, ""),
        ("4711, GPU-5a1c, [N/A]\n", None, "does not tell here how much memory"),
        ("99, GPU-5a1c, 3000\n", None, "no process of the candidate"),
        ("", None, "no process of the candidate"),
    ],
)
def test_memory_is_that_of_the_candidates_own_processes(text: str, value: int | None, why: str) -> None:
    """Its processes' rows are added up over all cards; unknown stays unknown, and nothing listed is not zero."""
    told = devices.memory(mine(text, {4711, 4712}))
    assert told["value"] == value
    assert why in told["why"]


@pytest.mark.parametrize(
    ("text", "mine", "others", "value", "why"),
    [
        (LOAD, {"GPU-77fe"}, {"GPU-5a1c"}, 3, ""),
        (LOAD, {"GPU-5a1c", "GPU-77fe"}, set(), 97, ""),
        (LOAD, {"GPU-5a1c", "GPU-77fe"}, {"GPU-5a1c"}, 3, ""),
        (LOAD, {"GPU-5a1c"}, {"GPU-5a1c"}, None, "another process holds memory"),
        (LOAD, set(), set(), None, "no process of the candidate"),
        ("GPU-5a1c, [N/A]\n", {"GPU-5a1c"}, set(), None, "does not tell here how busy"),
    ],
)
def test_busy_is_that_of_the_candidates_own_cards(
    text: str, mine: set[str], others: set[str], value: int | None, why: str
) -> None:
    """The busiest of the cards it has to itself; a load that may be somebody else's is none of its."""
    told = devices.busy(gpu.Table(gpu.parse(text, gpu.LOAD), ""), mine, others)
    assert told["value"] == value
    assert why in told["why"]

"""Device memory, from what nvidia-smi prints; no card here, so the formats are written down from its documentation."""

from __future__ import annotations

from stager.onhost import gpu

TWO = (
    "0, GPU-5a1c, NVIDIA GeForce RTX 3090, 550.54.14, 22542, 24576\n"
    "1, GPU-77fe, NVIDIA GeForce RTX 3090, 550.54.14, 3, 24576\n"
)
UNKNOWN = "0, GPU-aa, NVIDIA GB10, 580.95.05, [N/A], [N/A]\n"
MIG = "[Insufficient Permissions]\n"


def test_cards() -> None:
    """Numbers are MiB as ints, names stay text."""
    first, second = gpu.parse(TWO, gpu.CARDS)
    assert (first["uuid"], first["memory.used"], first["memory.total"]) == ("GPU-5a1c", 22542, 24576)
    assert second["index"] == 1


def test_memory_that_is_not_told_is_not_waited_for() -> None:
    """A card with unified memory says [N/A]: nothing is known of it."""
    rows = gpu.parse(UNKNOWN, gpu.CARDS)
    assert rows[0]["memory.used"] is None
    assert gpu.used(rows) == {}


def test_words_in_place_of_a_table_are_no_rows() -> None:
    """An error line is not taken for a card; no answer at all is None."""
    assert gpu.parse(MIG, gpu.CARDS) == []
    assert gpu.used(None) is None


def test_still_held() -> None:
    """More than before by more than the slack is held; less, the same, or a card that went away is not."""
    before = {"a": 1000, "b": 20}
    assert gpu.still_held(before, {"a": 1064, "b": 20}) == {}
    assert gpu.still_held(before, {"a": 9000, "b": 20}) == {"a": 8000}
    assert gpu.still_held(before, {"b": 0}) == {}
    assert gpu.still_held(None, {"a": 9000}) == {}
    assert gpu.still_held(before, None) == {}

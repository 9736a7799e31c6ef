"""What a terminal shows: every value with what belongs beside it, at any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from stager.models.evidence import Measurement, Verdict
from stager.reports.figures import ended_because, figure, seconds
from stager.reports.gate_text import gate_text
from stager.reports.side import compare_runs, production_beside_candidate
from stager.reports.side_text import side_text
from stager.reports.table import WIDE, evidence_table
from tests.unit.reports.cases import HOST, answer, evidence, finding, record


def shown(renderable: object, width: int) -> str:
    """What a plain terminal of that width shows."""
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, no_color=True)
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined]


def words(text: str) -> str:
    """The text without its layout."""
    return " ".join(text.split())


@pytest.mark.parametrize("width", [40, 72, 100, WIDE, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Narrow terminals get blocks, wide ones a table, and neither runs over the edge."""
    for renderable in (evidence_table(record().evidence, width), gate_text(answer())):
        assert max(len(line.rstrip()) for line in shown(renderable, width).splitlines()) <= width


@pytest.mark.parametrize("width", [72, 200])
def test_each_value_stands_beside_what_makes_it_evidence(width: int) -> None:
    """Value, sampled, n, ended because and did not prove are all there, and so is the verdict."""
    text = shown(evidence_table(record().evidence[:1], width), width)
    joined = words(text)

    for column in ("value", "sampled", "n", "ended because", "did not prove"):
        assert column in joined
    assert "PASSED" in joined
    assert "gauge peak 4 " in joined
    assert " 34" in joined
    if width < WIDE:  # in a table the words of neighbouring cells mix
        assert "all streams ended (4 x length)" in joined
        assert "- that the streams share the device's steps" in joined


def test_a_claim_that_did_not_pass_says_why_in_the_table() -> None:
    """The reasons stand with the value of what did not pass."""
    text = words(shown(evidence_table(record().evidence[1:2], 72), 72))

    assert "INCONCLUSIVE" in text
    assert "because client jitter 4.1 ms is more than an eighth of the step" in text
    assert "tokens per step not measured" in text


def test_configured_fields_are_marked_as_claims() -> None:
    """A capacity field is shown last and called a claim."""
    assert "claims total_slots = 4 sampled" in words(shown(evidence_table(record().evidence[:1], 72), 72))


def test_no_evidence_is_said() -> None:
    """An empty table is no table."""
    assert shown(evidence_table((), 80), 80) == "no evidence\n"


def test_server_words_are_not_markup() -> None:
    """A reason that looks like markup or steers a terminal is shown as it is, and obeyed nowhere."""
    evil = "[bold]x[/bold] [red \x1b[2J\x07"
    item = evidence(b"", verdict=Verdict.FAILED, reasons=(evil,), sampled=evil, not_proven=(evil,))
    said = answer().model_copy(update={"reasons": (evil,), "notes": (evil,)})

    for width in (72, 200):
        text = shown(evidence_table([item], width), width) + shown(gate_text(said), width)
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "because [bold]x[/bold] [red \\x1b[2J\\x07" in words(text) or width == 200


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (Measurement(value=4, unit="count"), "4"),
        (Measurement(value=4.0, unit="requests"), "4"),
        (Measurement(value=0.45123, unit="s"), "0.4512 s"),
        (Measurement(value=76056, unit="tokens"), "76,056 tokens"),
        (Measurement(value=76056.4, unit="tokens"), "76,056 tokens"),
        (Measurement(value=True, unit="bool"), "yes"),
        (Measurement(value=None, unit="ms"), "not measured"),
        (Measurement(value="stop", unit="text"), "stop"),
        (Measurement(value=0, unit="count"), "0"),
        (Measurement(value=22542 * 2**20, unit="bytes"), "22.01 GiB"),
        (Measurement(value=12, unit="bytes"), "12 bytes"),
    ],
)
def test_figures_are_short_and_keep_their_unit(measurement: Measurement, text: str) -> None:
    """Zero is a figure; nothing measured is not zero."""
    assert figure(measurement) == text


def test_a_unit_in_the_name_is_not_repeated() -> None:
    """`prompt tokens 2086`, not `prompt tokens 2086 tokens`."""
    assert figure(Measurement(value=2086, unit="tokens"), "prompt_tokens") == "2086"
    assert figure(Measurement(value=2086, unit="tokens"), "usage") == "2086 tokens"


def test_finish_reasons_are_counted() -> None:
    """The finish reasons of all streams stand beside the reason for the end."""
    assert ended_because(finding()) == "all streams ended (4 x length)"


@pytest.mark.parametrize(("amount", "text"), [(0.0204, "20 ms"), (3.14, "3.1 s"), (119, "119.0 s"), (180, "3.0 min")])
def test_step_times_are_written_by_their_size(amount: float, text: str) -> None:
    """Milliseconds, seconds, minutes."""
    assert seconds(amount) == text


def test_the_gates_answer_shows_every_reason_and_note() -> None:
    """Refusal, its reasons, and what was tolerated are all printed."""
    text = words(shown(gate_text(answer()), 100))

    assert text.startswith("REFUSE build cd34cd34cd34… under policy default")
    assert "✗ overlap/executing: the newest attempt was inconclusive." in text
    assert "· overlap/generating: attempt 1 failed: two waited." in text
    assert words(shown(gate_text(answer("promote")), 100)).startswith("PROMOTE")


def test_production_stands_beside_the_candidate() -> None:
    """The same measurement of both is one line, with how they differ."""
    comparison = production_beside_candidate(record())
    rows = {row.what: row for row in comparison.rows}

    assert comparison.left == "production (llama.service)"
    assert (rows["generating at once"].left, rows["generating at once"].right) == ("1", "4")
    assert rows["generating at once"].change == "x 4"
    assert (rows["shared span"].left, rows["shared span"].right) == ("-", "2.118 s")
    assert (rows["verdict"].left, rows["verdict"].right) == ("failed", "passed")


def test_two_runs_of_one_build_compare_without_a_warning() -> None:
    """Same build, host, suite and parameters: two measurements of one thing."""
    assert compare_runs(record(), record(run_id="b")).warnings == ()


def test_a_run_beside_itself_or_nothing_is_said_to_be_so() -> None:
    """The same run twice, and runs without evidence, are no comparison, and that is said."""
    empty = record(run_id="b", evidence=())

    assert compare_runs(record(), record()).warnings == (
        f"Both are run {record().run_id}: it is compared with itself, so nothing can differ.",
    )
    assert compare_runs(record(), empty).warnings == ("Run b has no evidence: there is nothing of it to compare.",)
    both = compare_runs(empty, record(run_id="c", evidence=()))
    assert (both.warnings, both.rows) == (("There is nothing to compare: no evidence in run b or c.",), ())


def test_runs_that_are_not_one_thing_are_compared_under_a_warning() -> None:
    """Another build, host, driver or parameter is said before any figure."""
    other = record(
        run_id="b",
        build_id="ab12" * 16,
        host=HOST.model_copy(update={"address": "gpu2", "driver": "570"}),
        evidence=(evidence(b"", parameters={"streams": 8}, suite_digest="0b" * 32),),
    )

    comparison = compare_runs(record(), other)
    text = words(shown(side_text(comparison), 160))

    assert len(comparison.warnings) == 5
    assert text.startswith("! Two builds (cd34cd34cd34… and ab12ab12ab12…): neither validates the other")
    for word in ("Two hosts: gpu1 and gpu2", "drivers differ", "other parameters", "probe suites differ"):
        assert word in text
    assert "not run" in text  # the claims that only one of them has

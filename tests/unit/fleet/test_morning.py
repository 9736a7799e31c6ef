"""The morning's answer: per host and build, newest attempt first, nights without a run, and its exit code."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from stager.fleet.morning import Idle, document, idle_nights, morning
from stager.fleet.morning_page import page
from stager.fleet.morning_text import markdown
from stager.models.evidence import HostFacts, Verdict
from stager.models.record import Cleanup, Left, RunRecord
from tests.unit.evidence.cases import BUILD, NOW, OTHER, evidence
from tests.unit.fleet.cases import schedule, utc

SINCE = NOW - timedelta(hours=12)


def cleanup(**changes: Any) -> Cleanup:
    common: dict[str, Any] = {
        "candidate_stopped": True,
        "restored": ("a.service",),
        "left": (),
        "markers_cleared": (),
        "production_as_before": True,
        "downtime_seconds": 90.0,
    }
    return Cleanup(**{**common, **changes})


def run(run_id: str, **changes: Any) -> RunRecord:
    common: dict[str, Any] = {
        "run_id": run_id,
        "build_id": BUILD,
        "host": HostFacts(address="gpu1"),
        "playbook": "batch4",
        "started_at": NOW - timedelta(hours=5),
        "ended_at": NOW - timedelta(hours=4),
        "steps": (),
        "evidence": (),
        "cleanup": cleanup(),
        "exit_code": 0,
    }
    return RunRecord(**{**common, **changes})


def attempt(minutes: int, verdict: Verdict) -> Any:
    """An attempt at one claim that ended so many minutes after five."""
    ended = NOW - timedelta(hours=1) + timedelta(minutes=minutes)
    reasons = () if verdict is Verdict.PASSED else ("only 1 of 4 was generating",)
    return evidence(verdict=verdict, reasons=reasons, started_at=ended, ended_at=ended)


def test_runs_are_gathered_by_host_and_build() -> None:
    """Two runs of one build on one host are one line; another build, and another host, are lines of their own."""
    runs = [run("1"), run("2"), run("3", build_id=OTHER), run("4", host=HostFacts(address="gpu2"))]
    answer = morning(runs, [], SINCE, NOW)

    assert [(line.host, len(line.runs), line.downtime) for line in answer.lines] == [
        ("gpu1", 2, 180.0),
        ("gpu1", 1, 90.0),
        ("gpu2", 1, 90.0),
    ]


def test_older_runs_are_left_out() -> None:
    """What began before is not of this night."""
    assert morning([run("1", started_at=SINCE - timedelta(seconds=1))], [], SINCE, NOW).lines == ()


@pytest.mark.parametrize(
    ("verdicts", "shown"),
    [
        ([Verdict.PASSED], True),
        ([Verdict.PASSED, Verdict.FAILED], False),
        ([Verdict.FAILED, Verdict.PASSED], True),
        ([Verdict.PASSED, Verdict.INCONCLUSIVE], False),
    ],
)
def test_the_newest_attempt_decides(verdicts: list[Verdict], shown: bool) -> None:
    """A newer failure outranks an older pass, and all attempts are counted."""
    tried = tuple(attempt(minutes, verdict) for minutes, verdict in enumerate(verdicts))
    (line,) = morning([run("1", evidence=tried)], [], SINCE, NOW).lines
    (claim,) = line.claims

    assert claim.shown is shown
    assert (claim.attempts, claim.passed) == (len(verdicts), verdicts.count(Verdict.PASSED))


@pytest.mark.parametrize(
    ("codes", "idle", "code"),
    [([0, 0], 0, 0), ([6, 8], 0, 8), ([9, 8], 0, 9), ([0, None], 0, 1), ([0], 1, 4), ([], 0, 0), ([6], 1, 6)],
)
def test_the_exit_code_is_the_gravest(codes: list[int | None], idle: int, code: int) -> None:
    """Runs, runs whose end is not known, and nights without a run come to one code for cron."""
    runs = [run(str(number), exit_code=found) for number, found in enumerate(codes)]
    nights = [Idle("batch4", "gpu1", date(2026, 11, 29), "too short")] * idle

    assert morning(runs, nights, SINCE, NOW).code == code


def test_production_of_an_open_run_is_not_known() -> None:
    """A run without an end is no reason to say that production is as before."""
    answer = morning([run("1"), run("2", exit_code=None, cleanup=None, ended_at=None)], [], SINCE, NOW)

    assert answer.lines[0].as_before is None
    assert "not known; ask with `stager status gpu1`" in markdown(answer)


def test_production_not_as_before_is_loud() -> None:
    """One run that left production otherwise outweighs all that did not."""
    answer = morning([run("1"), run("2", exit_code=9, cleanup=cleanup(production_as_before=False))], [], SINCE, NOW)

    assert "NOT as before; act now" in markdown(answer)


def test_the_text_has_each_number_with_its_circumstances() -> None:
    """Markdown says what was sampled, how many, why it ended and what it did not prove, shown and not shown apart."""
    failed = evidence("cancel", "no-ghost", verdict=Verdict.FAILED, reasons=("a ghost <job>",))
    left = Left(what="marker", path="/run/x", why="its size changed")
    text = markdown(morning([run("1", evidence=(evidence(), failed), cleanup=cleanup(left=(left,)))], [], SINCE, NOW))
    passed = evidence()

    assert text.index("Shown:") < text.index("overlap/generating") < text.index("Not shown:") < text.index("no-ghost")
    assert f"n = {passed.sample_count}" in text
    assert f"did not prove: {passed.not_proven[0]}" in text
    assert "because: a ghost \\<job\\>" in text
    assert "left for a person: marker (/run/x): its size changed" in text
    assert "as before, 1 min 30 s down" in text


def test_the_page_escapes_and_loads_nothing() -> None:
    """The HTML page holds the same, with a server's words as text and no address to load."""
    failed = evidence("cancel", "no-ghost", verdict=Verdict.FAILED, reasons=("<script>x</script>",))
    idle = [Idle("batch4", "gpu1", date(2026, 11, 29), "too short")]
    made = page(morning([run("1", evidence=(failed,))], idle, SINCE, NOW))

    assert "&lt;script&gt;" in made
    assert "<script" not in made
    assert "src=" not in made
    assert "Nights without a run" in made


def test_a_quiet_night() -> None:
    """Nothing planned and nothing run is said, and is no failure."""
    answer = morning([], [], SINCE, NOW)

    assert "Nothing was run, and nothing should have been." in markdown(answer)
    assert "nothing should have been" in page(answer)
    assert answer.code == 0


def test_the_document() -> None:
    """The JSON form has what was shown and what was not, with circumstances."""
    found = document(morning([run("1", evidence=(evidence(),))], [], SINCE, NOW))
    (build,) = found["builds"]

    assert build["shown"][0]["claim"] == "generating"
    assert build["shown"][0]["not_proven"]
    assert build["not_shown"] == []
    assert build["production_as_before"] is True


def idle(now: datetime, started: set[date] = frozenset(), refused: dict[date, str] | None = None, **changes: Any):
    item = schedule(**changes)
    reasons = {(item.name, day): why for day, why in (refused or {}).items()}
    return [
        (found.night.day, found.reason)
        for found in idle_nights({item: frozenset(started)}, reasons, utc("2026-11-28 12:00"), now)
    ]


def test_nights_without_a_run() -> None:
    """A night that was claimed is none; one that was refused has its reason, one nobody asked for says so."""
    found = idle(utc("2026-12-01 08:00"), {date(2026, 11, 29)}, {date(2026, 11, 30): "too short"})

    assert [day for day, _ in found] == [30, 1]
    assert found[0][1] == "too short"
    assert "nothing asked for it" in found[1][1]


def test_a_night_that_still_goes_on_is_not_missed_yet() -> None:
    """While the window is open a late start is still possible."""
    assert [day for day, _ in idle(utc("2026-11-30 02:00"))] == [29]


def test_a_paused_schedule_misses_nothing() -> None:
    """A paused schedule has no nights to miss."""
    assert idle(utc("2026-12-01 08:00"), paused=True) == []


def test_nights_before_it_was_added_are_not_missed() -> None:
    """A schedule that is new this morning missed nothing last night."""
    assert idle(utc("2026-11-30 08:00"), added="2026-11-30T07:00:00+00:00") == []

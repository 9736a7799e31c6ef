"""Worklog entries: Markdown in which no number stands alone."""

from __future__ import annotations

from stager.models.evidence import Verdict
from stager.reports.worklog import entry, worklog
from tests.unit.reports.cases import evidence, record


def test_an_entry_has_each_number_beside_what_makes_it_evidence() -> None:
    """Sampled, n, why it ended and what it did not prove follow each claim's numbers."""
    text = entry(record())

    assert text.startswith("## 2026-11-29 03:00 UTC · exl3-batch4 · gpu1\n")
    for line in (
        "Run `20261129T030000Z-7c1e`, build `cd34cd34cd34…`, exit 8 after 93.0 s.",
        "### overlap/generating: passed",
        "* generating at once: **4**",
        "* sampled: first and last token of 4 streams, and llamacpp:requests\\_processing each 60 ms, n = 34",
        "* ended because: all streams ended (4 x length)",
        "* configured, never evidence: total\\_slots = 4, set by --parallel",
        "Production is as before; it was down for 84.6 s.",
        "Gate: **refuse** under policy default.",
    ):
        assert line in text.splitlines()
    assert text.count("\n* did not prove: ") == len(record().evidence)
    assert "Left for a person: marker /run/llama/x.maintenance: not ours: it appeared at 03:00:51" in text


def test_what_production_was_measured_to_do_is_told() -> None:
    """That production's own measurement failed, and why, stands beside the candidate's claims."""
    text = entry(record())

    assert (
        "* overlap/generating on llama.service: failed; because: 4 streams were accepted and generated one after "
        "the other" in text.splitlines()
    )
    assert "Production, measured" not in entry(record(baseline=()))


def test_entries_come_newest_first() -> None:
    """The log reads from today backwards."""
    older = record(run_id="older", started_at=record().started_at.replace(day=1))

    text = worklog([older, record()])

    assert text.index("20261129T030000Z-7c1e") < text.index("`older`")


def test_a_run_without_evidence_or_end_says_so() -> None:
    """Nothing is left blank that a reader could take for good news."""
    text = entry(record(evidence=(), cleanup=None, exit_code=None, ended_at=None, gate=None, build_id=None))

    for words in ("no build was reached", "not ended yet", "No evidence was taken.", "Not cleaned up yet."):
        assert words in text


def test_a_servers_words_do_not_become_markdown() -> None:
    """Reasons and fields that come from a server are escaped and stay on their line."""
    item = evidence(b"", verdict=Verdict.FAILED, reasons=("# <b>x</b>\n* [link](http://x) `code` |",), configured=())

    (line,) = (line for line in entry(record(evidence=(item,))).splitlines() if "link" in line)

    assert line == "* because: \\# \\<b\\>x\\</b\\> \\* \\[link\\](http://x) \\`code\\` \\|"

"""Records of runs, names by their beginning, and policy files."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.errors import InvalidFile, StagerError, UsageError
from stager.evidence.lookup import resolve, resolve_build
from stager.evidence.policies import default_text, load_policy, read_policy, signers_file
from stager.evidence.records import Records
from stager.models.record import RunRecord
from tests.unit.evidence.cases import BUILD, HOST, NOW, OTHER, evidence

RUN = RunRecord(
    run_id="20261129T030000Z-7c1e",
    build_id=BUILD,
    host=HOST,
    playbook="exl3-batch4",
    started_at=NOW,
    ended_at=None,
    steps=(),
    evidence=(),
    cleanup=None,
    exit_code=None,
)


def test_a_record_grows_and_is_read_back(tmp_path: Path) -> None:
    """Saving a record of the same run replaces it; its beginning is enough to find it."""
    records = Records(tmp_path)
    records.save(RUN)
    grown = RUN.model_copy(update={"evidence": (evidence(),), "exit_code": 6, "ended_at": NOW})
    records.save(grown)

    assert Records(tmp_path).load("20261129") == grown
    assert records.ids() == [RUN.run_id]


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    """A record that does not load says which file and which key."""
    path = Records(tmp_path).save(RUN)
    path.write_text(path.read_text().replace('"playbook":"exl3-batch4"', '"playbook":""'))

    with pytest.raises(StagerError, match=r"is damaged: .*record\.json: playbook: "):
        Records(tmp_path).load("2026")


def test_the_others_are_read_beside_a_damaged_record(tmp_path: Path) -> None:
    """Whatever is wrong with one file, all other records are returned, and the damaged one is named with the reason."""
    records = Records(tmp_path)
    records.save(RUN)
    path = records.save(RUN.model_copy(update={"run_id": "20261129T040000Z-0000"}))
    path.write_bytes(b"\0")
    (records.root / "20261129T050000Z-0000" / "record.json").mkdir(parents=True)

    known, damaged = records.all()

    assert known == [RUN]
    assert [error.details["run_id"] for error in damaged] == ["20261129T040000Z-0000", "20261129T050000Z-0000"]
    assert f"{path}: Invalid JSON" in damaged[0].message
    assert "Is a directory" in damaged[1].message


def test_raw_samples_beside_a_record_are_checked(tmp_path: Path) -> None:
    """Production's raw samples come back as they were, or not at all."""
    records = Records(tmp_path)
    kept = records.keep_raw(RUN.run_id, b"samples")
    assert records.keep_raw(RUN.run_id, b"samples") == kept
    assert records.raw(RUN.run_id, kept) == b"samples"

    path = records.root / RUN.run_id / kept.file
    path.chmod(0o644)
    path.write_bytes(b"other")

    assert records.raw(RUN.run_id, kept) is None


@pytest.mark.parametrize("run_id", ["../x", "a/b", ".hidden", ""])
def test_a_runs_id_is_no_path(tmp_path: Path, run_id: str) -> None:
    """A record never lands outside its folder."""
    with pytest.raises((StagerError, ValueError)):
        Records(tmp_path).save(RUN.model_copy(update={"run_id": run_id}))


def test_a_beginning_must_be_unambiguous() -> None:
    """One match is meant, a full name always is, several or none are an error that lists them."""
    names = ["abc1", "abc2", "abc", "xyz"]

    assert resolve("x", names, "run", "stager runs") == "xyz"
    assert resolve("abc", names, "run", "stager runs") == "abc"
    with pytest.raises(UsageError, match=r"3 runs begin with ab: abc, abc1, abc2"):
        resolve("ab", names, "run", "stager runs")
    for nothing in ("q", ""):
        with pytest.raises(UsageError, match="There is no run"):
            resolve(nothing, names, "run", "stager runs")


def test_names_that_begin_alike_for_long_are_shown_whole() -> None:
    """Two runs of one minute are told apart in the message that asks for more of the name."""
    names = ["20261129t223005-7c1e", "20261129t223005-9b2a"]

    with pytest.raises(UsageError, match=f"2 runs begin with 2026: {names[0]}, {names[1]}. Type more"):
        resolve("2026", names, "run", "stager runs")
    many = [f"20261129t22300{number}-7c1e" for number in range(7)]
    with pytest.raises(UsageError, match=r"7 runs begin .* and 2 more\. Type more"):
        resolve("2026", many, "run", "stager runs")


def test_a_build_in_full_needs_no_evidence() -> None:
    """A build that was never staged can be asked about by its whole name."""
    assert resolve_build(OTHER, [BUILD]) == OTHER
    assert resolve_build("cd34", [BUILD]) == BUILD
    with pytest.raises(UsageError):
        resolve_build("ab12", [BUILD])


def test_the_default_policy_loads_and_explains_itself() -> None:
    """The shipped policy is valid, and every key in it stands under a comment."""
    policy = load_policy(None)

    assert {"overlap/generating", "overlap/executing"} <= {claim.name for claim in policy.claims}
    assert policy.together
    lines = default_text().splitlines()
    for number, line in enumerate(lines):
        if line and line[0].isalpha():
            assert lines[number - 1].startswith("#"), line


def test_every_complaint_about_a_policy_is_made_at_once(tmp_path: Path) -> None:
    """Unknown keys, wrong types and missing parts are named with line and key."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "stager: 1\nname: x\nmax_age: 7\ntolerante: {failed: 1}\nclaims:\n"
        "  - {probe: overlap, claim: generating, min_samples: 0, thresholds: {peak: {}}}\n"
    )

    with pytest.raises(InvalidFile) as caught:
        load_policy(path)

    for words in ("policy.yaml:3", "max_age", "tolerante", "tolerate", "min_samples", "thresholds"):
        assert words in caught.value.message


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("together: [[overlap/generating, needle/retrieval]]", "which claims does not require"),
        ("signers: ['ops ssh-ed25519']", "signer 1"),
        ("suite: latest", "suite"),
    ],
)
def test_a_policy_that_contradicts_itself_does_not_load(extra: str, words: str) -> None:
    """Groups of claims nobody requires, unreadable signers and an unknown suite are errors of the file."""
    text = f"stager: 1\nname: x\nmax_age: 7d\nclaims:\n  - {{probe: overlap, claim: generating}}\n{extra}\n"

    with pytest.raises(InvalidFile, match=words):
        read_policy(text, "policy.yaml")


def test_a_policy_without_claims_or_with_one_twice_is_none() -> None:
    """A policy that asks for nothing would promote anything."""
    for claims in ("[]", "[{probe: a, claim: b}, {probe: a, claim: b}]"):
        with pytest.raises(InvalidFile):
            read_policy(f"stager: 1\nname: x\nmax_age: 7d\nclaims: {claims}\n", "policy.yaml")


def test_missing_files_are_invalid_files(tmp_path: Path) -> None:
    """A policy or signers file that is not there is exit 3 with its name."""
    for load in (load_policy, signers_file):
        with pytest.raises(InvalidFile, match="nothing"):
            load(tmp_path / "nothing")

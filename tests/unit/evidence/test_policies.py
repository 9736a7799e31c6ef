"""Policy files: names that no probe has, files of another kind, files that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from stager.cli.main import main
from stager.errors import InvalidFile
from stager.evidence.policies import load_policy, read_policy, signers_file
from stager.probes.catalog import CLAIMS

HEAD = "stager: 1\nname: x\nmax_age: 7d\nclaims:\n"


def test_a_probe_or_claim_that_does_not_exist_is_named_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typo in a probe or a claim is exit 3 with file, line and key, all at once, before any build is looked for."""
    path = tmp_path / "p.yaml"
    path.write_text(f"{HEAD}  - {{probe: ovrlap, claim: executing}}\n  - {{probe: overlap, claim: nope}}\n")

    assert main(["gate", "ffff", "--policy", str(path)]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert f"{path}:5:6: claims/0/probe: expected one of cancel, " in said
    assert "found `ovrlap`. (did you mean `overlap`?)" in said
    assert f"{path}:6:22: claims/1/claim: expected one of executing, generating, found `nope`." in said


def test_what_the_shipped_policy_asks_for_exists() -> None:
    """Every claim of the default policy is one that a probe answers."""
    assert load_policy(None, CLAIMS).claims


def test_a_playbook_is_not_taken_for_a_policy() -> None:
    """A playbook given as policy is called one, instead of complained about key by key."""
    text = (Path(__file__).parents[3] / "playbooks/example.yaml").read_text(encoding="utf-8")

    with pytest.raises(InvalidFile, match=r"playbooks/example\.yaml: this is a playbook, not a policy") as caught:
        read_policy(text, "playbooks/example.yaml", CLAIMS)
    assert len(caught.value.message.splitlines()) == 1


def test_files_that_cannot_be_read_are_said_without_error_numbers(tmp_path: Path) -> None:
    """A missing file and one that is no text are named with the reason in words."""
    (tmp_path / "latin").write_bytes(b"\xff")
    for load in (load_policy, signers_file):
        with pytest.raises(InvalidFile, match=r"/nowhere: the .* cannot be read: No such file or directory") as caught:
            load(Path("/nowhere"))
        assert "Errno" not in caught.value.message
        with pytest.raises(InvalidFile, match="not UTF-8"):
            load(tmp_path / "latin")

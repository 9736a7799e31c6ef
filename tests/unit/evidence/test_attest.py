"""Signed statements hold for standard tools, and for nothing that was changed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stager.errors import InvalidFile, UsageError
from stager.evidence import attest, dsse, sshsig
from stager.evidence.dsse import BadSignature
from stager.evidence.gate import judge
from stager.evidence.signers import NAMESPACE, parse_signers
from stager.evidence.statements import EVIDENCE, TEST_RESULT, VERIFICATION, full_evidence, payload
from stager.models.exhibit import Exhibit
from tests.unit.evidence.cases import BUILD, NOW, OTHER, SUITE, exhibit, policy

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen (Debian: openssh-client)")


def make_key(folder: Path, name: str = "key", passphrase: str = "") -> Path:
    """A new OpenSSH ed25519 key."""
    path = folder / name
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The operator's key."""
    return make_key(tmp_path)


def line(key: Path, options: str = "") -> str:
    """The allowed_signers line for a key."""
    return f"ops@example.org {options} {key.with_suffix('.pub').read_text()}"


@pytest.fixture
def agent(key: Path) -> Iterator[Path]:
    """An agent that holds the key; gives the public half."""
    started = subprocess.run(["ssh-agent", "-s"], check=True, capture_output=True, text=True).stdout
    variables = dict(part.split(";")[0].split("=") for part in started.splitlines() if part.startswith("SSH_"))
    pid = int(variables["SSH_AGENT_PID"])
    before = os.environ.get("SSH_AUTH_SOCK")
    os.environ["SSH_AUTH_SOCK"] = variables["SSH_AUTH_SOCK"]
    try:
        subprocess.run(["ssh-add", "-q", str(key)], check=True)
        yield key.with_suffix(".pub")
    finally:
        os.kill(pid, 15)
        if before is None:
            del os.environ["SSH_AUTH_SOCK"]
        else:
            os.environ["SSH_AUTH_SOCK"] = before


def exported(folder: Path, key: Path, exhibits: tuple[Exhibit, ...] | None = None) -> list[Path]:
    """The statements about one run, signed."""
    return attest.export_run(folder, BUILD, "run-a", exhibits or (exhibit(),), key, NOW)


def test_securesystemslib_verifies_the_envelope(tmp_path: Path, key: Path) -> None:
    """The library of the field accepts the DSSE envelope with the key's public half, as it is."""
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

    public = SSlibKey.from_crypto(load_ssh_public_key(key.with_suffix(".pub").read_bytes()))

    for path in exported(tmp_path / "out", key):
        envelope = Envelope.from_dict(json.loads(path.read_bytes()))
        assert envelope.verify([public], 1)
        statement = json.loads(envelope.payload)
        assert statement["_type"] == "https://in-toto.io/Statement/v1"
        assert statement["subject"] == [{"name": "build", "digest": {"sha256": BUILD}}]


def test_ssh_keygen_verifies_the_detached_signature(tmp_path: Path, agent: Path) -> None:
    """`ssh-keygen -Y verify` with an allowed_signers file accepts what the agent signed, for our namespace only."""
    made = exported(tmp_path / "out", agent)
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(f'ops@example.org namespaces="{NAMESPACE}" {agent.read_text()}')
    (message,) = [path for path in made if path.name.endswith(".pae") and ".evidence" in path.name]
    signature = message.with_name(f"{message.name}.sshsig")

    def verify(namespace: str) -> int:
        command = ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "ops@example.org", "-n", namespace]
        return subprocess.run(
            [*command, "-s", signature], input=message.read_bytes(), capture_output=True, check=False
        ).returncode

    assert verify(NAMESPACE) == 0
    assert verify("file") != 0


def test_the_command_we_run_is_the_one_an_operator_can_type(tmp_path: Path) -> None:
    """The verification is ssh-keygen's own, with the namespace spelt out."""
    assert sshsig.verify_command(Path("a"), "ops", Path("s")) == (
        *("ssh-keygen", "-Y", "verify", "-f", "a", "-I", "ops", "-n", "in-toto@stager", "-s", "s"),
    )


@pytest.mark.parametrize("by", ["file", "agent"])
def test_checked_statements_say_who_when_and_what(tmp_path: Path, key: Path, agent: Path, by: str) -> None:
    """Both ways of signing are read back with the signer, the key, the time and the documents."""
    exhibits = (exhibit(), exhibit(claim="executing"))
    exported(tmp_path / "out", key if by == "file" else agent, exhibits)
    signers = parse_signers([line(key)])

    good, bad = attest.check_folder(tmp_path / "out", signers, NOW)

    assert bad == []
    assert {statement.predicate_type for statement in good} == {EVIDENCE, TEST_RESULT}
    (full,) = (statement for statement in good if statement.predicate_type == EVIDENCE)
    assert full.documents == tuple(item.sha256 for item in exhibits)
    assert (full.build_id, full.principals, full.made_at) == (BUILD, "ops@example.org", NOW.isoformat())
    listed = subprocess.run(["ssh-keygen", "-lf", str(key)], check=True, capture_output=True, text=True).stdout
    assert full.fingerprint in listed


@pytest.mark.parametrize("by", ["file", "agent"])
def test_any_changed_byte_is_refused(tmp_path: Path, key: Path, agent: Path, by: str) -> None:
    """Each byte of statement and signature, changed, makes the statement worthless, and the words say why."""
    made = exported(tmp_path / "out", key if by == "file" else agent)
    signers = parse_signers([line(key)])
    step = 23 if by == "file" else 211  # each detached check starts ssh-keygen

    for path in (path for path in made if ".evidence" in path.name):
        path.chmod(0o644)
        content = path.read_bytes()
        for place in [*range(0, len(content), step), len(content) - 2]:
            changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            if _armour_alone(path, content, changed):
                continue
            path.write_bytes(changed)
            good, bad = attest.check_folder(tmp_path / "out", signers, NOW)
            assert [statement for statement in good if statement.predicate_type == EVIDENCE] == [], place
            assert any("changed" in rejected.why or "not a DSSE envelope" in rejected.why for rejected in bad)
        path.write_bytes(content)


def _armour_alone(path: Path, content: bytes, changed: bytes) -> bool:
    """Whether the change leaves the signature inside ssh's armour as it was (unused bits of its last digit)."""
    if not path.name.endswith(".sshsig"):
        return False
    bodies = [b"".join(text.splitlines()[1:-1]) for text in (content, changed)]
    try:
        return base64.b64decode(bodies[0]) == base64.b64decode(bodies[1])
    except ValueError:
        return False


@pytest.mark.parametrize("change", [lambda e: e | {"note": "x"}, lambda e: e | {"payloadType": "text/plain"}])
def test_what_no_signature_covers_cannot_change_either(tmp_path: Path, key: Path, change: Any) -> None:
    """Space between tokens, or a part that is not signed, added to an envelope, is refused: one form counts."""
    signers = parse_signers([line(key)])
    path = exported(tmp_path / "out", key)[0]
    content = path.read_bytes()

    for changed in (content.replace(b",", b", ", 1), json.dumps(change(json.loads(content))).encode(), content + b"\n"):
        with pytest.raises(BadSignature, match="changed"):
            dsse.verify(changed, signers)


def test_another_key_is_refused_and_named(tmp_path: Path, key: Path) -> None:
    """A statement signed by a key that the policy does not allow is not used."""
    exported(tmp_path / "out", make_key(tmp_path, "stranger"))
    signers = parse_signers([line(key)])

    good, bad = attest.check_folder(tmp_path / "out", signers, NOW)

    assert good == []
    assert all("another key" in rejected.why and signers[0].fingerprint in rejected.why for rejected in bad)


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        ("", True),
        ('namespaces="in-toto@stager"', True),
        ('namespaces="git,in-toto@*"', True),
        ('namespaces="git"', False),
        ('valid-before="20261129Z"', False),
        ('valid-before="20261130Z"', True),
        ('valid-after="202611290559Z",namespaces="git,in-toto@stager"', True),
        ('valid-after="20261130Z"', False),
    ],
)
def test_a_signers_line_limits_what_it_allows(tmp_path: Path, key: Path, options: str, holds: bool) -> None:
    """Namespaces and validity in an allowed_signers line are respected."""
    exported(tmp_path / "out", key)

    good, _ = attest.check_folder(tmp_path / "out", parse_signers([line(key, options)]), NOW)

    assert bool(good) == holds


@pytest.mark.parametrize(
    "text",
    ["ops", "ops ssh-ed25519", "ops ssh-ed25519 !!!", "ops cert-authority ssh-ed25519 AAAA", "ops x=1 ssh-rsa AAAA"],
)
def test_a_signers_line_that_cannot_be_read_is_an_error(text: str) -> None:
    """A line that is not understood is never skipped."""
    with pytest.raises(InvalidFile):
        parse_signers(["# a comment", "", text])


def test_the_gate_counts_only_what_an_allowed_signer_signed(tmp_path: Path, key: Path) -> None:
    """With signers in the policy, evidence passes once its own bytes are signed, and not by being like them."""
    signed, unsigned = exhibit(), exhibit(sample_count=32)
    exported(tmp_path / "out", key, (signed,))
    wants = policy(signers=(line(key),))

    def verdict(item: Exhibit) -> str:
        marked, _ = attest.with_signers([item], tmp_path / "out", wants.signers, NOW)
        return judge(BUILD, marked, wants, suite=SUITE, now=NOW).verdict

    assert verdict(signed) == "promote"
    assert verdict(unsigned) == "refuse"


def test_a_document_changed_inside_a_newly_made_statement_is_another_document(tmp_path: Path, key: Path) -> None:
    """The digest written beside a document counts for nothing; it is taken anew."""
    statement = full_evidence(BUILD, "run-a", (exhibit(),), NOW)
    statement["predicate"]["documents"][0]["document"]["build_id"] = OTHER
    envelope, _ = dsse.sign(payload(statement), key)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.dsse.json").write_bytes(envelope)

    (good,), _ = attest.check_folder(tmp_path / "out", parse_signers([line(key)]), NOW)

    assert exhibit().sha256 not in good.documents


def test_a_refusal_is_signed_without_the_word_promote(tmp_path: Path, key: Path) -> None:
    """The gate's answer as a Simple Verification Result lists what was shown, and promotes only what it promoted."""
    from securesystemslib.dsse import Envelope

    def properties(verdict: str, exhibits: tuple[Exhibit, ...]) -> list[str]:
        answer = judge(BUILD, exhibits, policy(), suite=SUITE, now=NOW)
        assert answer.verdict == verdict
        (path,) = attest.export_answer(tmp_path / verdict, answer, key)
        statement = json.loads(Envelope.from_dict(json.loads(path.read_bytes())).payload)
        assert statement["predicateType"] == VERIFICATION
        assert statement["predicate"]["verifier"]["policies"][0]["digest"] == {"sha256": answer.policy_sha256}
        return list(statement["predicate"]["properties"])

    assert properties("promote", (exhibit(),)) == ["STAGER_PROMOTE", "STAGER_SHOWN_OVERLAP_GENERATING"]
    assert properties("refuse", (exhibit(ago=48),)) == []


def test_what_is_not_a_pass_is_failed_in_the_test_result(tmp_path: Path, key: Path) -> None:
    """The test-result predicate has no word for inconclusive; it becomes failed, with the precise word beside it."""
    from securesystemslib.dsse import Envelope

    items = (exhibit(), exhibit(claim="executing", verdict="inconclusive"), exhibit("needle", "x", faults=("off",)))
    path = exported(tmp_path / "out", key, items)[0]
    predicate = json.loads(Envelope.from_dict(json.loads(path.read_bytes())).payload)["predicate"]

    assert predicate["result"] == "FAILED"
    assert predicate["passedTests"] == ["overlap/generating"]
    assert predicate["failedTests"] == ["needle/x", "overlap/executing"]
    assert predicate["stagerVerdicts"]["overlap/executing#1"] == "inconclusive"


def test_keys_that_cannot_sign_say_what_to_do(tmp_path: Path, key: Path) -> None:
    """A missing key, a key with a passphrase and a public key without an agent each get a sentence."""
    locked = make_key(tmp_path, "locked", "secret")

    with pytest.raises(UsageError, match="cannot be read"):
        exported(tmp_path / "out", tmp_path / "nothing")
    with pytest.raises(UsageError, match="ssh-add"):
        exported(tmp_path / "out", locked)
    key.unlink()
    with pytest.raises(UsageError, match="would not sign"):
        exported(tmp_path / "out", key.with_suffix(".pub"))


def test_a_detached_statement_without_its_signature_is_refused(tmp_path: Path, agent: Path) -> None:
    """Removing the signature does not leave a statement that counts."""
    for path in exported(tmp_path / "out", agent):
        if path.name.endswith(".sshsig"):
            path.unlink()

    good, bad = attest.check_folder(tmp_path / "out", parse_signers([line(agent.with_suffix(""))]), NOW)

    assert good == []
    assert all("is missing" in rejected.why for rejected in bad)
    with pytest.raises(BadSignature):
        sshsig.verify(b"x", b"not a signature", parse_signers([line(agent.with_suffix(""))]))


def test_statements_made_a_second_apart_do_not_replace_each_other(tmp_path: Path, key: Path) -> None:
    """A later export stands beside the earlier one."""
    for later in (timedelta(0), timedelta(seconds=1)):
        attest.export_run(tmp_path / "out", BUILD, "run-a", (exhibit(),), key, NOW + later)

    good, _ = attest.check_folder(tmp_path / "out", parse_signers([line(key)]), NOW)

    assert sorted(statement.made_at for statement in good if statement.predicate_type == EVIDENCE) == [
        NOW.isoformat(),
        (NOW + timedelta(seconds=1)).isoformat(),
    ]

"""Claims that cannot fit the card, on a real host: said before anything is staged, from the model's header alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.rig.machine import Machine
from tests.lab.rig.production import lay
from tests.lab.scene import Scene
from tests.unit.context.headers import write_header

MODEL = "/srv/models/notes.gguf"
#: The field notes' model: 64 layers, full attention every fourth, 4 heads of 256, a native window of 262,144.
NOTES = {
    "context_length": 262144,
    "embedding_length": 5120,
    "block_count": 64,
    "attention.head_count": 24,
    "attention.head_count_kv": [4 if layer % 4 == 3 else 0 for layer in range(64)],
    "attention.key_length": 256,
    "attention.value_length": 256,
    "full_attention_interval": 4,
    "ssm.conv_kernel": 4,
    "ssm.state_size": 128,
    "ssm.group_count": 16,
    "ssm.time_step_rank": 48,
    "ssm.inner_size": 6144,
}


@pytest.fixture
def scene(tmp_path: Path, machine: Machine) -> Scene:
    """A host with a model file on it: a header, and nothing behind it."""
    lay(machine)
    scene = Scene(tmp_path, machine)
    machine.write(MODEL, "")
    write_header(machine.path(MODEL), "qwen35", NOTES)
    scene.before = scene.snapshot()
    return scene


def test_claims_that_do_not_fit_are_refused_before_anything_is_staged(scene: Scene) -> None:
    """Four full windows in fp16 are 64 GiB: plan shows the arithmetic, stage refuses with 4, the host is untouched."""
    candidate = {"models": [MODEL], "engine": "llama.cpp", "limits": {"device_memory": "22GiB", "runtime": "2m"}}
    scene.playbook(candidate=candidate | {"claims": {"slots": 4, "context": 262144}})

    planned = scene.stager("plan", str(scene.desk.playbook))
    assert planned.code == 4
    context = planned.document["context"]
    assert context["kv_layers"] == 16
    assert context["bytes_per_token"] == 65536
    assert context["window_bytes"] == 16 << 30
    assert context["windows_that_fit"] == 1
    assert "65,536 bytes per token, 16.00 GiB for 262,144 tokens, 64." in planned.err

    staged = scene.stager("stage", str(scene.desk.playbook))
    assert staged.code == 4
    assert "candidate/claims: 4 requests of 262,144 tokens at once take 64." in staged.document["error"]["message"]
    assert staged.document["error"]["host_state"] == "untouched"
    assert scene.differences() == []

    scene.playbook(candidate=candidate | {"claims": {"slots": 4, "context": 16384}})
    assert scene.stager("plan", str(scene.desk.playbook)).code == 0


def test_what_was_reckoned_goes_with_the_evidence(scene: Scene) -> None:
    """Staged by one command and verified by another, the evidence holds the facts the gate reckons with."""
    limits = {"device_memory": "22GiB", "runtime": "2m"}
    scene.playbook(candidate={"models": [MODEL], "limits": limits, "claims": {"slots": 4, "context": 16384}})
    run_id = scene.stage()
    verified = scene.stager("verify", run_id)
    assert scene.stager("cleanup", run_id).code == 0

    for evidence in verified.document["evidence"]:
        facts = evidence["context"]
        assert (facts["slots"], facts["context"], facts["memory"]) == (4, 16384, 22 << 30)
        assert {group["kind"]: group["count"] for group in facts["layers"]} == {"full": 16, "recurrent": 48}
    assert [item["claim"] for item in verified.document["evidence"]] == ["generating", "executing"]

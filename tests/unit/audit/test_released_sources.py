"""The audit against real engines as they were released: `pytest -m sources` fetches them."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stager.audit.findings import Audit, Finding
from stager.audit.run import audit
from stager.audit.sources import LocalSources
from tests.unit.audit.released import fetch

pytestmark = [pytest.mark.sources, pytest.mark.timeout(900)]


def line(root: Path, finding: Finding) -> str:
    """Return the source line a finding names."""
    return (root / finding.file).read_text(encoding="utf-8").splitlines()[finding.line - 1]


def read(name: str, folder: Path, *wanted: str) -> tuple[Path, Audit]:
    """Fetch and audit a package."""
    root = fetch(name, folder, wanted)
    return root, audit([LocalSources(root)])


def test_llama_cpp_python(tmp_path: Path) -> None:
    """llama-cpp-python: both locks at the lines that make them, and the rule by which one request ends another."""
    root, found = read("llama-cpp-python", tmp_path, "llama_cpp")
    locks = {item.name: item for item in found.serialisers if item.kind == "lock"}
    assert set(locks) == {"llama_outer_lock", "llama_inner_lock"}
    for name, item in locks.items():
        assert line(root, item).startswith(f"{name} = ")
    (rule,) = [item for item in found.serialisers if item.kind == "interrupt-rule"]
    assert "llama_outer_lock.locked()" in line(root, rule)
    assert "interrupt_requests is True by default" in rule.why


def test_exllamav3(tmp_path: Path) -> None:
    """ExLlamaV3: its default, the clamp to slots, then the autosplit default of 1, which wins, in that order."""
    root, found = read("exllamav3", tmp_path, "exllamav3")
    chain = [item for item in found.batch_defaults if item.limit == "Generator.max_batch_size"]
    default, clamp, *_, flag = chain
    assert (default.how, default.value) == ("default", 256)
    assert "max_batch_size: int = 256" in line(root, default)
    assert clamp.how == "clamp"
    assert "min(self.max_batch_size, c.num_slots)" in line(root, clamp)
    assert (flag.how, flag.value, flag.wins) == ("flag", 1, True)
    assert "-ambs" in line(root, flag)
    assert any("autosplit_max_batch_size = 1" in step for step in found.next_steps)
    (step,) = [item for item in found.serialisers if item.kind == "blocking-call"]
    assert "self.generator.iterate()" in line(root, step)


def test_sglang(tmp_path: Path) -> None:
    """SGLang: the metric without a setter, and the reading of it that always gets its default."""
    root, found = read("sglang", tmp_path, "sglang/srt/observability", "sglang/srt/managers")
    dead = {item.name: item for item in found.dead_metrics}
    slo = dead["sglang:max_running_requests_under_SLO"]
    assert "max_running_requests_under_SLO = Gauge(" in line(root, slo)
    assert any(item.name == "max_running_requests_under_SLO" for item in found.dead_write_backs)
    assert "sglang:num_running_reqs" not in dead


def test_a_hundred_thousand_lines(tmp_path: Path) -> None:
    """100,000 lines of a real engine take at most 10 s of processor time and 500 MB."""
    root = fetch("sglang", tmp_path, ("sglang/srt",))
    kept = 0
    for path in sorted(root.rglob("*.py")):
        kept += path.read_bytes().count(b"\n")
        if kept > 100_000:
            path.unlink()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    command = [sys.executable, "-m", "stager", "audit", str(root), "--json"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    took = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{took:.1f} s, {spent:.1f} s of processor, at most {after.ru_maxrss // 1024} MiB")
    assert done.returncode == 0, done.stderr
    assert after.ru_maxrss < 500 * 1024, f"{after.ru_maxrss} KiB"
    assert min(took, spent) < 10, f"{took:.1f} s, {spent:.1f} s of processor"

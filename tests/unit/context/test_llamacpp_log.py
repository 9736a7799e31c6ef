"""Reading llama.cpp's own account of what it allocated."""

from __future__ import annotations

from stager.context.llamacpp_log import Allocation, allocated_mib, allocations

LOG = """\
0.00.44 I llama_context: n_ctx_seq             = 2048
0.00.45 I llama_kv_cache_iswa: creating non-SWA KV cache, size = 2048 cells
0.00.45 I llama_kv_cache: size =    1.00 MiB (  2048 cells,   1 layers,  4/4 seqs), K (f16): …
llama_kv_cache_unified: size = 16384.00 MiB (262144 cells,  16 layers,  4/1 seqs), K (f16): …
llama_memory_recurrent: size =  598.50 MiB (     4 cells,  64 layers,  4 seqs  0 rs_seq), R …
"""


def test_every_cache_is_found() -> None:
    """Caches of both kinds are read, with cells, layers and streams, in the spellings of several versions."""
    assert allocations(LOG) == [
        Allocation("kv", 1.0, 2048, 1, 4, 4),
        Allocation("kv", 16384.0, 262_144, 16, 4, 1),
        Allocation("recurrent", 598.5, 4, 64, 4, 1),
    ]


def test_caches_of_a_kind_add_up() -> None:
    """A sliding model allocates two caches; what counts is their sum."""
    assert allocated_mib(LOG, "kv") == 16385.0
    assert allocated_mib(LOG, "recurrent") == 598.5


def test_a_quiet_log_names_nothing() -> None:
    """At a low verbosity there is nothing to read, which is not zero bytes."""
    assert allocations("srv load_model: initializing, n_slots = 4") == []

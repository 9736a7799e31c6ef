"""llama-cpp-python's server: two locks around everything, and a second request ends the first."""

from __future__ import annotations

from stager.engines.base import Engine

LLAMACPPPYTHON = Engine(
    name="llama-cpp-python",
    read_in="llama_cpp_python 0.3.36",
    health="/v1/models",
    cancel_grace=5.0,
    quirks=(
        "two locks serialise everything (llama_cpp/server/app.py:64-93)",
        "with interrupt_requests, its default, a second request ends the first stream with a bare [DONE]",
        "no usage in streams, and finish_reason may be missing (735, 1640)",
        "no health endpoint, no gauge",
    ),
)

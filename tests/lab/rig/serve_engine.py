"""Serve SmolLM2 by llama.cpp on the CPU: the real engine, as production with one slot or as a candidate with more.

It is copied to the host, where the engine and the model are mounted read-only under /opt/engine.
"""

from __future__ import annotations

import argparse
import glob
import signal
import sys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--ctx", type=int, default=2048, help="tokens of context for each slot")
    parser.add_argument("--model", default="/opt/engine/model/*.gguf", help="a path, or a pattern for one")
    parser.add_argument("--alias", default="smollm2")
    options = parser.parse_args()

    sys.path.insert(0, "/opt/engine/site")
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = glob.glob(options.model)[0]
    params.model_alias = {options.alias}
    params.hostnames = [options.host]
    params.port = options.port
    params.n_parallel = options.slots
    params.n_ctx = options.ctx * options.slots
    params.endpoint_metrics = True
    params.endpoint_slots = True
    # Several threads spin at a barrier in every layer; on a shared core each barrier may cost a turn of the scheduler.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = Server(params)  # loads the model, then serves in threads of its own
    print("serving on", server.listening_address, flush=True)
    signal.pause()  # a signal's own default ends it within a second or two; asking politely takes ten times as long


if __name__ == "__main__":
    main()

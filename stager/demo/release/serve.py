"""The engine of the demo, as production and as candidate: llama.cpp's own server, on the CPU, with so many slots."""

from __future__ import annotations

import argparse
import signal


def main() -> None:
    """Serve until a signal ends the process."""
    parser = argparse.ArgumentParser(description="llama.cpp's own server, on the CPU")
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--context", type=int, default=1024, help="tokens of context for each slot")
    options = parser.parse_args()

    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = options.model
    params.model_alias = {"smollm2"}
    params.hostnames = [options.host]
    params.port = options.port
    params.n_parallel = options.slots
    params.n_ctx = options.context * options.slots
    params.endpoint_metrics = True
    params.endpoint_slots = True
    # Several threads spin at a barrier in every layer; on a shared core each barrier may cost a turn of the scheduler.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = Server(params)  # loads the model, then serves in threads of its own
    print("serving on", server.listening_address, flush=True)  # noqa: T201 -- into the engine's own log
    signal.pause()  # a signal's default ends it within a second or two; asking politely takes ten times as long


if __name__ == "__main__":
    main()

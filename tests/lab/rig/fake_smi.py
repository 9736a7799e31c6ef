#!/usr/bin/python3
"""Stands for `nvidia-smi` on a host without a card: the csv forms the real one prints, over what an engine does now.

One card; 1,000 MiB held by the candidate at rest and 100 MiB for each request it works on. Files in /run/card make it
worse: `leaks` (a number of requests after which every further one keeps its memory), `haunted` (so many requests, after
which the card never rests), `mute` (the driver tells no memory per process, as on a card with unified memory).
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

UUID, CARD = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", Path("/run/card")


def beyond(name: str, served: int) -> int:
    file = CARD / name
    return max(0, served - int(file.read_text())) if file.exists() else 0


def main() -> None:
    pid = subprocess.run(["pgrep", "-f", "serve.py --port 18080"], capture_output=True, text=True).stdout.split()
    state = {"active": 0, "served": 0}
    if pid:
        with urllib.request.urlopen("http://127.0.0.1:18080/health", timeout=5) as answer:
            state = json.load(answer)
    held = 1000 + 100 * (state["active"] + beyond("leaks", state["served"])) if pid else 3
    busy = 97 if state["active"] or beyond("haunted", state["served"]) else 0
    told = {"uuid": UUID, "gpu_uuid": UUID, "name": "NVIDIA GeForce RTX 3090", "driver_version": "550.54.14"}
    told |= {"index": "0", "memory.used": str(held), "memory.total": "24576", "utilization.gpu": str(busy)}
    told["used_memory"] = "[N/A]" if (CARD / "mute").exists() else str(held)
    for word in sys.argv[1:]:
        kind, _, fields = word.partition("=")
        if kind == "--query-gpu":
            print(", ".join(told[field] for field in fields.split(",")))
        if kind == "--query-compute-apps":
            for one in pid:
                print(", ".join({**told, "pid": one}[field] for field in fields.split(",")))


main()

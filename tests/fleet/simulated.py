"""A run's process as a worker starts it, on a host that is simulated: everything above the host interface is real.

The host answers the framed protocol in this process: handshake, verbs, one candidate (the honest engine of
`stager.lab`). It changes nothing anywhere and takes no time of its own, so what a run costs is the controller's.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import stager.staging.session
from stager.cli.main import main
from stager.host.base import Host
from stager.host.forward import DirectForward
from stager.lab.server import serve
from stager.models.playbook import HostSpec
from stager.onhost import protocol

STATE = "/var/lib/stager"
FACTS: dict[str, Any] = {
    "host": {"kernel": "6.1.0", "machine": "x86_64", "boot_id": "0" * 8, "gpus": []},
    "markers": {"foreign": [], "problems": []},
    "ports": {},
    "health": {"checked": True, "why": ""},
    "drain": {"why": ""},
    "state": {"folder": STATE, "file_system": "ext4", "remote": False, "writable": True, "free_bytes": 2**40},
    "legs": {"lease": "", "cap": "", "boot": ""},
    "notify": "",
    "candidate": {"tree_whole": True, "program": "", "prepare": [], "user": "", "models": [], "free_port": None},
}
VERDICT = {
    "step": "restored", "code": 0, "candidate_stopped": True, "restored": ["prod.service", "watchdog.timer"],
    "left": [], "markers_cleared": ["/run/llama/stager.maintenance"], "production_as_before": True,
    "downtime_seconds": 12.5, "trouble": [], "units": [],
}  # fmt: skip
#: A journal about as long as a real one: 60 records.
JOURNAL = "\n".join(json.dumps({"seq": seq, "kind": "note", "step": "x", "words": "w" * 300}) for seq in range(60))


def opened(args: dict[str, Any]) -> dict[str, Any]:
    """The run as the host took it."""
    return {"run_id": args["run_id"], "fence": 1, "restore_in": 600.0, "spec": args["spec"]}


def looked(args: dict[str, Any]) -> dict[str, Any]:
    """A host on which everything is as it should be."""
    production = args["spec"]["production"]
    names = [*production["service_names"], *production["watchdog_names"]]
    units = {name: {"load": "loaded", "active": "active", "problems": []} for name in names}
    return {**FACTS, "survey": {"units": units, "triggers": {}, "along": [], "dragged": []}}


ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "open": opened,
    "look": looked,
    "prepare": lambda args: {"manifest": [], "distributions": [], "models": []},
    "take_down": lambda args: {},
    "launch": lambda args: {"born": {"invocation": "1" * 32}},
    "keep": lambda args: {"kept": True, "why": ""},
    "restore": lambda args: VERDICT,
    "collect": lambda args: {"journal": JOURNAL, "output": "", "chain_is_whole": True, "manifest": []},
}


class SimulatedPipe:
    """The far end of one channel."""

    def __init__(self) -> None:
        self._in: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._out: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._rest = b""
        threading.Thread(target=self._answer, daemon=True).start()

    def read(self, size: int) -> bytes:
        return self._out.get()  # the inbox reads 64 KiB at a time, and no answer is split

    def write(self, data: bytes) -> None:
        self._in.put(data)

    def end_input(self) -> None:
        self._in.put(b"")

    def close(self) -> None:
        self._in.put(b"")

    def stderr_tail(self) -> str:
        return ""

    def exit_status(self, timeout: float) -> int | None:
        return 0

    def _take(self, size: int) -> bytes:
        if not self._rest:
            self._rest = self._in.get()
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def _answer(self) -> None:
        text = b""
        while not text.endswith(b"\0"):  # the loader, and the call that names the nonce
            text += self._take(65536)
        nonce = re.findall(r"main\('([0-9a-f]{32})'", text.decode())[-1]
        hello = {"protocol": 1, "state": STATE, "uid": 0, "hostname": "simulated", "boot_id": FACTS["host"]["boot_id"]}
        loader = {"loader": 1, "program": "there", "executable": "/usr/bin/python3", "uid": 0, "state": STATE}
        for line in (loader, hello):
            self._out.put(f"\n{nonce} {json.dumps(line)}\n".encode())
        while (message := protocol.read_frame(self._take)) is not None:
            if "id" in message:
                made = {"id": message["id"], "ok": True, "result": None}
                if message["verb"] != "ping":
                    made["result"] = ANSWERS[message["verb"]](message["args"])
                self._out.put(protocol.encode(made))
        self._out.put(b"")


class SimulatedHost:
    """A host that is not there."""

    def __init__(self, spec: HostSpec) -> None:
        self.address = spec.address

    def open(self, argv: Sequence[str]) -> SimulatedPipe:
        return SimulatedPipe()

    def forward(self, port: int) -> DirectForward:
        return DirectForward(engine_port())

    def close(self) -> None: ...


def engine_port() -> int:
    """Start the candidate's engine, in a thread with a loop of its own."""
    found: queue.SimpleQueue[int] = queue.SimpleQueue()

    async def run() -> None:
        async with serve() as url:
            found.put(int(url.rpartition(":")[2]))
            await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    return found.get()


def simulated(spec: HostSpec) -> Host:
    """In the place of `stager.host.connect.connect`."""
    return SimulatedHost(spec)


if __name__ == "__main__":
    stager.staging.session.connect = simulated  # type: ignore[assignment]
    code = main(["fleet", "carry", "--json"])
    sys.stdout.flush()
    os._exit(code)  # the engine's thread is not waited for

"""Where should the client stand? One source of known beats on a lab host, read along every way there is.

The ways: a client on the host itself (in its network namespace); source and client both here, as with `address: local`;
and a client here through stager's own forward, through asyncssh's, and through OpenSSH's `ssh -L` (on a connection of
its own, and on one that also carries a command).
Each is measured as a probe does before a verdict on time: `stager.probes.calibration`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import asyncssh

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from stager.engines.openai import OPENAI  # noqa: E402 - the checkout's own folders, not the installed package
from stager.host.connect import connect  # noqa: E402
from stager.host.onhost import OnHost  # noqa: E402
from stager.models.playbook import HostSpec  # noqa: E402
from stager.probes.calibration import MOST_FAKED, MOST_JITTER, Calibration, calibrate  # noqa: E402
from stager.probes.target import MetronomeOrder, Target  # noqa: E402
from tests.lab.rig.machine import Machine  # noqa: E402
from tests.lab.rig.slots import Slots  # noqa: E402

STREAMS = 4
Urls = dict[str, str]


def read(urls: Urls, step_ms: float) -> Calibration:
    """Calibrate against a source for each mode, already running behind these URLs."""

    @asynccontextmanager
    async def source(order: MetronomeOrder) -> AsyncIterator[str]:
        yield urls[order.mode.value]

    def started(order: MetronomeOrder) -> AbstractAsyncContextManager[str]:
        return source(order)

    return asyncio.run(calibrate(Target("", OPENAI, "", metronome=started), STREAMS, step_ms))


def on_host(machine: Machine, urls: Urls, step_ms: float) -> Calibration:
    """The same, by a process of its own in the host's network namespace."""
    inside = ["nsenter", f"--net=/proc/{machine.leader}/ns/net", sys.executable, str(HERE / "vantage.py")]
    done = subprocess.run(
        [*inside, "--read", json.dumps(urls), str(step_ms)], capture_output=True, text=True, check=True
    )
    return Calibration(**json.loads(done.stdout))


def through_asyncssh(machine: Machine, ports: dict[str, int], step_ms: float) -> Calibration:
    """The forward of asyncssh, in a process of its own, as stager's has threads of its own."""
    words = [machine.address, str(machine.key), str(machine.known_hosts), json.dumps(ports)]
    argv = [sys.executable, str(HERE / "vantage.py"), "--forward", *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        try:
            return read(json.loads(child.stdout.readline()), step_ms)
        finally:
            child.terminate()


async def forward_by_asyncssh(address: str, key: str, known_hosts: str, ports: dict[str, int]) -> None:
    """Forward, print the URLs, and go on until ended."""
    async with asyncssh.connect(address, username="root", client_keys=[key], known_hosts=known_hosts) as link:
        listeners = {mode: await link.forward_local_port("127.0.0.1", 0, "127.0.0.1", p) for mode, p in ports.items()}
        print(json.dumps({m: f"http://127.0.0.1:{one.get_port()}" for m, one in listeners.items()}), flush=True)
        await asyncio.Event().wait()


@contextmanager
def openssh(machine: Machine, ports: dict[str, int], *, command: bool) -> Iterator[Urls]:
    """OpenSSH's forward, on a connection that carries nothing else, or also a command."""
    near = {mode: free_port() for mode in ports}
    argv = ["ssh", "-i", str(machine.key), "-o", f"UserKnownHostsFile={machine.known_hosts}", "-o", "BatchMode=yes"]
    argv += ["-o", "ExitOnForwardFailure=yes", "-F", "none"]
    for mode, port in ports.items():
        argv += ["-L", f"127.0.0.1:{near[mode]}:127.0.0.1:{port}"]
    argv += [f"root@{machine.address}", "sleep", "600"] if command else ["-N", f"root@{machine.address}"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as child:
        try:
            for port in near.values():
                await_port(port)
            yield {mode: f"http://127.0.0.1:{port}" for mode, port in near.items()}
        finally:
            child.terminate()


def free_port() -> int:
    """A port nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def await_port(port: int) -> None:
    """Wait until somebody listens there."""
    for _ in range(200):
        with socket.socket() as asked:
            asked.settimeout(0.1)
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nobody listens on {port}")


def measure(machine: Machine, rounds: int, step_ms: float) -> dict[str, list[Calibration]]:
    """Every way once a round, in turn."""
    spec = {"address": machine.address, "user": "root", "identity": str(machine.key)}
    host = connect(HostSpec.model_validate({**spec, "known_hosts": str(machine.known_hosts)}))
    found: dict[str, list[Calibration]] = {}
    with OnHost(host) as onhost, ExitStack() as stack:
        order = {"step_ms": step_ms, "streams": STREAMS, "seconds": 900}
        modes = ("lock-step", "time-sliced")
        ports = {mode: int(onhost.call("metronome", {**order, "mode": mode})["port"]) for mode in modes}
        there = {mode: f"http://127.0.0.1:{port}" for mode, port in ports.items()}
        forwards = {mode: stack.enter_context(host.forward(port)).url for mode, port in ports.items()}
        for number in range(rounds):
            seen = {"client on the host": on_host(machine, there, step_ms)}
            seen["direct: source and client here"] = asyncio.run(calibrate(Target("", OPENAI, ""), STREAMS, step_ms))
            seen["stager's forward"] = read(forwards, step_ms)
            seen["asyncssh's forward"] = through_asyncssh(machine, ports, step_ms)
            for words, command in (("ssh -L -N", False), ("ssh -L, with a command", True)):
                with openssh(machine, ports, command=command) as urls:
                    seen[words] = read(urls, step_ms)
            onhost.beat()
            for way, one in seen.items():
                found.setdefault(way, []).append(one)
                print(f"round {number}: {way}: {one.document()}", file=sys.stderr, flush=True)
    host.close()
    return found


def table(found: dict[str, list[Calibration]], step_ms: float) -> str:
    """A line for each way: medians, and in how many rounds it could have carried a verdict."""
    lines = ["| way | step | jitter p95 | latency | lock-step reads | time-sliced reads | fit for a verdict |"]
    lines.append("|---|---|---|---|---|---|---|")
    for way, all_of_it in found.items():
        cells = []
        for field, unit in (("jitter_ms", " ms"), ("latency_ms", " ms"), ("lock_step", ""), ("time_sliced", "")):
            values = [value for one in all_of_it if (value := getattr(one, field)) is not None]
            cells.append(f"{statistics.median(values):.2f}{unit}" if values else "not readable")
        fit = sum(not one.against_timing(step_ms) and not one.against_co_arrival() for one in all_of_it)
        lines.append(f"| {way} | {step_ms:g} ms | {' | '.join(cells)} | {fit} of {len(all_of_it)} |")
    return "\n".join(lines)


def main() -> None:
    """Boot a host, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=float, nargs="+", default=[5.0, 15.0], metavar="MS")
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--forward", nargs=4, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.read:
        print(json.dumps(read(json.loads(words.read[0]), float(words.read[1])).document()))
        return
    if words.forward:
        *login, ports = words.forward
        asyncio.run(forward_by_asyncssh(*login, json.loads(ports)))
    with Slots() as slots:
        slot = slots.take()
        try:
            machine = Machine(slot)
            print(f"jitter may be {MOST_JITTER:g} of a step, a time-sliced source may read {MOST_FAKED:g}\n")
            for step in words.steps:
                print(table(measure(machine, words.rounds, step), step), flush=True)
        finally:
            slots.give_back(slot)


if __name__ == "__main__":
    main()

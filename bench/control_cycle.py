"""stager, ansible-core and pyinfra on the same control cycle, on one lab host, in interleaved runs of whole processes.

The cycle: read four units' states; two markers up; two timers and two services down; ship 50 files (1 MB); start a
candidate and wait for it; stop it; services, timers, markers back; files away. What each does besides is in README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench import peers  # noqa: E402 - the checkout's own folders, not the installed package
from bench.peers import MARKERS, SERVICES, TIMERS, Way  # noqa: E402
from tests.lab.rig.machine import Machine  # noqa: E402
from tests.lab.rig.production import SERVER, Service, lay, watchdog  # noqa: E402
from tests.lab.rig.slots import Slots  # noqa: E402

FILES, SIZE = 50, 20_000
Prepare = Callable[[], None]


def playbook(way: Way) -> dict[str, object]:
    """The cycle as stager's playbook; no probes, since the peers have none."""
    return {
        "stager": 1,
        "name": "bench",
        "host": {
            "address": way.address,
            "port": way.port,
            "user": "root",
            "identity": str(way.key),
            "known_hosts": str(way.known_hosts),
        },
        "candidate": {
            "release": "./server",
            "launch": ["/usr/bin/python3", "serve.py", "--port", "{port}", "--slots", "4"],
            "engine": {"kind": "openai", "health": "/health", "active": "/health#/active"},
            "model": "tiny",
            "port": 18080,
            "limits": {"runtime": "5m"},
            "ready": {"timeout": "1m"},
            "stop": {"grace": "5s"},
        },
        "production": {
            "manager": "systemd",
            "services": list(SERVICES),
            "watchdogs": list(TIMERS),
            "ports": [8080, 8081],
            "healthy": {
                "url": "http://127.0.0.1:8080/v1/chat/completions",
                "model": "tiny",
                "n": 1,
                "of": 1,
                "within": "30s",
            },
        },
        "markers": {"raise": ["first", "second"], "respect": []},
        "guard": {"lease": "30s", "deadline": "20m"},
        "probes": {},
    }


class Release:
    """50 files that are new for every run, so that nobody finds them on the host: a folder, and a tar of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "playbooks" / "server"
        self.tar = folder / "release.tar"
        self.folder.mkdir(parents=True)

    def renew(self) -> None:
        """Write them anew."""
        for number in range(FILES - 1):
            (self.folder / f"part{number:02}.bin").write_bytes(secrets.token_bytes(SIZE))
        shutil.copy(SERVER, self.folder / "serve.py")
        with tarfile.open(self.tar, "w") as tar:
            tar.add(self.folder, arcname=".")


def stager(folder: Path, way: Way) -> list[str]:
    """Write playbook and markers; returns the first of its two commands."""
    (folder / "markers").mkdir(exist_ok=True)
    for name, path in zip(("first", "second"), MARKERS, strict=True):
        (folder / "markers" / f"{name}.yaml").write_text(yaml.safe_dump({"path": path, "means": "keep off"}))
    path = folder / "playbooks" / f"bench-{way.port}.yaml"
    path.write_text(yaml.safe_dump(playbook(way)))
    return [sys.executable, "-m", "stager", "stage", str(path), "--hold", "2m", "--json"]


@contextmanager
def path_to(machine: Machine, round_trip_ms: float, folder: Path) -> Iterator[Way]:
    """The host as it is, or behind a relay that makes the way longer."""
    if not round_trip_ms:
        yield Way(machine.address, 22, machine.key, machine.known_hosts)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kind, key = machine.known_hosts.read_text().split()[1:3]
    known = folder / f"known_hosts-{port}"
    known.write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    argv = [sys.executable, str(HERE / "slow_path.py"), machine.address, "22", str(port), str(round_trip_ms)]
    relay = subprocess.Popen(argv, stdout=subprocess.PIPE)
    try:
        assert relay.stdout
        relay.stdout.readline()
        yield Way("127.0.0.1", port, machine.key, known)
    finally:
        relay.terminate()
        relay.wait()


def timed(argv: list[str], folder: Path) -> float:
    """Seconds of one whole process; for stager of its second command, too, which takes down what the first staged.

    Raises:
        RuntimeError: it failed.
    """
    environment = {"STAGER_HOME": str(folder / "home"), "ANSIBLE_HOST_KEY_CHECKING": "True", **os.environ}
    begun = time.monotonic()
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begun
    if done.returncode:
        raise RuntimeError(f"{argv[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    if "stage" in argv:
        run_id = json.loads(done.stdout)["run_id"]
        seconds += timed([*argv[:3], "cleanup", run_id, "--json"], folder)
    return seconds


def measure(machine: Machine, binaries: Path, folder: Path, rounds: int, paths: list[float]) -> dict[str, list[float]]:
    """Every contender once a round, in turn, on each path; the first round is thrown away."""
    seconds: dict[str, list[float]] = {}
    release = Release(folder)
    for number in range(rounds + 1):
        for delay in paths:
            with path_to(machine, delay, folder) as way:
                contenders = {
                    "stager": (stager(folder, way), folder),
                    "pyinfra": (peers.pyinfra(folder / "pyinfra", way, release.tar, binaries), folder / "pyinfra"),
                    "ansible, pipelining": (
                        peers.ansible(folder / "ansible", way, release.tar, binaries, pipelining=True),
                        folder / "ansible",
                    ),
                }
                for name, (argv, where) in contenders.items():
                    release.renew()
                    taken = timed(argv, where)
                    print(f"round {number}, {delay:g} ms, {name}: {taken:.2f} s", file=sys.stderr, flush=True)
                    if number:
                        seconds.setdefault(f"{name} | {delay:g} ms", []).append(taken)
    return seconds


def table(seconds: dict[str, list[float]], paths: list[float]) -> str:
    """Medians with the range, and how many times as long as stager each took."""
    lines = ["| tool | round trip | median | from - to | times stager's |", "|---|---|---|---|---|"]
    for key, runs in sorted(seconds.items(), key=lambda item: (float(item[0].split("| ")[1][:-3]), item[0])):
        name, path = key.split(" | ")
        ratio = statistics.median(runs) / statistics.median(seconds[f"stager | {path}"])
        lines.append(
            f"| {name} | {path} | {statistics.median(runs):.1f} s | {min(runs):.1f} - {max(runs):.1f} s | {ratio:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Boot a host, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=Path, default=Path(tempfile.gettempdir()) / "stager-bench-peers")
    parser.add_argument("--round-trips", type=float, nargs="+", default=[0.0, 50.0], metavar="MS")
    words = parser.parse_args()
    binaries = words.peers / "bin"
    if not (binaries / "pyinfra").exists():
        subprocess.run([sys.executable, "-m", "venv", str(words.peers)], check=True)
        subprocess.run([str(binaries / "pip"), "install", "-q", "ansible-core", "pyinfra"], check=True)
    with Slots() as slots, tempfile.TemporaryDirectory() as folder:
        slot = slots.take()
        machine = Machine(slot)
        try:
            lay(
                machine,
                Service(),
                Service(name=SERVICES[1], port=8081),
                watchdogs={**watchdog(), **watchdog("second", SERVICES[1])},
            )
            seconds = measure(machine, binaries, Path(folder), words.rounds, words.round_trips)
        finally:
            slots.give_back(slot)
    print(json.dumps(seconds), file=sys.stderr)
    print(table(seconds, words.round_trips))


if __name__ == "__main__":
    main()

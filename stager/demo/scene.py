"""Production for the demo: an engine that serves, a watchdog over it, and a way in; all of it ended at the end."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stager.clock import Clock
from stager.demo.account import candidate_user
from stager.demo.door import Door, open_door
from stager.demo.host.service import identity
from stager.demo.place import Place, describe
from stager.demo.playbook import marker_text, playbook_text, policy_text
from stager.errors import StagerError
from stager.loading import LoadedPlaybook, load_playbook
from stager.onhost.answers import wait_healthy
from stager.staging.patience import undisturbed
from stager.staging.spec import health_check


@dataclass(frozen=True)
class Scene:
    """What stands: the folder with its playbook, the way in, and as whom the candidate will run (in words)."""

    place: Place
    loaded: LoadedPlaybook
    door: Door
    account: str

    def process(self, service: str) -> Mapping[str, Any] | None:
        """The identity of a background program, if it runs."""
        try:
            known = json.loads(self.place.file(service).with_suffix(".identity").read_text())
        except (OSError, ValueError):
            return None
        return known if known and identity(known["pid"]) == known else None


@contextmanager
def set_scene(place: Place, clock: Clock) -> Iterator[Scene]:
    """Put up production, the watchdog and the SSH server, and write the playbook; end all three afterwards.

    Raises:
        StagerError: production does not answer, or no SSH server lets us in.
    """
    with open_door(place, clock) as door:
        user, words = candidate_user(place)
        (place.root / "markers" / "maintenance.yaml").write_text(marker_text(place))
        (place.root / "policy.yaml").write_text(policy_text())
        place.playbook.write_text(playbook_text(place, door.host, user))
        loaded = load_playbook(place.playbook)
        try:
            _production(place, loaded)
            yield Scene(place, loaded, door, words)
        finally:
            with undisturbed():
                for service in ("watchdog", "engine"):  # the watchdog first: it would start the other again
                    _turn(place, "stop", service)


def _production(place: Place, loaded: LoadedPlaybook) -> None:
    logs = place.root / "production"
    engine = place.serve("--port", str(place.production_port))
    engine[1] = str(place.release / "serve.py")
    _write(place.file("engine"), describe(engine, logs / "engine.log", 10.0))
    watch = [str(place.python), "-I", str(logs / "service.py"), "watch", str(place.marker), str(place.file("engine"))]
    watch.append(json.dumps(identity(os.getpid())))
    _write(place.file("watchdog"), describe(watch, logs / "watchdog.log", 5.0))
    _turn(place, "start", "engine")
    healthy = loaded.playbook.production.healthy
    assert healthy
    well, seen = wait_healthy(health_check(healthy), healthy.within)
    if not well:
        why = seen["last_reason"]
        raise StagerError(f"The demo's production does not answer ({why}); its log is {logs}/engine.log.")
    _turn(place, "start", "watchdog")


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n")


def _turn(place: Place, verb: str, service: str) -> None:
    subprocess.run(place.ask(verb, service), check=False, stdin=subprocess.DEVNULL, start_new_session=True, timeout=60)

"""A lab host whose production runs through a release link, and the desk that promotes builds to it."""

from __future__ import annotations

import json
import shutil
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from tests.lab.desk import Said
from tests.lab.rig.engine import SERVE
from tests.lab.rig.machine import Machine
from tests.lab.rig.production import SERVER, Service, lay
from tests.lab.scene import MARKER, Scene

LINK = "/srv/llama/current"
FIRST = "/srv/llama/releases/first"
DROP_IN = "/etc/systemd/system/prod.service.d/50-stager.conf"
OVERLAP = {"overlap": {"streams": 4, "max_tokens": 80}}
TRUTH = {"truth": {"rounds": 2}}
CLAIMS = {"overlap": "generating", "truth": "answering"}
TINY = """import os, sys, threading
sys.argv += ['--slots', '{slots}', '--step', '0.02']
{then}
import serve
serve.main()
"""
LLAMA = "import sys\nsys.argv += ['--slots', '{slots}', '--ctx', '1024']\nimport serve\nserve.main()\n"
ON_PRODUCTION = "if '8080' in sys.argv:\n    {then}"

#: Builds that are well on the candidate's port, and not on production's.
BROKEN = {
    "exits": "sys.exit('no such device')",
    "never healthy": "sys.argv.append('--never-healthy')",
    "falls sick": "sys.argv += ['--sick-if', '/run/sick']; threading.Timer(2, open, ('/run/sick', 'w')).start()",
    "is another build": f"os.chdir('{FIRST}'); os.execv(sys.executable, ['python3', 'run.py', *sys.argv[1:5]])",
}


#: Production is whatever the link leads to.
THROUGH_LINK = Service(
    program=("/usr/bin/python3", "run.py"),
    service=(f"WorkingDirectory={LINK}", "Restart=on-failure", "RestartSec=100ms"),
)


class Promoting(Scene):
    """``real`` serves the real engine, otherwise it is the tiny server; ``changes`` go to the playbook."""

    def __init__(
        self, folder: Path, machine: Machine, *, real: bool = False, service: Service = THROUGH_LINK, **changes: Any
    ) -> None:
        self.real = real
        machine.copy(SERVE if real else SERVER, f"{FIRST}/serve.py")
        machine.write(f"{FIRST}/run.py", self.program(1))
        machine.path(LINK).symlink_to("releases/first")
        self.production = lay(machine, service, patience=90)
        super().__init__(folder, machine)
        shutil.copy(SERVE if real else SERVER, self.server / "serve.py")
        self.release()
        self.plan(**changes)
        self.before = self.snapshot()

    @property
    def server(self) -> Path:
        """The release's folder at the desk."""
        return self.folder / "playbooks" / "server"

    def program(self, slots: int, then: str = "") -> str:
        """What a release starts: the server with so many slots, after ``then`` where it is started for production."""
        text = LLAMA if self.real else TINY
        return text.format(slots=slots, then=ON_PRODUCTION.format(then=then) if then else "")

    def release(self, slots: int = 4, then: str = "") -> None:
        """Change the release at the desk: another build."""
        (self.server / "run.py").write_text(self.program(slots, then))

    def plan(self, promotion: dict[str, Any] | None = None, *, probes: dict[str, Any] = TRUTH, **changes: Any) -> None:
        """Write playbook and policy: the candidate is started as production is, and every probe is asked for."""
        claims = [{"probe": name, "claim": CLAIMS[name], "min_samples": 2} for name in probes]
        policy = {"stager": 1, "name": "quick", "claims": claims, "max_age": "1d", "tolerate": {"inconclusive": 3}}
        (self.folder / "playbooks" / "policy.yaml").write_text(yaml.safe_dump(policy))
        words = ["/usr/bin/python3", "run.py", "--host", "{bind}", "--port", "{port}"]
        engine: dict[str, Any] = {"engine": "llama.cpp", "model": "smollm2"} if self.real else {}
        url = "http://127.0.0.1:8080/v1/chat/completions"
        production = {"healthy": {"url": url, "within": "60s" if self.real else "8s"}, "watchdogs": ["watchdog.timer"]}
        production |= {"drain": None} if self.real else {}
        self.playbook(
            candidate={"launch": words, "claims": {"slots": 4}, **engine},
            production=production,
            probes=probes,
            policy="./policy.yaml",
            promotion={"link": LINK, "healthy_for": "1s", **(promotion or {})},
            guard={"lease": "30s"} | changes.pop("guard", {}),
            **changes,
        )

    # -- what a person types --------------------------------------------------------------------------------------

    def shown(self) -> str:
        """Stage, verify and clean up this build; returns its name."""
        said = self.stager("run", str(self.desk.playbook), patience=240)
        assert said.code in (0, 6), said.err  # 6: more was measured than the policy asks for
        assert said.document["cleanup"]["production_as_before"], said.err
        return str(said.document["build_id"])

    def promote(self, build: str, patience: float = 120) -> Said:
        """Promote a build."""
        return self.stager("promote", build, "--playbook", str(self.desk.playbook), patience=patience)

    def roll_back(self) -> Said:
        """Roll back."""
        return self.stager("rollback", "--playbook", str(self.desk.playbook))

    # -- what can be seen -----------------------------------------------------------------------------------------

    @property
    def link(self) -> str:
        """Where the link leads."""
        return str(self.machine.path(LINK).readlink())

    def slots(self) -> int:
        """How many slots the tiny production says it has: here it is the build's mark, not evidence."""
        with urllib.request.urlopen(f"http://{self.machine.address}:8080/health", timeout=5) as answer:
            return int(json.load(answer)["batch_limit"])

    def left_beside(self) -> list[str]:
        """Files of ours beside what is switched."""
        out = self.machine.sh(
            "find", "/srv/llama", "/etc/systemd/system", "/etc/llama", "-name", ".*stager*", check=False
        )
        return out.stdout.split()

    def on_old(self, *, but: tuple[str, ...] = ()) -> list[str]:
        """What is not as it was before the promotion; production must answer, and be the first release."""
        trouble = self.differences(but=but, patience=15) + self.left_beside()
        trouble += [] if self.link == "releases/first" else [f"the link leads to {self.link}"]
        return trouble + self.not_well(1)

    def on_new(self, *, but: tuple[str, ...] = ()) -> list[str]:
        """What is not as it must be after a promotion: the new build answers, all else is as before."""
        trouble = self.differences(but=(*but, "processes"), patience=15)
        trouble += self.left_beside()
        trouble += [] if self.link.startswith("/var/lib/stager/trees/") else [f"the link leads to {self.link}"]
        return trouble + self.not_well(4)

    def not_well(self, slots: int) -> list[str]:
        """Whether production answers with so many slots, watchdogs are armed and no marker is left."""
        trouble = [] if self.real or self.slots() == slots else [f"production has {self.slots()} slots"]
        trouble += [] if self.production.answers(self.production.services[0]) else ["production does not answer"]
        trouble += [] if self.unit("watchdog.timer") == "active" else ["the watchdog is not armed"]
        return trouble + (["the marker is left"] if self.machine.path(MARKER).exists() else [])

"""What can be done inside a running host: programs, files, units."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

from . import nspawn, snapshot
from .place import CLEAN_ENV

FOLDERS = ("/run/llama", "/etc/cron.d", "/var/spool/cron")  # markers, and what may start things at boot


class Inside:
    """The inner side of a host; `Machine` adds its power, disk and network."""

    name: str
    root: Path

    def __init__(self) -> None:
        self.laid: set[str] = set()  # the units that tests put here
        self._leader: int | None = None

    @property
    def leader(self) -> int:
        """The pid, out here, of the host's PID 1.

        Raises:
            RuntimeError: the host is down.
        """
        if self._leader is None:
            raise RuntimeError(f"{self.name} is down")
        return self._leader

    def sh(
        self, *argv: str, check: bool = True, user: str = "root", given: str = "", timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a program inside, in 5 ms and without ssh; with `check`, its own words are in the error."""
        done = subprocess.run(
            self._inside(argv, user),
            env=CLEAN_ENV,
            input=given,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            raise RuntimeError(
                f"{' '.join(argv)} ended with {done.returncode} on {self.name}: {done.stderr or done.stdout}"
            )
        return done

    def start(self, *argv: str, user: str = "root", log: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        """Start a program inside and leave it running, in PID 1's own cgroup: no unit owns it."""
        out = log or subprocess.DEVNULL
        return subprocess.Popen(
            self._inside(argv, user),
            env=CLEAN_ENV,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )

    def path(self, inside: str) -> Path:
        """Where a path of the host is out here; while it is up this sees its /run and other mounts too."""
        top = Path(f"/proc/{self._leader}/root") if self._leader else self.root
        return top / inside.lstrip("/")

    def read(self, inside: str) -> str:
        """A file's text."""
        return self.path(inside).read_text()

    def write(self, inside: str, text: str, mode: int = 0o644) -> None:
        """Write a file, with the folders it needs."""
        self._made(inside).write_text(text)
        self.path(inside).chmod(mode)

    def copy(self, source: Path, inside: str, mode: int = 0o755) -> None:
        """Copy a file of ours to the host."""
        shutil.copyfile(source, self._made(inside))
        self.path(inside).chmod(mode)

    def lay(self, units: Mapping[str, str]) -> None:
        """Put unit files in place (name -> text) and let systemd read them; starts nothing."""
        for name, text in units.items():
            self.write(f"/etc/systemd/system/{name}", text)
        self.laid.update(units)
        self.sh("systemctl", "daemon-reload")

    def show(self, *names: str) -> dict[str, dict[str, str]]:
        """What systemd says about units: name -> LoadState, ActiveState, SubState, UnitFileState, InvocationID."""
        return snapshot.units(self.sh("systemctl", "show", "-p", ",".join(snapshot.UNIT_PROPERTIES), *names).stdout)

    def snapshot(self, units: Iterable[str] = (), folders: Sequence[str] = FOLDERS) -> snapshot.Snapshot:
        """The host as it is now: `units` (by default those that tests laid), and the files under `folders`."""
        shown = self.show(*(sorted(units) or sorted(self.laid)), "stager*")
        top = self.path("/")
        return snapshot.Snapshot(
            units={name: snapshot.state(unit) for name, unit in shown.items() if not name.startswith("stager")},
            invocations={name: unit.get("InvocationID", "") for name, unit in shown.items()},
            ours=tuple(sorted(name for name in shown if name.startswith("stager"))),
            unit_files=snapshot.tree(top, snapshot.UNIT_FOLDERS, only_files=True),
            files=snapshot.tree(top, folders),
            ports=snapshot.ports(self.leader),
            processes=tuple(sorted(snapshot.processes(self.leader).values())),
        )

    def _made(self, inside: str) -> Path:
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _inside(self, argv: Sequence[str], user: str) -> list[str]:
        # In PID 1's own groups: a stray process in a group the host cannot see would be foreign to its systemd.
        enter = nspawn.entering(nspawn.inside_groups(self.leader))
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"] if user != "root" else []
        return [*enter, "nsenter", "-t", str(self.leader), "-a", "--", *become, *argv]

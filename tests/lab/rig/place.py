"""Where the lab keeps its things, and what is missing for it to run here."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Read once: tests change HOME, and a root built by one test must be found by the next.
LAB = Path(os.environ.get("STAGER_LAB_DIR") or Path.home() / ".cache" / "stager-lab").resolve()
PACKAGES = Path(__file__).resolve().parents[3] / ".ci" / "packages"
CGROUPS = Path("/sys/fs/cgroup")
PROGRAMS = ("ip", "mkfs.ext4", "mmdebstrap", "mount", "nsenter", "ssh", "ssh-keygen", "systemd-nspawn", "umount")
CLEAN_ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"}


def missing() -> str | None:
    """What keeps the lab from running here, as one line that says what to do; None when nothing does."""
    if os.geteuid() != 0:
        return "the lab needs root (it boots real systemd hosts): run the tests as root"
    if absent := [name for name in PROGRAMS if shutil.which(name, path=CLEAN_ENV["PATH"]) is None]:
        packages = [line.strip() for line in PACKAGES.read_text().splitlines() if line.strip() and line[0] != "#"]
        return f"the lab lacks {', '.join(absent)}: apt-get install {' '.join(packages)}"
    if not hierarchies():
        return f"the lab needs a cgroup hierarchy it can write to under {CGROUPS}"
    return None


def hierarchies() -> list[Path]:
    """The cgroup hierarchies a booted host must have a group of its own in: systemd's v1 one and v2, or v2 alone."""
    if (CGROUPS / "cgroup.controllers").exists():
        found = [CGROUPS]
    else:
        found = [CGROUPS / name for name in ("systemd", "unified") if (CGROUPS / name / "cgroup.procs").exists()]
    return [group for group in found if os.access(group / "cgroup.procs", os.W_OK)]


def command(*argv: str | Path, check: bool = True, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a program of this machine in a clean environment; with `check`, its words are in the error."""
    done = subprocess.run(
        [str(part) for part in argv], env=CLEAN_ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip
    if check and done.returncode:
        raise RuntimeError(
            f"{' '.join(done.args)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}"
        )
    return done


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a file's lock, so that two test sessions do not build the same thing at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def key() -> Path:
    """The private key that opens every host of the lab; made on first use."""
    path = LAB / "key"
    with held(LAB / "key.lock"):
        if not path.exists():
            command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "stager-lab", "-f", path)
    return path

"""Base root file systems of Debian releases, built once and kept until their recipe changes."""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path

from .place import LAB, command, held, key

PACKAGES = (
    "systemd", "systemd-sysv", "openssh-server", "python3", "iproute2", "procps", "dbus", "sudo", "rsync", "cron",
    "libfaketime", "libgomp1", "libstdc++6",  # a clock that can be stepped; what the real engine links to
)  # fmt: skip
# Units that would only add noise (downloads at odd times, a login prompt on a console nobody sees).
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service",
    "console-getty.service", "getty@tty1.service", "getty.target", "systemd-networkd-wait-online.service",
)  # fmt: skip
USERS = ("ops", "plain")  # ops may use sudo without a password, plain may not
HOST_KEY = "etc/ssh/ssh_host_ed25519_key.pub"
UNUSED = 3 * 86400  # seconds after which a root of an older recipe is removed
RECIPE = 1  # raise it when _furnish changes what a root holds


def root(suite: str) -> Path:
    """The folder of a base root of `suite` (bullseye, bookworm, trixie); built if it is not there yet."""
    digest = hashlib.sha256(repr((suite, PACKAGES, MASKED, USERS, RECIPE)).encode()).hexdigest()[:12]
    final = LAB / "roots" / f"{suite}-{digest}"
    with held(LAB / "roots" / f"{suite}.lock"):
        if not final.exists():
            _build(suite, final)
        final.with_suffix(".used").touch()
    return final


def _build(suite: str, final: Path) -> None:
    for used in final.parent.glob(f"{suite}-*.used"):
        if time.time() - used.stat().st_mtime > UNUSED:
            shutil.rmtree(used.with_suffix(""))
            used.unlink()
    new = final.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)  # half of one, if a build was ended
    command("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", suite, new, timeout=280)
    _furnish(new)
    new.rename(final)  # only a whole root ever has the final name


def _furnish(new: Path) -> None:
    (new / "etc/machine-id").write_text("")  # each host makes its own
    for unit in MASKED:
        (new / "etc/systemd/system" / unit).symlink_to("/dev/null")
    for user in USERS:
        command("chroot", new, "useradd", "--create-home", "--shell", "/bin/bash", user)
    (new / "etc/sudoers.d/ops").write_text("ops ALL=(ALL) NOPASSWD: ALL\n")
    (new / "etc/sudoers.d/ops").chmod(0o440)
    public = Path(f"{key()}.pub").read_text()
    for user, home in (("root", "root"), *((user, f"home/{user}") for user in USERS)):
        folder = new / home / ".ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "authorized_keys").write_text(public)
        command("chroot", new, "chown", "-R", f"{user}:{user}", f"/{home}/.ssh")

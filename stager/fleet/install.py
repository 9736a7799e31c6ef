"""Put a schedule's units or crontab lines in place, and take exactly them away again."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stager.errors import Refused, StagerError
from stager.fleet import cron, timer
from stager.fleet.records import Installed
from stager.fleet.timer import Units, shown
from stager.onhost import cron as crontab

Kind = Literal["systemd", "systemd-user", "cron"]

SYSTEM_UNITS = Path("/etc/systemd/system")
_LINGER = Path("/var/lib/systemd/linger")
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be written and run; shown before it is done."""

    kind: Kind
    files: tuple[tuple[Path, str], ...] = ()
    lines: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()

    def text(self) -> str:
        """Return the whole plan for reading."""
        parts = [f"--- {path}\n{text}" for path, text in self.files]
        if self.lines:
            parts.append("--- crontab, added lines\n" + cron.joined(self.lines))
        parts += [f"$ {shown(words)}" for words in self.commands]
        return "\n".join(parts)


def systemd_plan(units: Units, *, user: bool) -> Plan:
    """Return the plan for two unit files."""
    folder = _user_units() if user else SYSTEM_UNITS
    return Plan(
        kind="systemd-user" if user else "systemd",
        files=((folder / units.timer, units.timer_text), (folder / units.service, units.service_text)),
        commands=tuple(tuple(words) for words in timer.enable(units, user=user)),
    )


def cron_plan(lines: Sequence[str]) -> Plan:
    """Return the plan for crontab lines."""
    return Plan(kind="cron", lines=tuple(lines), commands=(("crontab", "-"),))


def choose() -> Kind:
    """Return what would run a schedule on this machine.

    Raises:
        Refused: nothing would ever run it.
    """
    systemd = systemd_there()
    if systemd and os.geteuid() == 0:
        return "systemd"
    if systemd and lingers():
        return "systemd-user"
    if shutil.which("crontab") and crontab.daemon_runs():
        return "cron"
    if systemd:
        reason = "Nothing would ever run this schedule: your timers end with your last login, and no cron daemon runs."
        raise Refused([reason], next="loginctl enable-linger")
    raise Refused(
        ["Nothing would ever run this schedule: there is neither systemd (243 or newer) nor a running cron daemon."]
    )


def nearest() -> Kind:
    """Return what would be chosen once something ran schedules here, where `choose` refuses."""
    return "systemd-user" if systemd_there() else "cron"


def systemd_there() -> bool:
    """Whether a systemd runs here that is new enough for our timers."""
    return Path("/run/systemd/system").is_dir() and systemd_version() >= timer.OLDEST


def systemd_version() -> int:
    """Return systemd's version, or 0 where it does not say."""
    try:
        done = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except OSError:
        return 0
    words = done.stdout.split()
    return int(words[1]) if len(words) > 1 and words[1].isdecimal() else 0


def lingers() -> bool:
    """Whether this user's own timers tick without a login."""
    return (_LINGER / pwd.getpwuid(os.geteuid()).pw_name).exists()


def install(plan: Plan) -> Installed:
    """Do what the plan says.

    Raises:
        Refused: a file of that name is there and is not ours; nothing was written.
        StagerError: a command failed; its words are in the message.
    """
    taken = [str(path) for path, _ in plan.files if path.exists()]
    if taken:
        raise Refused([f"{path} exists and is not this schedule's; it is left as it is." for path in taken])
    for path, text in plan.files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    try:
        if plan.kind == "cron":
            _write_crontab([*_crontab(), *map(os.fsencode, plan.lines)])
        else:
            for words in plan.commands:
                _run(words)
    except StagerError:
        for path, _ in plan.files:
            path.unlink(missing_ok=True)
        raise
    return Installed(kind=plan.kind, files={str(path): text for path, text in plan.files}, lines=plan.lines)


def uninstall(name: str, installed: Installed) -> list[str]:
    """Take away what was written; return a sentence for each thing left because somebody changed it."""
    if installed.kind == "cron":
        ours = {os.fsencode(line) for line in installed.lines}
        before = _crontab()
        others = [line for line in before if line not in ours]
        if others != before:
            _write_crontab(others)
        changed = cron.of(map(os.fsdecode, others), name)
        return [f"A crontab line was changed by another hand and is left: {line}" for line in changed]
    user = installed.kind == "systemd-user"
    for words in timer.disable(name, user=user):
        _run(words)
    left = []
    for file, text in installed.files.items():
        path = Path(file)
        if not path.exists():
            continue
        if path.read_text(encoding="utf-8", errors="replace") != text:
            left.append(f"{path} was changed by another hand and is left; its timer no longer ticks.")
        else:
            path.unlink()
    for words in timer.reload(user=user):
        _run(words)
    return left


def ticks(name: str, installed: Installed) -> str:
    """Return an empty text if the schedule would run, or why nothing runs it."""
    if installed.kind == "cron":
        if not crontab.daemon_runs():
            return "no cron daemon runs"
        gone = {os.fsencode(line) for line in installed.lines} - set(_crontab())
        return "its crontab lines are gone or changed" if gone else ""
    user = ["--user"] if installed.kind == "systemd-user" else []
    words = ["systemctl", *user, "is-active", timer.unit_name(name, "timer")]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except OSError:
        return "systemctl is not there"
    return f"its timer is {done.stdout.strip() or 'not there'}" if done.returncode else ""


def _user_units() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".config") / "systemd" / "user"


def _crontab() -> list[bytes]:
    """Our crontab's lines: somebody's work, of which not a byte changes but for our lines."""
    lines, why = crontab.read()
    if lines is None:
        raise StagerError(f"crontab -l failed: {why}.", host_state="the crontab is as it was")
    return lines


def _write_crontab(lines: list[bytes]) -> None:
    if why := crontab.install(lines):
        raise StagerError(f"The lines were refused: {why}.", host_state="the crontab is as it was")


def _run(words: Sequence[str]) -> None:
    done = subprocess.run(list(words), capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise StagerError(f"`{shown(words)}` failed: {done.stderr.strip() or done.stdout.strip()}.")

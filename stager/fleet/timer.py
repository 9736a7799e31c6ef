"""A schedule as systemd units: text and commands as pure functions; nothing here touches the machine.

The timer fires at the window's start, also late after the machine was off (``Persistent=``); ``ExecCondition=`` then
asks whether tonight's run may still start, and claims the night, so that no night runs twice. The window's zone is the
service's ``TZ``, which is what ``stager run --until`` reads. systemd drops a start whose local time the clocks skip, so
those nights get a line of their own.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import takewhile

from stager.fleet.schedule import Schedule
from stager.fleet.window import EVERY_DAY, Window, skipped

#: How far ahead skipped starts get a line of their own.
YEARS_AHEAD = timedelta(days=5 * 366)
#: ``ExecCondition=`` came with systemd 243; before, it is ignored and a missed start would run in the day.
OLDEST = 243

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Units:
    """The two files of a schedule, by name and text."""

    timer: str
    timer_text: str
    service: str
    service_text: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is called and with what: the program's words, the environment it needs, and a file with secret values."""

    program: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    secrets_file: str = ""


def unit_name(name: str, kind: str) -> str:
    """Return the name of a schedule's unit, of kind ``timer`` or ``service``."""
    return f"stager-nightly-{name}.{kind}"


def units(schedule: Schedule, caller: Caller, today: date) -> Units:
    """Return the timer and the service of a schedule."""
    timer, service = (unit_name(schedule.name, kind) for kind in ("timer", "service"))
    return Units(timer, _timer(schedule, service, today), service, _service(schedule, caller))


def _timer(schedule: Schedule, service: str, today: date) -> str:
    lines = [f"OnCalendar={line}" for line in calendar(schedule.window(), today)]
    delay = [f"RandomizedDelaySec={schedule.jitter:g}s"] if schedule.jitter else []
    return _text(
        "[Unit]",
        f"Description=stager: start {schedule.name} at {schedule.at} {schedule.timezone}",
        "",
        "[Timer]",
        *lines,
        *delay,
        "Persistent=true",
        "AccuracySec=1s",
        f"Unit={service}",
        "",
        "[Install]",
        "WantedBy=timers.target",
    )


def _service(schedule: Schedule, caller: Caller) -> str:
    environment = [*caller.environment, ("TZ", schedule.timezone)]
    return _text(
        "[Unit]",
        f"Description=stager: {schedule.name}, {schedule.at} to {schedule.until} {schedule.timezone}",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        "Type=oneshot",
        *(f"Environment={quote(f'{name}={value}')}" for name, value in environment),
        *([f"EnvironmentFile={quote(caller.secrets_file)}"] if caller.secrets_file else []),
        f"ExecCondition={command([*caller.program, 'schedule', 'due', schedule.name])}",
        f"ExecStart={command([*caller.program, *run_words(schedule)])}",
        "KillMode=mixed",
        # On TERM stager cleans up; the worst case bounds that too.
        f"TimeoutStopSec={schedule.worst:.0f}s",
    )


def run_words(schedule: Schedule) -> list[str]:
    """Return the words of the run behind ``stager``."""
    return ["run", schedule.playbook, "--until", schedule.until]


def calendar(window: Window, today: date) -> list[str]:
    """Return the ``OnCalendar=`` expressions: the window's start, and a line for each coming night that skips it."""
    days = "" if window.days == EVERY_DAY else ",".join(_DAYS[day] for day in sorted(window.days)) + " "
    lines = [f"{days}*-*-* {window.at:%H:%M}:00 {window.zone.key}"]
    for night in takewhile(lambda night: night.day < today + YEARS_AHEAD, window.nights(today)):
        if skipped(night.day, window.at, window.zone):
            lines.append(f"{night.start.astimezone(window.zone):%Y-%m-%d %H:%M:%S} {window.zone.key}")
    return lines


def command(words: Sequence[str]) -> str:
    """Return a command line as systemd reads it back into exactly these words."""
    return " ".join(quote(word.replace("$", "$$")) for word in words)


def quote(word: str) -> str:
    """Quote one word for a unit file: specifiers doubled, quotes and backslashes escaped.

    Raises:
        ValueError: a line break or NUL is in it.
    """
    if any(char in word for char in "\n\r\0"):
        raise ValueError(f"no unit file can hold {word!r}")
    escaped = word.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    plain = escaped == word and word and not any(char.isspace() or char in "'\";" for char in word)
    return word if plain else f'"{escaped}"'


def enable(names: Units, *, user: bool) -> list[list[str]]:
    """Return the commands that make the timer tick; ``enable`` has systemd read its unit files again."""
    return [[*_systemctl(user), "daemon-reload"], [*_systemctl(user), "enable", "--now", names.timer]]


def disable(name: str, *, user: bool) -> list[list[str]]:
    """Return the command that ends the ticking; a run that is under way is left to end."""
    return [[*_systemctl(user), "disable", "--now", unit_name(name, "timer")]]


def reload(*, user: bool) -> list[list[str]]:
    """Return the command after unit files are gone."""
    return [[*_systemctl(user), "daemon-reload"]]


def _systemctl(user: bool) -> list[str]:
    return ["systemctl", "--user"] if user else ["systemctl"]


def shown(words: Sequence[str]) -> str:
    """Return a command as one would type it."""
    return shlex.join(words)


def _text(*lines: str) -> str:
    return "\n".join(("# Written by `stager schedule`; removed again by `stager schedule remove`.", *lines)) + "\n"

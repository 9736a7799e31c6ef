"""Where this machine keeps its schedules: one folder each, with what was installed and which nights were claimed."""

from __future__ import annotations

import os
import re
import shutil
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from stager.errors import InvalidFile, UsageError
from stager.fleet.schedule import NAME, Schedule
from stager.models.base import Model


class Installed(Model):
    """What was written for a schedule: unit files with their text, or crontab lines."""

    kind: Literal["systemd", "systemd-user", "cron"]
    files: dict[str, str] = Field(default_factory=dict)
    lines: tuple[str, ...] = ()


class Record(Model):
    """A schedule with what was installed for it."""

    schedule: Schedule
    installed: Installed


class Records:
    """The schedules below ``<home>/schedules``."""

    def __init__(self, home: Path) -> None:
        self._root = home / "schedules"

    def all(self) -> list[Record]:
        """Return every schedule, by name.

        Raises:
            InvalidFile: a record cannot be read.
        """
        return [self.get(path.parent.name) for path in sorted(self._root.glob("*/schedule.json"))]

    def get(self, name: str) -> Record:
        """Return one schedule.

        Raises:
            UsageError: there is none of that name.
            InvalidFile: its record cannot be read.
        """
        path = self._file(name)
        try:
            return Record.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            known = ", ".join(item.parent.name for item in sorted(self._root.glob("*/schedule.json"))) or "none"
            raise UsageError(
                f"There is no schedule {name!r}; there are: {known}.", next="stager schedule list"
            ) from None
        except (OSError, ValidationError) as error:
            raise InvalidFile(f"{path}: not a schedule: {error}.") from None

    def put(self, record: Record) -> None:
        """Write a schedule's record, whole or not at all."""
        path = self._file(record.schedule.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".new")
        with draft.open("w", encoding="utf-8") as file:
            file.write(record.model_dump_json(indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    def remove(self, name: str) -> None:
        """Forget a schedule and its nights."""
        shutil.rmtree(self._file(name).parent)

    def started(self, name: str) -> frozenset[date]:
        """Return the local days whose night was claimed."""
        return frozenset(date.fromisoformat(path.name) for path in self._nights(name).glob("????-??-??"))

    def claim(self, name: str, night: date) -> bool:
        """Claim a night for one run; False if somebody was first. Two that ask at once cannot both get it."""
        folder = self._nights(name)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            (folder / night.isoformat()).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def refuse(self, name: str, night: date, reason: str) -> None:
        """Remember why a night's run was not started; the last reason counts."""
        folder = self._nights(name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{night.isoformat()}.refused").write_text(reason, encoding="utf-8")

    def refusals(self, name: str) -> dict[date, str]:
        """Return the nights that were asked for and refused, with the reason."""
        found = self._nights(name).glob("????-??-??.refused")
        return {date.fromisoformat(path.stem): path.read_text(encoding="utf-8") for path in found}

    def _nights(self, name: str) -> Path:
        return self._file(name).parent / "nights"

    def check_name(self, name: str) -> None:
        """Raise `UsageError` if a schedule cannot have that name."""
        if not re.match(NAME, name):
            raise UsageError(f"{name!r} is no schedule's name; letters, digits, dots and dashes make one.")

    def _file(self, name: str) -> Path:
        self.check_name(name)
        return self._root / name / "schedule.json"

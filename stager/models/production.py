"""The production section of a playbook: what was there before, and how one sees that it works."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from stager.models.base import Model
from stager.models.checks import Finding, refuse
from stager.models.quantities import Duration
from stager.models.shape import PRIVATE
from stager.models.texts import AbsolutePath, Count, HostArgv, Name, OneLine, Port

Manager = Literal["systemd", "systemd-user", "supervisord", "podman", "docker", "command"]

ANY_MANAGER = (("manager",),)

_UNIT = re.compile(
    r"[A-Za-z0-9:_.\\@-]{1,200}\.(service|socket|timer|path|target|mount|automount|swap|slice|scope)", re.ASCII
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,200}", re.ASCII)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in text):
        raise PydanticCustomError("url", "a URL as seen on the host, such as http://127.0.0.1:8080/v1/chat/completions")
    if parts.username or parts.password:
        raise PydanticCustomError("url", "a URL without a user or password in it")
    return text


def _gauge(text: str) -> str:
    _url(text)
    if not re.fullmatch(r"/.*|[A-Za-z_:][A-Za-z0-9_:]*", urlsplit(text).fragment):
        raise PydanticCustomError("url", "a URL that ends in #/json/pointer or #metric_name")
    return text


def url_port(url: str) -> int:
    """Return the port a URL leads to, also where it is not written."""
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


Url = Annotated[str, AfterValidator(_url), Field(json_schema_extra=PRIVATE)]


class CommandUnit(Model):
    """A service under the ``command`` manager; ``status`` exits with 0 if it runs, 3 if not, else it is an error."""

    name: Name
    start: HostArgv
    stop: HostArgv
    status: HostArgv


class Drain(Model):
    """How one sees that production has no work left: by a gauge, or by established connections to its ports.

    ``timeout`` in seconds; if it passes, nothing is stopped.
    """

    gauge: Annotated[str, AfterValidator(_gauge)] | None = None
    connections: bool = False
    timeout: Annotated[Duration, Field(gt=0)] = 120.0

    @model_validator(mode="after")
    def _one_count(self) -> Self:
        if (self.gauge is not None) == self.connections:
            refuse([Finding((), "`gauge`, or `connections: true`", "both" if self.connections else "neither")])
        return self


class Healthy(Model):
    """Production works: ``n`` of ``of`` real one-token answers within some seconds; ``key_file`` is on the host."""

    url: Url
    model: OneLine | None = None
    key_file: AbsolutePath | None = None
    n: Count = 3
    of: Count = 3
    within: Annotated[Duration, Field(gt=0)] = 300.0

    @model_validator(mode="after")
    def _n_of_m(self) -> Self:
        if self.n > self.of:
            refuse([Finding(("n",), f"at most `of` ({self.of})", f"the number {self.n}", reads=(("of",),))])
        return self


def _unit_kind(value: object) -> str:
    return "a table" if isinstance(value, (dict, CommandUnit)) else "a name"


Unit = Annotated[Annotated[OneLine, Tag("a name")] | Annotated[CommandUnit, Tag("a table")], Discriminator(_unit_kind)]


def unit_name(unit: str | CommandUnit) -> str:
    """Return what a service or watchdog is called."""
    return unit if isinstance(unit, str) else unit.name


class Production(Model):
    """The services that were there before.

    Each list is stopped in its order and started in the reverse. Under systemd the units' own ``After=`` comes first,
    and nothing waits where there is none: all are asked for with one command. Other kinds go one by one.
    """

    manager: Manager
    services: tuple[Unit, ...] = ()
    watchdogs: tuple[Unit, ...] = ()
    ports: tuple[Port, ...] = ()
    drain: Drain | None = None
    healthy: Healthy | None = None
    warm: tuple[OneLine, ...] = ()

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        refuse([*self._forms(), *self._twice(), *self._drained(), *self._warmed()])
        return self

    def units(self) -> list[tuple[tuple[str | int, ...], str | CommandUnit]]:
        """Return every service and watchdog with its path in this section."""
        groups = (("services", self.services), ("watchdogs", self.watchdogs))
        return [((group, index), unit) for group, units in groups for index, unit in enumerate(units)]

    def _forms(self) -> list[Finding]:
        found: list[Finding] = []
        for path, unit in self.units():
            if self.manager == "command":
                if isinstance(unit, str):
                    found.append(
                        Finding(
                            path,
                            "{name, start, stop, status}, because the manager is `command`",
                            f'"{unit}"',
                            ANY_MANAGER,
                        )
                    )
            elif not isinstance(unit, str):
                found.append(
                    Finding(path, f"a name, because the manager is `{self.manager}`", "a mapping", ANY_MANAGER)
                )
            elif self.manager.startswith("systemd"):
                if not _UNIT.fullmatch(unit) or unit.startswith("-"):
                    found.append(
                        Finding(path, "a unit with its ending, such as llama.service", f'"{unit}"', ANY_MANAGER)
                    )
            elif not _NAME.fullmatch(unit):
                found.append(Finding(path, "a name of letters, digits and . _ : @ -", f'"{unit}"', ANY_MANAGER))
        return found

    def _twice(self) -> list[Finding]:
        seen: set[str] = set()
        found: list[Finding] = []
        for path, unit in self.units():
            name = unit_name(unit)
            if name in seen:
                found.append(
                    Finding(path, "each unit once", f'"{name}" a second time', (("services",), ("watchdogs",)))
                )
            seen.add(name)
        return found

    def _drained(self) -> list[Finding]:
        if self.drain and self.drain.connections and not self.ports:
            return [Finding(("drain", "connections"), "`ports` to count connections to", "no ports", (("ports",),))]
        return []

    def _warmed(self) -> list[Finding]:
        if self.warm and not self.healthy:
            return [Finding(("warm",), "`healthy`, whose URL the models are asked at", "none", (("healthy",),))]
        return []

"""The candidate section of a playbook: what is shipped, how it is started, what it claims."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator
from pydantic_core import PydanticCustomError

from stager.models.base import Model
from stager.models.checks import Finding, refuse
from stager.models.quantities import Duration, Size
from stager.models.shape import PRIVATE
from stager.models.template import placeholders
from stager.models.texts import AbsolutePath, Argv, Count, EnvName, EnvValue, Name, OneLine, Port

#: What may stand in braces in ``launch`` and ``env``.
LAUNCH_WORDS = frozenset({"port", "bind", "run_id", "home", "tree"})
#: ``prepare`` runs before there is a run to speak of: its result belongs to the build.
PREPARE_WORDS = frozenset({"home", "tree"})

#: A URL path with a JSON pointer, or the name of a metric.
Gauge = Annotated[
    str,
    StringConstraints(pattern=r"^(/[^#\s]*#(/[^#\s]*)*|[A-Za-z_:][A-Za-z0-9_:]*)$"),
    Field(description='a URL path with a JSON pointer, such as "/health#/active", or the name of a metric'),
]
UrlPath = Annotated[
    str, StringConstraints(pattern=r"^/[^#\s]*$"), Field(description="a URL path, such as /health, without a host")
]
EngineName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._+-]*$"), Field(description="the name of an engine")
]


def _ip(text: str) -> str:
    try:
        ip_address(text)
    except ValueError:
        raise PydanticCustomError(
            "bind", "an IP address, such as 127.0.0.1 (written out, also for all: 0.0.0.0)"
        ) from None
    return text


class DescribedEngine(Model):
    """An engine with a dialect of its own: where it says what.

    ``limit`` is a claim; ``active`` and ``busy`` are gauges; ``steps`` and ``tokens`` are counters.
    """

    kind: EngineName = "openai"
    health: UrlPath = "/health"
    active: Gauge | None = None
    busy: Gauge | None = None
    limit: Gauge | None = None
    steps: Gauge | None = None
    tokens: Gauge | None = None


class Claims(Model):
    """What the engine is configured to accept: recorded, never believed."""

    slots: Count | None = None
    context: Count | None = None


class Ready(Model):
    """How long the candidate may take until it answers a token (seconds)."""

    timeout: Annotated[Duration, Field(gt=0)] = 600.0


class Stop(Model):
    """How long the candidate may take to end after TERM before it is killed (seconds)."""

    grace: Duration = 30.0


class Limits(Model):
    """What the candidate may use: bytes of memory, bytes of device memory, seconds of life."""

    memory: Annotated[Size, Field(gt=0)] | None = None
    device_memory: Annotated[Size, Field(gt=0)] | None = None
    runtime: Annotated[Duration, Field(gt=0)] = 14400.0


def _engine_kind(value: object) -> str:
    return "a table" if isinstance(value, (dict, DescribedEngine)) else "a name"


Engine = Annotated[
    Annotated[EngineName, Tag("a name")] | Annotated[DescribedEngine, Tag("a table")],
    Discriminator(_engine_kind),
    Field(description="the name of an engine, such as llama.cpp, or a table that describes one"),
]


class Candidate(Model):
    """The engine being tried.

    ``release`` is a folder on the controller (relative to the playbook); without it nothing is shipped and
    ``launch`` names a program by its absolute path. ``model`` is the name sent in requests. ``port_reaches``
    says in a sentence how the port gets to the engine where neither ``launch`` nor ``env`` mentions ``{port}``.
    """

    release: OneLine | None = Field(None, description="a folder on this machine, relative to the playbook")
    models: tuple[AbsolutePath, ...] = Field((), description="a list of absolute paths on the host")
    model: OneLine | None = None
    prepare: tuple[Argv, ...] = Field((), description="a list of commands, each a list of words")
    launch: Argv
    env: dict[EnvName, EnvValue] = Field(default_factory=dict, json_schema_extra=PRIVATE)
    secrets: tuple[EnvName, ...] = Field((), json_schema_extra=PRIVATE)
    user: Name | None = None
    engine: Engine = "openai"
    port: Port | Literal["auto"] = Field(
        "auto", description="a port from 1 to 65535, or auto", union_mode="left_to_right"
    )
    port_reaches: OneLine | None = None
    bind: Annotated[str, AfterValidator(_ip)] = "127.0.0.1"
    claims: Claims = Claims()
    ready: Ready = Ready()
    stop: Stop = Stop()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        refuse([*self._words(), *self._program(), *self._port(), *self._secrets()])
        return self

    def _words(self) -> list[Finding]:
        places: list[tuple[tuple[str | int, ...], str, frozenset[str]]] = []
        places += [(("launch", i), word, LAUNCH_WORDS) for i, word in enumerate(self.launch)]
        places += [(("env", name), value, LAUNCH_WORDS) for name, value in self.env.items()]
        places += [
            (("prepare", i, j), word, PREPARE_WORDS)
            for i, argv in enumerate(self.prepare)
            for j, word in enumerate(argv)
        ]
        return [
            Finding(path, f"one of {_braced(known)} (or {{{{{name}}}}} for the text itself)", f"{{{name}}}")
            for path, text, known in places
            for name in sorted(placeholders(text) - known)
        ]

    def _program(self) -> list[Finding]:
        program = self.launch[0]
        found: list[Finding] = []
        if not program or ".." in program.split("/"):
            found.append(Finding(("launch", 0), "a program inside the release or an absolute path", f'"{program}"'))
        elif self.release is None and not program.startswith("/"):
            found.append(
                Finding(
                    ("launch", 0), "an absolute path, because there is no `release`", f'"{program}"', (("release",),)
                )
            )
        if self.prepare and self.release is None:
            found.append(Finding(("prepare",), "a `release` to prepare", "commands without one", (("release",),)))
        return found

    def _port(self) -> list[Finding]:
        mentioned = any("port" in placeholders(text) for text in (*self.launch, *self.env.values()))
        if mentioned:
            return []
        if self.port == "auto":
            return [
                Finding(
                    ("launch",),
                    "{port} somewhere, because the port is chosen at run time",
                    "no {port}",
                    (("port",), ("env",)),
                )
            ]
        if self.port_reaches is None:
            return [
                Finding(
                    ("launch",),
                    "{port} here or in `env`, or a sentence in `port_reaches`",
                    "neither",
                    (("env",), ("port_reaches",)),
                )
            ]
        return []

    def _secrets(self) -> list[Finding]:
        both = sorted(set(self.secrets) & set(self.env))
        return [
            Finding(("env", name), f"{name} in `env` or in `secrets`", "it in both", (("secrets",),)) for name in both
        ]


def _braced(names: frozenset[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))

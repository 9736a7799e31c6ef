"""The promotion section of a playbook: how production is switched to a build."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from stager.models.base import Model
from stager.models.checks import Finding, refuse
from stager.models.quantities import Duration
from stager.models.texts import AbsolutePath, Name, OneLine


class DropIn(Model):
    """A drop-in of one unit, ``/etc/systemd/system/UNIT.d/NAME.conf``; ``{tree}`` is the build's folder."""

    unit: OneLine
    name: Name = "50-stager"
    content: str

    @property
    def path(self) -> str:
        """Where it is written."""
        return f"/etc/systemd/system/{self.unit}.d/{self.name}.conf"


class ConfigFile(Model):
    """A file on the host (a router's configuration), replaced by one beside the playbook; ``{tree}`` is filled in."""

    path: AbsolutePath
    file: OneLine


class Promotion(Model):
    """What is switched: a release link, a drop-in, a configuration file, or several of them; and what must hold then.

    ``healthy_for``: seconds that production must go on answering after it became healthy. ``probes`` run on
    production's own port before the switch is confirmed.
    """

    link: AbsolutePath | None = None
    drop_in: DropIn | None = None
    config: ConfigFile | None = None
    healthy_for: Annotated[Duration, Field(ge=0)] = 30.0
    probes: dict[Name, dict[str, JsonValue]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.link or self.drop_in or self.config):
            refuse([Finding((), "`link`, `drop_in` or `config`", "none of them")])
        return self

"""Build identity: everything that decides how the candidate behaves, under one name.

``build_id`` is the SHA-256 of the canonical JSON of what is here. Port, bind address and limits are not: the launch
command and the environment are templates, and secrets are names. Host facts are recorded beside it, never in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from stager.models.base import Model, digest
from stager.models.candidate import Candidate
from stager.models.checks import Finding, refuse

#: Part of what is hashed, so that a change of these rules changes every name.
FORMAT = "stager.build/1"

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), Field(description="a SHA-256 in hex")]


class TreeEntry(Model):
    """One file of the release as it lies on the host.

    ``mode`` is octal, as the host's manifest writes it; of a symbolic link, ``sha256`` is that of its target's text.
    """

    path: Annotated[str, StringConstraints(min_length=1)]
    mode: Annotated[str, StringConstraints(pattern=r"^[0-7]{3,6}$")]
    sha256: Sha256


class ModelFile(Model):
    """A model file on the host; its path counts, because two files that change places are another build."""

    path: Annotated[str, StringConstraints(min_length=1)]
    sha256: Sha256


class Distribution(Model):
    """What ``prepare`` installed, by the installed distribution's own record."""

    name: Annotated[str, StringConstraints(min_length=1)]
    version: str
    record_sha256: Sha256


class BuildIdentity(Model):
    """The parts of a build, in an order that does not matter."""

    tree: tuple[TreeEntry, ...]
    launch: tuple[str, ...]
    env: dict[str, str]
    secrets: tuple[str, ...]
    models: tuple[ModelFile, ...]
    prepared: tuple[Distribution, ...]
    engine: JsonValue

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        groups = {"tree": [entry.path for entry in self.tree], "models": [file.path for file in self.models]}
        refuse(
            Finding((group,), "each path once", f'"{path}" a second time')
            for group, paths in groups.items()
            for path in sorted({path for path in paths if paths.count(path) > 1})
        )
        return self

    @property
    def build_id(self) -> str:
        """The build's name: a SHA-256 in hex."""
        parts = self.document()
        for group in ("tree", "models", "prepared"):
            parts[group] = sorted(parts[group], key=lambda entry: sorted(entry.items()))
        parts["secrets"] = sorted(set(self.secrets))
        return digest({"format": FORMAT, **parts})


def identify(
    candidate: Candidate,
    *,
    tree: Iterable[TreeEntry] = (),
    models: Iterable[ModelFile] = (),
    prepared: Iterable[Distribution] = (),
) -> BuildIdentity:
    """Return the identity of a candidate, given what the host digested of what will run.

    Args:
        candidate: the playbook's section; templates, names of secrets and the engine are taken from it.
        tree: the release's manifest.
        models: the model files with their digests.
        prepared: what ``prepare`` installed.
    """
    engine = candidate.engine if isinstance(candidate.engine, str) else candidate.engine.document()
    return BuildIdentity(
        tree=tuple(tree),
        launch=candidate.launch,
        env=candidate.env,
        secrets=candidate.secrets,
        models=tuple(models),
        prepared=tuple(prepared),
        engine=engine,
    )

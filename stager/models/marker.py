"""A kind of marker: a file on the host that tells others to keep off."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from stager.models.base import Model
from stager.models.checks import Finding, refuse
from stager.models.template import fill, placeholders
from stager.models.texts import AbsolutePath, OneLine

#: What may stand in braces in ``path`` and ``content``.
MARKER_WORDS = frozenset({"run_id"})
#: A marker says one thing; what is longer belongs into a log.
MAX_CONTENT = 4096

Mode = Annotated[
    str,
    StringConstraints(pattern=r"^0[0-7]{3}$"),
    Field(description='permissions as four octal digits in quotes, such as "0644"'),
]


class MarkerKind(Model):
    """One file ``markers/NAME.yaml``.

    ``obeyed_by`` names the units and programs that read the marker: what stops because of it is our doing.
    ``expires`` is a note for people, kept inside the content by whoever wants it there.
    """

    path: AbsolutePath
    content: Annotated[str, StringConstraints(max_length=MAX_CONTENT)] = ""
    mode: Mode = "0644"
    means: OneLine = Field(description="one sentence that says what the marker tells others")
    obeyed_by: tuple[OneLine, ...] = ()
    expires: OneLine | None = None

    @model_validator(mode="after")
    def _cross_checks(self) -> Self:
        places = (("path", self.path), ("content", self.content))
        found = [
            Finding((key,), "{run_id}, or no braces", f"{{{name}}}")
            for key, text in places
            for name in sorted(placeholders(text) - MARKER_WORDS)
        ]
        if self.path.endswith("/"):
            found.append(Finding(("path",), "a file", "a folder"))
        if int(self.mode, 8) & 0o022:
            found.append(Finding(("mode",), "a mode that only the owner may write", self.mode))
        refuse(found)
        return self

    def path_for(self, run_id: str) -> str:
        """Return where the marker lies during one run."""
        return fill(self.path, {"run_id": run_id})

    def content_for(self, run_id: str) -> str:
        """Return what the marker holds during one run."""
        return fill(self.content, {"run_id": run_id})

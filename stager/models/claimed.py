"""What a source says of itself, kept beside a run's evidence: claims about behaviour, never evidence of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from stager.models.base import Model
from stager.models.evidence import Text

#: Said with every audit that is attached: what ties the source to the build.
NOT_TIED: Final = "whether this source is what the build runs; the paths were read as they were given"


class SourceClaim(Model):
    """One finding of an audit; ``what`` is its kind, ``where`` file and line, ``by`` how it was read."""

    what: Text
    name: Text
    where: Text
    says: Text
    endpoint: str = ""
    by: Literal["syntax", "text"]
    accepted: str = ""


class AttachedAudit(Model):
    """What one audit claims about one run's build. No gate reads it."""

    run_id: Text
    read_at: datetime
    paths: Annotated[tuple[Text, ...], Field(min_length=1)]
    claims: tuple[SourceClaim, ...]
    not_known: Text = NOT_TIED

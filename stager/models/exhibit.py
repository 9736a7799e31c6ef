"""An exhibit: a piece of evidence as it was found, with what speaks against relying on it."""

from __future__ import annotations

from stager.models.base import Model
from stager.models.evidence import Evidence, Sha256, Text


class Exhibit(Model):
    """One evidence document that could be read. ``faults`` are sentences; any of them keeps it from passing.

    ``sha256`` is the digest of the document's bytes, ``signed_by`` the principals whose signature over it holds.
    """

    evidence: Evidence
    sha256: Sha256
    faults: tuple[Text, ...] = ()
    signed_by: tuple[Text, ...] = ()

    @property
    def name(self) -> str:
        """``probe/claim``."""
        return f"{self.evidence.probe}/{self.evidence.claim}"


class Unreadable(Model):
    """A place in the store where evidence should be and cannot be relied on: damaged, missing, or under a false name.

    ``build_id``, ``probe`` and ``claim`` are those of the place it lies in; what the document says is not known.
    """

    build_id: Text
    probe: Text
    claim: Text
    file: Text
    why: Text

    @property
    def name(self) -> str:
        """``probe/claim``."""
        return f"{self.probe}/{self.claim}"

"""The one base of every model: frozen, closed, strict; and the canonical form digests are taken of."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A frozen value whose unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True, ser_json_inf_nan="null")

    def document(self) -> dict[str, Any]:
        """Return the JSON-ready form, with the names used on the wire."""
        return self.model_dump(mode="json", by_alias=True)


def canonical_json(value: Any) -> bytes:  # noqa: ANN401
    """Serialise JSON-ready data in one way only: sorted keys, no spaces, UTF-8, no NaN.

    Raises:
        ValueError: a NaN or infinity is in the value.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(value: Any) -> str:  # noqa: ANN401
    """Return the SHA-256, in hex, of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()

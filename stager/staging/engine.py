"""The engine a playbook means: one of the catalog, by name."""

from __future__ import annotations

from stager.engines.base import Engine
from stager.engines.catalog import engine_named
from stager.errors import InvalidFile
from stager.models.candidate import DescribedEngine


def engine_of(written: str | DescribedEngine) -> Engine:
    """Return the adapter for ``candidate/engine``.

    Raises:
        InvalidFile: there is no engine of that name.
    """
    try:
        return engine_named(written if isinstance(written, str) else written.kind)
    except KeyError as error:
        raise InvalidFile(f"candidate/engine: {error.args[0]}.") from None

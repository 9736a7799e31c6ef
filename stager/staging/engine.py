"""The engine a playbook means, or a complaint about how it names one."""

from __future__ import annotations

from stager.engines import catalog
from stager.engines.base import Engine
from stager.errors import InvalidFile
from stager.models.candidate import DescribedEngine


def engine_of(written: str | DescribedEngine) -> Engine:
    """Return the adapter for ``candidate/engine``.

    Raises:
        InvalidFile: there is no engine of that name, or its description names a place that is none.
    """
    value = written if isinstance(written, str) else written.model_dump(exclude_none=True)
    try:
        return catalog.engine_of(value)
    except (KeyError, ValueError) as error:
        raise InvalidFile(f"candidate/engine: {error.args[0]}.") from None

"""A host named on the command line: an address, or a playbook whose host is meant."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from stager.errors import UsageError
from stager.loading import load_playbook
from stager.models.playbook import HostSpec


def host_spec(text: str) -> HostSpec:
    """Return how a host is reached.

    Raises:
        InvalidFile: the playbook is wrong.
        UsageError: it is neither a playbook's path nor an address.
    """
    if text.endswith((".yaml", ".yml")) or Path(text).is_file():
        return load_playbook(text, check_files=False).playbook.host
    user, at, address = text.rpartition("@")
    try:
        return HostSpec(address=address, user=user if at else None)
    except ValidationError:
        raise UsageError(f"{text!r} is neither a playbook nor a host's address.") from None

"""The values of a playbook's secrets: taken from this process's environment, written down nowhere."""

from __future__ import annotations

import os

from stager.errors import InvalidFile
from stager.models.playbook import Playbook


def secrets_of(playbook: Playbook) -> dict[str, str]:
    """The values of the playbook's secrets, from this process's environment.

    Raises:
        InvalidFile: one is not set here.
    """
    missing = [name for name in playbook.candidate.secrets if name not in os.environ]
    if missing:
        raise InvalidFile(
            f"candidate/secrets: {', '.join(missing)} not set in this environment; "
            "their values are taken from it and written nowhere."
        )
    return {name: os.environ[name] for name in playbook.candidate.secrets}

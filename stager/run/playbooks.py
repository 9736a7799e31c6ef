"""Reading a playbook that is going to be carried out: also what probes and engines it names must mean something."""

from __future__ import annotations

from pathlib import Path

from stager.loading import LoadedPlaybook, load_playbook
from stager.staging.engine import engine_of

#: The sections whose keys are probes' names, each with the probe's own parameters.
SECTIONS = (("probes",), ("promotion", "probes"))


def load_runnable(path: str | Path, *, check_files: bool = True) -> LoadedPlaybook:
    """Read and check a playbook, down to the probes' parameters: nothing is taken down for a mistake in the last line.

    Raises:
        InvalidFile: with every complaint about it.
    """
    loaded = load_playbook(path, check_files=check_files)
    engine_of(loaded.playbook.candidate.engine)
    for section in SECTIONS:
        if loaded.source.at(section):
            from stager.probes.catalog import PROBES  # all probes and the load client: only where one is named

            parameters = {name: probe.parameters for name, probe in PROBES.items()}
            loaded.source.named_parts(parameters, section)
    return loaded

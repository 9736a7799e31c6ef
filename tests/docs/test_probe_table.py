"""The README's table of probes says what there is."""

from __future__ import annotations

import re
from pathlib import Path

from stager.probes.catalog import PROBES

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_every_probe_is_there_with_its_claims() -> None:
    """The table names each probe once, in any grouping, with exactly the claims it answers."""
    table = README.partition("| probe | claims | what it does |\n")[2].partition("\n\n")[0]
    named: list[str] = []
    for line in table.splitlines()[1:]:
        names, claims = (re.findall(r"`([a-z-]+)`", cell) for cell in line.strip("|").split("|")[:2])
        named += names
        assert claims == [claim for name in names for claim in PROBES[name].claims]
    assert sorted(named) == sorted(PROBES)

"""Small written sources, audited: the fixture takes file names with their text and returns what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from stager.audit.findings import Audit
from stager.audit.run import audit
from stager.audit.sources import LocalSources

Audited = Callable[..., Audit]


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    """Write files, audit their folder, return the findings."""

    def run(files: Mapping[str, str], configs: Mapping[str, str] | None = None) -> Audit:
        for name, text in files.items():
            path = tmp_path / "source" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        given = [(name, dedent(text).encode()) for name, text in (configs or {}).items()]
        return audit([LocalSources(tmp_path / "source")], given)

    return run

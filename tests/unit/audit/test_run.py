"""A whole audit: nothing is executed, broken files are named, and the summary says what was not read."""

from __future__ import annotations

import sys
from pathlib import Path

from stager.audit.run import audit
from stager.audit.sources import LocalSources


def test_nothing_is_executed(audited, tmp_path):
    """A source that would leave a trace if imported, compiled with its hooks, or configured leaves none."""
    trace = tmp_path / "trace"
    source = f"""
        # -*- coding: utf-8 -*-
        from pathlib import Path
        Path({str(trace)!r}).write_text("ran")
        raise SystemExit("ran")
        """
    before = set(sys.modules)
    files = {"engine/__init__.py": source, "conftest.py": source, "sitecustomize.py": source, "setup.py": source}
    result = audited(files, {"a.yaml": f"!!python/object/apply:pathlib.Path.touch [{trace}]: 1\n"})
    assert result.summary.python_files == 3
    assert not trace.exists()
    assert not {name for name in set(sys.modules) - before if name.startswith(("engine", "sitecustomize"))}
    assert not list((tmp_path / "source").rglob("*.pyc"))


def test_broken_files_are_named_and_not_fatal(audited, tmp_path):
    """Files that do not parse, are not text, or nest too deeply are named; the others are read."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "null.py").write_bytes(b"x = '\x00'")
    (tmp_path / "source" / "latin.py").write_bytes(b"x = '\xff'")
    files = {
        "broken.py": "def f(:\n",
        "deep.py": "x = " + "(" * 500 + ")" * 500 + "\n",
        "deeper.py": "x = " + "-" * 100_000 + "1\n",
        "tabs.py": "if x:\n\ty\n        z\n",
        "good.py": '@app.get("/health")\ndef health():\n    return {"ok": True}\n',
    }
    result = audited(files)
    named = {item.path for item in result.summary.unread if "parse" in item.why}
    assert named == {"null.py", "latin.py", "broken.py", "deep.py", "deeper.py", "tabs.py"}
    assert [field.name for field in result.fields] == ["ok"]


def test_what_was_not_read_is_said(audited, tmp_path):
    """Tests, foreign folders, links, huge and unknown files are not read, and each is named with why."""
    source = tmp_path / "source"
    files = {"tests/test_a.py": "x = 1\n", ".venv/lib/b.py": "x = 1\n", "weights.bin": "x", "a.py": "x = 1\n"}
    source.mkdir()
    (source / "link.py").symlink_to("/etc/hostname")
    (source / "huge.py").write_bytes(b"# \n" * 2_000_000)
    summary = audited(files).summary
    whys = {item.path: item.why for item in summary.unread if item.path != "."}
    assert whys == {
        ".venv/": "not the engine's own source",
        "link.py": "symbolic link, not followed",
        "huge.py": "larger than 4 MiB",
    }
    said = " ".join(item.why for item in summary.unread if item.path == ".")
    assert "1 files of tests" in said
    assert "1 .bin" in said
    assert summary.python_files == 1


def test_several_places_are_one_source(tmp_path: Path):
    """Names resolve across all places, and each finding says which place it is in."""
    (tmp_path / "runtime").mkdir()
    (tmp_path / "server").mkdir()
    (tmp_path / "runtime" / "state.py").write_text("import asyncio\ngen_lock = asyncio.Lock()\n")
    (tmp_path / "server" / "serve.py").write_text(
        "from state import gen_lock\nasync def chat(engine):\n"
        "    async with gen_lock:\n        return await engine.generate('x')\n"
    )
    places = [LocalSources(tmp_path / name) for name in ("runtime", "server")]
    assert [item.where for item in audit(places).serialisers] == [f"{tmp_path}/runtime/state.py:2"]


def test_a_single_file(tmp_path: Path):
    """A path to one file reads that file."""
    path = tmp_path / "serve.py"
    path.write_text('@app.get("/health")\ndef health():\n    return {"ok": True}\n')
    assert [item.where for item in audit([LocalSources(path)]).fields] == ["serve.py:3"]


def test_a_file_that_goes_away_is_named(tmp_path: Path):
    """A file that cannot be read any more is named and not fatal."""

    class Vanishing(LocalSources):
        def read_many(self, paths):
            for path in paths:
                yield path, FileNotFoundError(2, "No such file or directory")

    (tmp_path / "a.py").write_text("x = 1\n")
    unread = audit([Vanishing(tmp_path)]).summary.unread
    assert [(item.path, item.why) for item in unread] == [("a.py", "No such file or directory")]


def test_names_that_are_no_text(tmp_path: Path):
    """A file whose name is not UTF-8 is read and shown with its odd bytes escaped."""
    (tmp_path / "odd-\udcff.py").write_text('@app.get("/health")\ndef health():\n    return {"ok": True}\n')
    (tmp_path / "broken-\udcff.py").write_text("def f(:\n")
    found = audit([LocalSources(tmp_path)])
    assert [field.file for field in found.fields] == ["odd-\\xff.py"]
    assert [item.path for item in found.summary.unread] == ["broken-\\xff.py"]

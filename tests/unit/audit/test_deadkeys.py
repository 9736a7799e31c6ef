"""Configuration keys no source reads, their near misses, and the keys that are read."""

from __future__ import annotations

import pytest

from stager.audit.configfiles import read_keys
from stager.errors import InvalidFile

READER = """
    DEFAULTS = {"single_session_lock": False}
    class Settings(BaseModel):
        declared_only: bool = False
        read_field: int = 1
    def load(config):
        # single_session_lock is honoured here, says this comment
        print(config["engine"]["max_batch"], config.get("max_tokens"), config.read_field)
        return "cache_size" in config
    """

YAML = """
    engine:
      max_batch: 4
      single_session_lock: true
    server:
      max_batch: 4
    declared_only: true
    read_field: 2
    max_tokns: 10
    cache_size: 1
    """


def test_a_key_nothing_reads(audited):
    """A comment, a default and a declared field read nothing; asking for the name does."""
    found = {item.key: item for item in audited({"app.py": READER}, {"app.yaml": YAML}).dead_keys}
    assert set(found) == {"engine.single_session_lock", "server", "server.max_batch", "declared_only", "max_tokns"}
    assert found["engine.single_session_lock"].where == "app.yaml:4"
    assert "app.py:4" in found["declared_only"].why


def test_a_near_miss_in_spelling(audited):
    """A key spelled almost like one that is read names that one and where."""
    found = {item.key: item for item in audited({"app.py": READER}, {"app.yaml": YAML}).dead_keys}
    assert [(place.name, place.line) for place in found["max_tokns"].near] == [("max_tokens", 8)]


def test_the_same_key_in_another_section(audited):
    """A key that is read in another section only says where it is read."""
    found = {item.key: item for item in audited({"app.py": READER}, {"app.yaml": YAML}).dead_keys}
    assert [place.name for place in found["server.max_batch"].near] == ["engine.max_batch"]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.yaml", "engine:\n  alive: 1\n  dead_key: 2\n", 3),
        ("a.json", '{"engine": {\n "alive": 1,\n "dead_key": 2}}', 3),
        ("a.toml", "[engine]\nalive = 1\ndead_key = 2\n", 3),
        ("a.ini", "[engine]\nalive = 1\ndead_key = 2\n", 3),
    ],
)
def test_every_file_format(audited, name, text, line):
    """YAML, JSON, TOML and INI files give the same keys, each with its line."""
    found = audited({"app.py": 'x = config["engine"]["alive"]\n'}, {name: text}).dead_keys
    assert [(item.key, item.file, item.line) for item in found] == [("engine.dead_key", name, line)]


def test_environment_files(audited):
    """A variable is read by os.environ or by a settings field's alias, and not by standing in a table."""
    source = 'import os\nlimit = os.environ["NUM_PARALLEL"]\nother = os.getenv("MAX_QUEUE")\n'
    found = audited({"app.py": source}, {".env": "export NUM_PARALLEL=4\n# no key\nMAX_QUEUE=1\nNOBODY=1\n"}).dead_keys
    assert [(item.key, item.line) for item in found] == [("NOBODY", 4)]


def test_dashes_and_underscores_are_one(audited):
    """A key with dashes is read by an attribute with underscores."""
    assert audited({"app.py": "print(args.max_batch)\n"}, {"a.toml": "max-batch = 4\n"}).dead_keys == ()


def test_other_languages_read_by_text(audited):
    """A word in another language's source counts as read, unless it stands in a comment."""
    files = {"main.go": "// dead_key is documented\nlimit := cfg.ConcurrencyLimit\n"}
    found = audited(files, {"a.yaml": "concurrencyLimit: 4\ndead_key: 1\n"}).dead_keys
    assert [item.key for item in found] == ["dead_key"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.yaml", "a: [1"), ("a.json", "{,}"), ("a.toml", "= 1"), ("a.ini", "no section"), ("a.bin", "\x00")],
)
def test_a_broken_file_is_named(name, text):
    """A configuration file that does not parse is an invalid file, by name."""
    with pytest.raises(InvalidFile, match=name):
        read_keys(name, text.encode())

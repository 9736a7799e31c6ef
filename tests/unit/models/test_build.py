"""Build identity: what names a build, and what does not."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stager.models.build import BuildIdentity, Distribution, ModelFile, TreeEntry, identify
from stager.models.candidate import Candidate

digests = st.binary(min_size=1, max_size=4).map(lambda raw: (raw.hex() * 64)[:64])
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
entries = st.builds(TreeEntry, path=words, mode=st.sampled_from(["0644", "0755"]), sha256=digests)
files = st.builds(ModelFile, path=words, sha256=digests)
installed = st.builds(Distribution, name=words, version=words, record_sha256=digests)


def by_path(values: Any) -> Any:
    """Return a strategy of tuples in which each path occurs once."""
    return st.lists(values, max_size=4, unique_by=lambda value: value.path).map(tuple)


builds = st.builds(
    BuildIdentity,
    tree=by_path(entries),
    launch=st.lists(words, max_size=4).map(tuple),
    env=st.dictionaries(words, words, max_size=3),
    secrets=st.lists(words, max_size=3).map(tuple),
    models=by_path(files),
    prepared=st.lists(installed, max_size=3, unique_by=lambda value: value.name).map(tuple),
    engine=words,
)


@given(builds, st.randoms())
def test_order_does_not_matter(build: BuildIdentity, random: Any) -> None:
    """The same files, models, installations and secret names in any order are the same build."""

    def shuffled(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(random.sample(values, len(values)))

    groups = ("tree", "secrets", "models", "prepared")
    other = build.model_copy(
        update={group: shuffled(getattr(build, group)) for group in groups}
        | {"env": dict(reversed(list(build.env.items())))}
    )
    assert other.build_id == build.build_id


@given(builds, builds)
def test_builds_have_the_same_name_only_if_they_are_the_same(one: BuildIdentity, other: BuildIdentity) -> None:
    """Any difference in any part is another name."""

    def parts(build: BuildIdentity) -> tuple[Any, ...]:
        unordered = [frozenset(map(repr, group)) for group in (build.tree, build.models, build.prepared)]
        return (*unordered, frozenset(build.secrets), build.launch, build.env, build.engine)

    assert (one.build_id == other.build_id) == (parts(one) == parts(other))


@given(builds, st.data())
def test_one_change_is_another_build(build: BuildIdentity, data: Any) -> None:
    """A word more, a mode, a digest, a variable: each alone changes the name."""
    changes: list[dict[str, Any]] = [
        {"launch": (*build.launch, "x")},
        {"env": build.env | {"stager-test-name": "1"}},
        {"secrets": (*build.secrets, "stager-test-name")},
        {"tree": (*build.tree, TreeEntry(path="stager-test-name", mode="0644", sha256="0" * 64))},
        {"models": (*build.models, ModelFile(path="stager-test-name", sha256="0" * 64))},
        {"prepared": (*build.prepared, Distribution(name="stager-test-name", version="1", record_sha256="0" * 64))},
        {"engine": {"kind": "openai"}},
    ]
    if build.tree:
        first, *rest = build.tree
        other_mode = "0755" if first.mode == "0644" else "0644"
        changes.append({"tree": (first.model_copy(update={"mode": other_mode}), *rest)})
    change = data.draw(st.sampled_from(changes))
    assert build.model_copy(update=change).build_id != build.build_id


def test_two_models_that_change_places_are_another_build() -> None:
    """A draft model is not its target."""
    here = [ModelFile(path="/a", sha256="1" * 64), ModelFile(path="/b", sha256="2" * 64)]
    there = [ModelFile(path="/a", sha256="2" * 64), ModelFile(path="/b", sha256="1" * 64)]
    candidate = Candidate(launch=("/x", "{port}"))
    assert identify(candidate, models=here).build_id != identify(candidate, models=there).build_id


def test_port_bind_and_limits_are_not_part_of_it() -> None:
    """The same build on another port, address, budget, user or time limit keeps its name."""
    text = '{"launch": ["/x", "--port", "{port}"], "engine": "llama.cpp"%s}'
    plain = Candidate.model_validate_json(text % "")
    for extra in (
        ', "port": 18080',
        ', "bind": "0.0.0.0"',
        ', "limits": {"memory": "1GiB", "runtime": "1h"}',
        ', "user": "engine"',
        ', "ready": {"timeout": "1m"}, "stop": {"grace": "1s"}',
        ', "claims": {"slots": 4}',
    ):
        assert identify(Candidate.model_validate_json(text % extra)).build_id == identify(plain).build_id
    other = Candidate.model_validate_json(text % ', "env": {"A": "1"}')
    assert identify(other).build_id != identify(plain).build_id


def test_a_path_occurs_once() -> None:
    """A manifest with two entries for one path is refused, as no tree has them."""
    entry = TreeEntry(path="a", mode="0644", sha256="0" * 64)
    with pytest.raises(ValidationError, match="a second time"):
        BuildIdentity(tree=(entry, entry), launch=(), env={}, secrets=(), models=(), prepared=(), engine="openai")


def test_the_name_is_stable() -> None:
    """The digest's rules are pinned: evidence of yesterday stays with its build."""
    build = identify(Candidate(launch=("/x", "{port}")), tree=[TreeEntry(path="a", mode="0644", sha256="0" * 64)])
    written = (
        '{"engine":"openai","env":{},"format":"stager.build/1","launch":["/x","{port}"],"models":[],"prepared":[],'
        '"secrets":[],"tree":[{"mode":"0644","path":"a","sha256":"' + "0" * 64 + '"}]}'
    )
    assert build.build_id == hashlib.sha256(written.encode()).hexdigest()

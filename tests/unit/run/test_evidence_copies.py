"""Evidence travels to the host it came from, and from there to another controller, through the host's own program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stager.evidence.pull import pull
from stager.evidence.store import Store
from stager.models.playbook import HostSpec
from stager.onhost import keeping
from stager.onhost.faults import Fault
from stager.onhost.journal import Journal
from stager.onhost.state import Run
from stager.run.evidence_copies import fetch_copies, send_copies
from stager.staging.session import Session, open_session
from tests.unit.evidence.test_store import PROVENANCE, finding


class Channel:
    """What the verbs need of a channel: where the host's state is."""

    def __init__(self, state: Path) -> None:
        self.state = str(state)
        self.program = ""


class OnThisHost:
    """Asks the host's verbs directly, as a run that holds its fence would."""

    def __init__(self, state: Path) -> None:
        self.channel = Channel(state)

    def call(self, verb: str, step: str, **args: Any) -> Any:
        run = Run(self.channel.state, args["run_id"])
        return keeping.keep(self.channel, run, 1, args) if verb == "keep" else keeping.kept(self.channel, args)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A host's state folder with one run in it."""
    run = Run(str(tmp_path / "state"), "run-a")
    run.make()
    Journal.create(run.journal_path, spec={"name": "x"}, owner={})
    return tmp_path / "state"


def kept_here(home: Path) -> Store:
    """A controller with two attempts of one run."""
    store = Store(home)
    store.add(finding(), b"1", PROVENANCE)
    store.add(finding(), b"2", PROVENANCE)
    return store


def host(state: Path) -> Session:
    """The host's verbs, as a session."""
    return OnThisHost(state)  # type: ignore[return-value]


def test_copies_come_back_through_a_real_channel(tmp_path: Path, state: Path) -> None:
    """What one controller sent, another fetches with its digests right, of one run or of all."""
    there, here = kept_here(tmp_path / "there"), Store(tmp_path / "here")
    assert send_copies(host(state), there, "run-a") == ""

    with open_session(HostSpec(address="local", state=str(state))) as session:
        first = pull(here, fetch_copies(session, "run-a"))
        again = pull(here, fetch_copies(session))

    assert (len(first.taken), first.refused) == (2, ())
    assert (len(again.known), again.taken, again.refused) == (2, (), ())
    assert here.search() == there.search()


def test_sending_again_adds_what_is_new_and_changes_nothing(tmp_path: Path, state: Path) -> None:
    """A later attempt joins the copies; those that are there keep their bytes and times."""
    store = kept_here(tmp_path / "home")
    send_copies(host(state), store, "run-a")
    folder = state / "runs" / "run-a" / "evidence"
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    store.add(finding(), b"3", PROVENANCE)

    send_copies(host(state), store, "run-a")

    after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 2


def test_a_changed_copy_is_refused_with_words(tmp_path: Path, state: Path) -> None:
    """A byte changed on the host does not come into the store."""
    send_copies(host(state), kept_here(tmp_path / "there"), "run-a")
    for path in (state / "runs" / "run-a" / "evidence").glob("0001-*.json"):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes().replace(b'"sample_count":31', b'"sample_count":91'))

    pulled = pull(Store(tmp_path / "here"), fetch_copies(host(state), "run-a"))

    assert len(pulled.taken) == 1
    assert [why for _, why in pulled.refused] == [
        "The document's bytes are not those its name promises (another digest)."
    ]


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "", "x\n"])
def test_names_never_leave_the_folder(state: Path, name: str) -> None:
    """A copy whose name is a path is refused on the host."""
    args = {"files": {name: {"data": "", "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}}

    with pytest.raises(Fault):
        keeping.keep(Channel(state), Run(str(state), "run-a"), 1, args)


def test_a_host_that_cannot_keep_copies_says_why(tmp_path: Path, state: Path) -> None:
    """A folder that cannot be made costs the copy, not the run."""
    (state / "runs" / "run-a" / "evidence").write_text("in the way")

    assert "evidence" in send_copies(host(state), kept_here(tmp_path / "home"), "run-a")

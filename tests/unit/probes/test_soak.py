"""Mixed load: no errors, no slowing down, idle at the end."""

from stager.lab.knobs import Knobs
from stager.models.evidence import Verdict
from tests.unit.probes.bench import finding


def test_the_honest_engine_stays_steady() -> None:
    """The last quarter is as fast as the first, nothing broke, and nothing runs at the end."""
    found = finding("soak", seconds=2.0)
    assert found.verdict is not Verdict.FAILED, found.reasons
    assert found.measurements["idle_at_the_end"].value is True
    assert found.sample_count > 10


def test_an_engine_that_tires_is_found() -> None:
    """An engine that takes longer with every request fails by its drift."""
    found = finding("soak", Knobs(slows_down=True), seconds=2.0)
    assert found.verdict is Verdict.FAILED
    assert "times as long" in found.reasons[0]


def test_an_engine_that_dies_is_found() -> None:
    """A request that breaks after others went well refutes, and the soak ends."""
    found = finding("soak", Knobs(dies_after=12), timeout=0.5)
    assert found.verdict is Verdict.FAILED
    assert found.termination.reason == "a request broke"


def test_a_soak_that_never_began_is_an_error() -> None:
    """Without a server nothing was shown to be steady or not."""
    assert finding("soak", target={"base_url": "http://127.0.0.1:9"}, seconds=0.3).verdict is Verdict.ERROR

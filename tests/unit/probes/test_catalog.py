import pytest

from stager.probes import catalog
from stager.probes.catalog import PROBES, suite_digest
from stager.probes.overlap import OverlapProbe

EVERY = pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)


@EVERY
def test_a_probe_is_complete(probe) -> None:
    """Name, version, at least one claim, thresholds, closed parameters with defaults, a finite time limit."""
    parameters = probe.parameters()
    assert PROBES[probe.name] is probe
    assert probe.version >= 1
    assert probe.claims
    assert probe.thresholds
    assert 0 < probe.time_limit(parameters) < 24 * 3600
    with pytest.raises(ValueError, match="nonsense"):
        probe.parameters.model_validate({"nonsense": 1})


def test_the_suite_digest_follows_versions_and_thresholds(monkeypatch) -> None:
    """A changed version or threshold makes another suite; the same suite has the same digest."""
    digests = [suite_digest()]
    for changes in ({"version": 99}, {"thresholds": {"least_tokens": 1}}, {"claims": ("other",)}):
        changed = type("Changed", (OverlapProbe,), changes)()
        monkeypatch.setattr(catalog, "PROBES", {**PROBES, "overlap": changed})
        suite_digest.cache_clear()
        digests.append(suite_digest())
    monkeypatch.undo()
    suite_digest.cache_clear()
    assert len(set(digests)) == 4
    assert suite_digest() == digests[0]

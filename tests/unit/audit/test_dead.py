"""Metrics nobody sets, settings without effect, options nobody uses; and the live ones beside them."""

from __future__ import annotations

from importlib.resources import files

import pytest

METRICS = """
    from prometheus_client import Gauge
    class Collector:
        def __init__(self):
            self.running = Gauge("engine:running", "Running requests.")
            self.limit = Gauge(name="engine:limit", documentation="Limit.", labelnames=["model"])
            self.under_slo = Gauge(name="engine:under_slo", documentation="Under SLO.")
            self.waiting = Gauge("engine:waiting", "Waiting requests.")
        def _log(self, gauge, value):
            gauge.labels(model="m").set(value)
        def emit(self, limit, under_slo):
            self._log(self.limit, limit)
            if under_slo is not None:
                self._log(self.under_slo, under_slo)
        def step(self, n):
            self.running.set(n)
    """


def test_a_metric_nobody_sets(audited):
    """A gauge that is made and never touched again is found; one that is set is not."""
    use = "collector.emit(limit=4, under_slo=measure())\n"
    found = audited({"metrics.py": METRICS, "use.py": use}).dead_metrics
    assert [(item.name, item.where) for item in found] == [("engine:waiting", "metrics.py:8")]


def test_a_metric_that_is_only_fed_nothing(audited):
    """A gauge set through an argument that every call passes as None is as dead as one without a setter."""
    use = "collector.emit(limit=4, under_slo=None)\n"
    found = {item.name: item for item in audited({"metrics.py": METRICS, "use.py": use}).dead_metrics}
    assert set(found) == {"engine:waiting", "engine:under_slo"}
    assert "use.py:1" in found["engine:under_slo"].why


@pytest.mark.parametrize(
    "use",
    [
        "running.inc()",
        "running.labels(model='m').set(1)",
        "child = running.labels(model='m')",
        "every = [running]",
        "running.set_function(count)",
    ],
)
def test_every_way_to_set_a_metric(audited, use):
    """Each way to give a metric a value, or to hand it to somebody who may, keeps it alive."""
    source = f'from prometheus_client import Gauge\nrunning = Gauge("engine:running", "Running.")\n{use}\n'
    assert audited({"metrics.py": source}).dead_metrics == ()


def test_counters_that_are_no_metrics(audited):
    """A collections.Counter and an enum are not taken for metrics."""
    source = """
        from collections import Counter
        from enum import Enum
        words = Counter("word", "other")
        Colour = Enum("Colour", "RED GREEN")
        """
    assert audited({"a.py": source}).dead_metrics == ()


def test_a_setting_that_is_written_and_never_read(audited):
    """A capacity attribute nobody reads has no effect; one that is read has."""
    source = """
        class Engine:
            def configure(self, args):
                self.max_num_seqs = 4
                self.max_batch_size = 8
            def run(self):
                return self.max_batch_size
        """
    found = audited({"engine.py": source}).dead_write_backs
    assert [(item.name, item.line) for item in found] == [("self.max_num_seqs", 4)]


HANDED_OVER = """
    from engine_library import Params, Server
    class Own:
        pass
    def main(options):
        params = {made}
        params.n_parallel = options.slots
        {used}
    """


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("Params()", "Server(params)"),
        ("Params()", "pass"),
        ("Own()", "Server(params)"),
        ("Own()", "Server([1, params])"),
        ("Own()", "Server(settings=params)"),
    ],
)
def test_a_setting_of_an_object_that_a_library_has(audited, made, used):
    """An attribute of a library's object, or of one handed to a library, may be read there and is not called dead."""
    assert audited({"serve.py": HANDED_OVER.format(made=made, used=used)}).dead_write_backs == ()


@pytest.mark.parametrize("used", ["pass", "print(params)", "Server(params.port)"])
def test_a_setting_of_an_object_that_stays(audited, used):
    """An attribute of an own object that no library is given is dead if nothing reads it."""
    found = audited({"serve.py": HANDED_OVER.format(made="Own()", used=used)}).dead_write_backs
    assert [item.name for item in found] == ["params.n_parallel"]


def test_the_demos_own_engine_sets_nothing_in_vain(audited):
    """What the demo's engine sets on the parameters of its library is not called dead."""
    source = files("stager.demo").joinpath("release/serve.py").read_text(encoding="utf-8")
    assert audited({"serve.py": source}).dead_write_backs == ()


WRITE_BACK = """
    class Container:
        max_batch_size: int = None
        def prepare(self, kwargs):
            self.max_batch_size = {first}
        def load(self):
            if self.max_batch_size is None:
                self.max_batch_size = self.generator.real_limit
            return self.max_batch_size
    """


def test_a_write_back_that_never_happens(audited):
    """The real value written back only where the field is None never arrives once a default has filled it."""
    found = audited({"container.py": WRITE_BACK.format(first="kwargs.get('max_batch_size', 128)")}).dead_write_backs
    assert [(item.name, item.line) for item in found] == [("self.max_batch_size", 8)]
    assert "container.py:5" in found[0].why


def test_a_write_back_that_can_happen(audited):
    """Where the first value may be None, the write-back is alive."""
    found = audited({"container.py": WRITE_BACK.format(first="kwargs.get('max_batch_size')")}).dead_write_backs
    assert found == ()


def test_a_reading_that_always_gets_its_default(audited):
    """getattr with a default, of a name nothing ever sets, always gives the default."""
    source = "def load(engine):\n    return getattr(engine, 'max_running_requests', None)\n"
    assert [item.name for item in audited({"a.py": source}).dead_write_backs] == ["max_running_requests"]
    setter = source + "def start(engine):\n    engine.max_running_requests = 4\n"
    assert audited({"a.py": setter}).dead_write_backs == ()


FLAGS = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--used", type=int)
    parser.add_argument("--never-used", type=int)
    parser.add_argument("--other", dest="renamed")
    args = parser.parse_args()
    print(args.used, args.renamed)
    """


def test_an_option_nobody_uses(audited):
    """An option that is parsed and never read is found; reading it by its dest counts."""
    assert [(item.name, item.line) for item in audited({"a.py": FLAGS}).unused_flags] == [("--never-used", 5)]


def test_options_handed_over_together_are_not_judged(audited):
    """Where all options are passed on as a whole, names alone tell nothing, so none is accused."""
    assert audited({"a.py": FLAGS + "    run(**vars(args))\n"}).unused_flags == ()


def test_a_click_option_nobody_uses(audited):
    """A click option arrives as an argument; one its function never reads is found."""
    source = """
        import click
        @click.command()
        @click.option("--used")
        @click.option("--never-used")
        def main(used, never_used):
            print(used)
        """
    assert [item.name for item in audited({"a.py": source}).unused_flags] == ["--never-used"]

"""Batch defaults in the order they apply, and which of them wins."""

from __future__ import annotations

GENERATOR = """
    from cache import Cache
    class Generator:
        def __init__(self, model, cache: Cache, max_batch_size: int = 256):
            self.max_batch_size = max_batch_size
            if cache.recurrent:
                self.max_batch_size = min(self.max_batch_size, cache.num_slots)
    """
CACHE = """
    class Cache:
        def __init__(self, model, max_batch_size: int = 16):
            self.num_slots = max_batch_size
    """
INIT = """
    from argparse import ArgumentParser
    from cache import Cache
    def add_args(parser, default_autosplit_max_batch_size: int = 1):
        parser.add_argument(
            "-ambs", "--autosplit_max_batch_size", type=int, default=default_autosplit_max_batch_size
        )
    def init(args, model):
        return Cache(model, max_batch_size=args.autosplit_max_batch_size)
    """


def test_default_clamp_and_flag_in_order(audited):
    """The argument's default, the clamp to slots, and the option behind the slots, which wins."""
    found = audited({"generator.py": GENERATOR, "cache.py": CACHE, "init.py": INIT}).batch_defaults
    chain = [item for item in found if item.limit == "Generator.max_batch_size"]
    assert [(item.how, item.file, item.value, item.wins) for item in chain] == [
        ("default", "generator.py", 256, False),
        ("clamp", "generator.py", None, False),
        ("default", "cache.py", 16, False),
        ("default", "init.py", 1, False),
        ("flag", "init.py", 1, True),
    ]
    assert [item.order for item in chain] == [1, 2, 3, 4, 5]
    assert [item.replaced for item in chain] == [False, False, True, False, False]


def test_the_flag_comes_next_after_the_lock(audited):
    """With a lock and a smaller limit behind it, the audit says that removing the lock alone changes nothing."""
    lock = """
        import asyncio
        gen_lock = asyncio.Lock()
        async def chat(engine):
            async with gen_lock:
                return await engine.generate("x")
        """
    steps = audited({"generator.py": GENERATOR, "cache.py": CACHE, "init.py": INIT, "serve.py": lock}).next_steps
    assert "gen_lock (serve.py:3)" in steps[0]
    assert "alone changes nothing" in steps[1]
    assert "autosplit_max_batch_size = 1 (init.py:5)" in steps[1]


def test_an_explicit_argument_replaces_the_default(audited):
    """A default that every caller replaces cannot win; one that some caller leaves can."""
    engine = "class Engine:\n    def __init__(self, max_num_seqs: int = 2):\n        self.max_num_seqs = max_num_seqs\n"
    use = "from engine import Engine\nfirst = Engine(max_num_seqs=8)\n"
    found = audited({"engine.py": engine, "use.py": use}).batch_defaults
    assert [(item.how, item.value, item.wins) for item in found] == [("default", 2, False), ("call", 8, True)]
    found = audited({"engine.py": engine, "use.py": use + "second = Engine()\n"}).batch_defaults
    assert [(item.how, item.value, item.wins) for item in found] == [("default", 2, True), ("call", 8, False)]


def test_every_kind_of_place(audited):
    """Options, config models, the environment, constants and semaphores are all named, each with its number."""
    source = """
        import argparse, asyncio, os
        parser = argparse.ArgumentParser()
        parser.add_argument("--max-running-requests", type=int, default=32)
        MAX_CONCURRENCY = 4
        num_parallel = int(os.environ.get("NUM_PARALLEL", "2"))
        class Settings(BaseModel):
            batch_limit: int = Field(default=3)
        limiter = asyncio.Semaphore(MAX_CONCURRENCY)
        """
    found = {item.name: (item.how, item.value) for item in audited({"serve.py": source}).batch_defaults}
    assert found == {
        "max_running_requests": ("flag", 32),
        "MAX_CONCURRENCY": ("constant", 4),
        "num_parallel": ("environment", 2),
        "batch_limit": ("config", 3),
        "limiter": ("semaphore", 4),
    }


def test_no_limit_never_wins(audited):
    """Zero and less mean no limit of its own, so they are named and never the smallest."""
    source = """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--max-concurrency", type=int, default=0)
        """
    found = audited({"serve.py": source}).batch_defaults
    assert [(item.value, item.wins) for item in found] == [(0, False)]


def test_what_is_no_limit(audited):
    """Prompt batches, training batches and unrelated sizes are not taken for limits."""
    source = """
        n_batch = 512
        class Loader:
            def __init__(self, batch_size: int = 32, chunk_size: int = 2048, n_threads: int = 8):
                self.batch_size = batch_size
        """
    assert audited({"serve.py": source}).batch_defaults == ()

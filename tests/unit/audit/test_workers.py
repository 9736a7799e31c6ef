"""Executors of one, queues with one consumer, calls that block the event loop; and their harmless likenesses."""

from __future__ import annotations

EXECUTOR = """
    import asyncio
    from concurrent.futures import ThreadPoolExecutor
    pool = ThreadPoolExecutor(max_workers={count})
    async def chat(engine, prompt):
        return await asyncio.get_running_loop().run_in_executor(pool, engine.generate, prompt)
    """

CONSUMER = """
    import asyncio
    class Server:
        def __init__(self, engine):
            self.jobs = asyncio.Queue()
            self.engine = engine
        def start(self):
            {start}
        async def work(self):
            while True:
                job = await self.jobs.get()
                {each}
    """

ENGINE = """
    class Generator:
        def iterate(self):
            return self.model.forward(self.batch)
    """

LOOP = """
    from engine import Generator
    class AsyncGenerator:
        def __init__(self):
            self.generator = Generator()
        async def run(self):
            while True:
                results = {call}
    """


def test_an_executor_of_one_that_generates(audited):
    """Work handed to a pool of one worker waits for the work before it."""
    found = audited({"serve.py": EXECUTOR.format(count=1)}).serialisers
    assert [(item.name, item.kind, item.line) for item in found] == [("pool", "executor", 4)]


def test_an_executor_of_four_is_none(audited):
    """A pool of several workers serialises nothing."""
    assert audited({"serve.py": EXECUTOR.format(count=4)}).serialisers == ()


def test_a_queue_with_one_consumer(audited):
    """One task that runs a whole generation for each item is a serialiser."""
    start = "self.task = asyncio.create_task(self.work())"
    source = CONSUMER.format(start=start, each="await self.engine.generate(job)")
    found = audited({"serve.py": source}).serialisers
    assert [(item.name, item.kind) for item in found] == [("jobs", "queue")]


def test_several_consumers_are_none(audited):
    """Consumers started in a loop share the queue."""
    start = "self.tasks = [asyncio.create_task(self.work()) for _ in range(4)]"
    source = CONSUMER.format(start=start, each="await self.engine.generate(job)")
    assert audited({"serve.py": source}).serialisers == ()


def test_a_consumer_that_starts_tasks_is_none(audited):
    """One that hands each item to a task of its own waits for none of them."""
    start = "self.task = asyncio.create_task(self.work())"
    source = CONSUMER.format(start=start, each="asyncio.create_task(self.engine.generate(job))")
    assert audited({"serve.py": source}).serialisers == ()


def test_a_step_on_the_event_loop(audited):
    """A plain function that works on the device, called without await in a coroutine, stops every answer."""
    found = audited({"engine.py": ENGINE, "serve.py": LOOP.format(call="self.generator.iterate()")}).serialisers
    assert [(item.kind, item.where) for item in found] == [("blocking-call", "serve.py:8")]
    assert "engine.py:3" in found[0].why


def test_a_step_on_a_thread_is_none(audited):
    """The same step handed to a thread leaves the loop free."""
    call = "await asyncio.to_thread(self.generator.iterate)"
    assert audited({"engine.py": ENGINE, "serve.py": LOOP.format(call=call)}).serialisers == ()


def test_a_coroutine_is_awaited_not_blocking(audited):
    """An async generation is no blocking call."""
    engine = ENGINE.replace("def iterate", "async def iterate")
    assert (
        audited({"engine.py": engine, "serve.py": LOOP.format(call="await self.generator.iterate()")}).serialisers == ()
    )


def test_sleeping_in_a_route(audited):
    """A blocking wait in a route stops the loop; the same in a plain function does not."""
    route = """
        import time
        @app.get("/health")
        async def health():
            time.sleep(1)
            return {"ok": True}
        """
    assert [item.name for item in audited({"serve.py": route}).serialisers] == ["time.sleep"]
    assert audited({"serve.py": route.replace("async def", "def")}).serialisers == ()

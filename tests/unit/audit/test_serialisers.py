"""Locks, semaphores and rules around a generation, and those that are none."""

from __future__ import annotations

import pytest

GENERATED_UNDER_LOCK = {
    "a lock made at module level": """
        import asyncio
        gen_lock = asyncio.Lock()
        async def chat(request, engine):
            async with gen_lock:
                return await engine.generate(request)
        """,
    "a thread lock of an object": """
        import threading
        class Server:
            def __init__(self, model):
                self.gen_lock = threading.Lock()
                self.model = model
            def chat(self, prompt):
                with self.gen_lock:
                    return self.model.generate(prompt)
        """,
    "acquire and release": """
        import threading
        gen_lock = threading.Lock()
        def chat(engine, prompt):
            gen_lock.acquire()
            try:
                return engine.generate(prompt)
            finally:
                gen_lock.release()
        """,
    "generation two calls away": """
        import asyncio
        gen_lock = asyncio.Lock()
        def answer(engine, prompt):
            return work(engine, prompt)
        def work(engine, prompt):
            return engine.generate(prompt)
        async def chat(engine, prompt):
            async with gen_lock:
                return await asyncio.to_thread(answer, engine, prompt)
        """,
    "a lock kept in the application": """
        import asyncio
        from aiohttp import web
        def make(app):
            app["gen_lock"] = asyncio.Lock()
        async def chat(request):
            async with request.app["gen_lock"]:
                return await request.app["engine"].generate("x")
        """,
    "a lock entered on an exit stack": """
        import asyncio, contextlib
        gen_lock = asyncio.Lock()
        async def chat(engine):
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(gen_lock)
                return await engine.generate("x")
        """,
    "a lock of a closure": """
        import asyncio
        def create_app(engine):
            gen_lock = asyncio.Lock()
            async def chat(request):
                async with gen_lock:
                    return await engine.generate(request)
            return chat
        """,
}

NO_SERIALISER = {
    "a lock around bookkeeping": """
        import asyncio
        stats_lock = asyncio.Lock()
        async def chat(request, engine):
            async with stats_lock:
                count(request)
            return await engine.generate(request)
        """,
    "a lock given back before": """
        import threading
        lock = threading.Lock()
        def chat(engine, prompt):
            lock.acquire()
            number = take()
            lock.release()
            return engine.generate(prompt)
        """,
    "a lock made anew for each call": """
        import asyncio
        async def chat(request, engine):
            lock = asyncio.Lock()
            async with lock:
                return await engine.generate(request)
        """,
    "an ordinary context": """
        async def chat(request, engine):
            async with tracing("chat"):
                return await engine.generate(request)
        """,
    "a semaphore of four": """
        import asyncio
        slots = asyncio.Semaphore(4)
        async def chat(request, engine):
            async with slots:
                return await engine.generate(request)
        """,
    "a name that only sounds like generation": """
        import threading
        lock = threading.Lock()
        def token():
            with lock:
                return generate_key(), generate_report()
        """,
    "an identifier that is generated": """
        import os, threading
        lock = threading.Lock()
        def number():
            with lock:
                return ULID.generate(), os.pipe()
        """,
}


@pytest.mark.parametrize("source", GENERATED_UNDER_LOCK.values(), ids=GENERATED_UNDER_LOCK)
def test_a_lock_around_generation_is_found(audited, source):
    """A lock held while something generates is named with the line that makes it and the call inside."""
    found = audited({"serve.py": source}).serialisers
    assert [(item.name, item.kind) for item in found] == [("gen_lock", "lock")]
    lines = source.splitlines()
    assert "Lock()" in lines[found[0].line - 1]
    assert found[0].around is not None
    assert found[0].around.line > found[0].line


@pytest.mark.parametrize("source", NO_SERIALISER.values(), ids=NO_SERIALISER)
def test_a_lock_around_something_else_is_not(audited, source):
    """What is not held around a generation, or lets several through, is no serialiser."""
    assert audited({"serve.py": source}).serialisers == ()


def test_the_lock_is_found_where_it_is_made(audited):
    """A lock imported from another file is reported at its own line there."""
    found = audited(
        {
            "pkg/__init__.py": "",
            "pkg/state.py": "import asyncio\n\n\ngen_lock = asyncio.Lock()\n",
            "pkg/serve.py": """
                from .state import gen_lock
                async def chat(engine):
                    async with gen_lock:
                        return await engine.generate("x")
                """,
        }
    ).serialisers
    assert [item.where for item in found] == ["pkg/state.py:4"]


def test_a_semaphore_of_one_is_a_lock(audited):
    """A semaphore that lets one through serialises like a lock; its count is what decides."""
    source = """
        import asyncio
        one = asyncio.Semaphore(1)
        async def chat(engine):
            async with one:
                return await engine.generate("x")
        """
    assert [item.kind for item in audited({"serve.py": source}).serialisers] == ["semaphore"]


TWO_LOCKS = """
    from anyio import Lock
    from settings import Settings
    outer_lock = Lock()
    inner_lock = Lock()
    async def get_engine():
        await outer_lock.acquire()
        try:
            await inner_lock.acquire()
            try:
                outer_lock.release()
                yield engine
            finally:
                inner_lock.release()
        finally:
            pass
    async def publish(request, settings):
        interrupt_requests = settings.interrupt_requests
        async with contextlib.asynccontextmanager(get_engine)() as engine:
            async for chunk in engine.generate(request):
                if interrupt_requests and outer_lock.locked():
                    raise Cancelled()
    """


def test_two_locks_and_the_interrupt_rule(audited):
    """A lock lent across a yield, the lock in front of it, and the rule that ends a stream for a waiting request."""
    settings = "class Settings(BaseModel):\n    interrupt_requests: bool = Field(default=True)\n"
    found = audited({"serve.py": TWO_LOCKS, "settings.py": settings}).serialisers
    assert {(item.name, item.kind) for item in found} == {
        ("inner_lock", "lock"),
        ("outer_lock", "lock"),
        ("interrupt on outer_lock", "interrupt-rule"),
    }
    rule = next(item for item in found if item.kind == "interrupt-rule")
    assert "True by default (settings.py:2)" in rule.why


def test_a_limit_in_a_middleware_is_named_for_what_it_gates(audited):
    """A semaphore around call_next gates every route and limits no stream, whatever its count."""
    source = """
        import asyncio
        class Limit(BaseHTTPMiddleware):
            def __init__(self, app, most):
                self.semaphore = asyncio.Semaphore(most)
            async def dispatch(self, request, call_next):
                async with self.semaphore:
                    return await call_next(request)
        """
    found = audited({"serve.py": source}).serialisers
    assert [(item.kind, "headers" in item.why) for item in found] == [("middleware", True)]


def test_a_gate_in_front_of_generation_is_told_apart(audited):
    """A lock that a route takes and gives back before it generates is a gate, not a serialiser of generations."""
    source = """
        import asyncio
        load_lock = asyncio.Lock()
        @router.post("/v1/completions")
        async def completions(request, engine):
            async with load_lock:
                await load_model(request)
            return await engine.generate(request)
        """
    assert [(item.name, item.kind) for item in audited({"serve.py": source}).serialisers] == [("load_lock", "gate")]

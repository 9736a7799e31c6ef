"""Lab engines in a process of their own, so that client and engine do not share an event loop.

The child reads one line of JSON for each engine wanted (``{"shape": {...}, "knobs": {...}}``), ends the
one before, and answers with the new one's address. It ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict

from stager.errors import StagerError
from stager.lab.knobs import Knobs, Shape
from stager.lab.server import serve

_START_SECONDS = 20.0


class LabProcess:
    """A child process that serves one lab engine at a time."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child

    async def start(self, shape: Shape | None = None, knobs: Knobs | None = None) -> str:
        """Serve an engine instead of the one before; returns its base URL.

        Raises:
            StagerError: the child did not answer within 20 s.
        """
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        wanted = {"shape": asdict(shape or Shape()), "knobs": asdict(knobs or Knobs())}
        self._child.stdin.write(json.dumps(wanted).encode() + b"\n")
        try:
            line = await asyncio.wait_for(self._child.stdout.readline(), _START_SECONDS)
            return str(json.loads(line)["url"])
        except (TimeoutError, ValueError, KeyError) as error:
            raise StagerError("The lab engine's process did not start an engine.") from error


@asynccontextmanager
async def lab_process() -> AsyncIterator[LabProcess]:
    """Start the child; it is ended, and waited for, when the context ends."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "stager.lab.process", stdin=pipe, stdout=pipe)
    try:
        yield LabProcess(child)
    finally:
        assert child.stdin is not None
        child.stdin.close()
        try:
            await asyncio.wait_for(child.wait(), 5.0)
        except TimeoutError:
            child.kill()
            await child.wait()


async def _serve_lines() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with AsyncExitStack() as stack:
        while line := await reader.readline():
            wanted = json.loads(line)
            await stack.aclose()
            url = await stack.enter_async_context(serve(Shape(**wanted["shape"]), Knobs(**wanted["knobs"])))
            sys.stdout.write(json.dumps({"url": url}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve_lines())

"""A longer path to a host: a TCP relay that holds every byte back, for half a round trip each way."""

from __future__ import annotations

import argparse
import asyncio
import contextlib


async def later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """Pass on what arrives, each piece so many seconds after it came."""
    loop = asyncio.get_running_loop()
    held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def send() -> None:
        while True:
            due, data = await held.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                break
            writer.write(data)
        with contextlib.suppress(OSError):
            writer.write_eof()

    sending = asyncio.ensure_future(send())
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            held.put_nowait((loop.time() + delay, data))
    held.put_nowait((loop.time() + delay, b""))
    with contextlib.suppress(ConnectionError):
        await sending


async def relay(address: str, port: int, listen: int, delay: float) -> None:
    """Relay a local port to a host's."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(address, port)
        await asyncio.gather(later(reader, far_writer, delay), later(far_reader, writer, delay))
        for end in (writer, far_writer):
            end.close()

    async with await asyncio.start_server(serve, "127.0.0.1", listen) as server:
        print("ready", flush=True)  # whoever started this waits for the line
        await server.serve_forever()


def main() -> None:
    """Run until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("listen", type=int)
    parser.add_argument("round_trip_ms", type=float)
    words = parser.parse_args()
    asyncio.run(relay(words.address, words.port, words.listen, words.round_trip_ms / 2000))


if __name__ == "__main__":
    main()

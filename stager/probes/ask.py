"""Questions every probe asks: gauges while it runs, capacity fields as claims."""

from __future__ import annotations

import aiohttp

from stager.client.connection import Connection, connect
from stager.client.limits import LimitExceeded
from stager.engines.base import Engine
from stager.engines.reading import Reading, Unreadable, read, read_number
from stager.models.evidence import ConfiguredField
from stager.probes.target import Target

#: What a failed question raises.
NO_ANSWER = (aiohttp.ClientError, TimeoutError, OSError, LimitExceeded, Unreadable)


async def ask(connection: Connection, reading: Reading, within: float = 5.0) -> float:
    """Return one gauge's value now.

    Raises:
        Unreadable: the endpoint answered without the value, or not with 2xx.
        aiohttp.ClientError, TimeoutError, OSError, LimitExceeded: it did not answer.
    """
    answer = await connection.get(reading.path, within=within)
    if not answer.ok:
        raise Unreadable(f"{reading.path} answered {answer.status}")
    return read_number(reading, answer.body)


async def first_that_answers(connection: Connection, readings: tuple[Reading, ...]) -> Reading | None:
    """Return the first gauge, in the engine's order of preference, that this server really shows."""
    for reading in readings:
        try:
            await ask(connection, reading)
        except NO_ANSWER:
            continue
        return reading
    return None


async def configured_fields(target: Target) -> tuple[ConfiguredField, ...]:
    """Fetch the capacity fields the engine shows, and the playbook's claims, as claims."""
    fields = [
        ConfiguredField(name=name, value=value, endpoint="playbook", source="candidate.claims")
        for name, value in (("slots", target.claims.slots), ("context", target.claims.context))
        if value is not None
    ]
    async with connect(target.base_url) as connection:
        for reading in target.engine.configured:
            try:
                value = await _shown(connection, reading)
            except TimeoutError:
                break  # a server this slow would hold up the verdict with every further field
            if value is not None:
                fields.append(
                    ConfiguredField(
                        name=reading.name,
                        value=value,
                        endpoint=reading.where,
                        source=f"{reading.kind.value}: {reading.source}",
                    )
                )
    return tuple(fields)


async def _shown(connection: Connection, reading: Reading) -> object:
    try:
        answer = await connection.get(reading.path, within=5.0)
        return read(reading, answer.body) if answer.ok else None
    except TimeoutError:
        raise
    except NO_ANSWER:
        return None


def gauge_words(engine: Engine, reading: Reading | None) -> str:
    """Say in words which gauge was sampled and what it counts."""
    if reading is None:
        return f"no gauge ({engine.name} shows none here)"
    return f"{reading.where} ({reading.kind.value}: {reading.source})"

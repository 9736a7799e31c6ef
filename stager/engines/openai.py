"""Any server that speaks the OpenAI routes and shows nothing else."""

from __future__ import annotations

from stager.engines.base import Engine

OPENAI = Engine(
    name="openai",
    read_in="the OpenAI API's public reference",
    health="/v1/models",
    quirks=("no gauge: what it does can only be seen from outside",),
)

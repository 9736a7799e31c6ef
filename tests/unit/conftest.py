"""Unit tests run beside other work on slow machines: a property is judged by its examples, not by a stopwatch."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("stager", deadline=None)
settings.load_profile("stager")

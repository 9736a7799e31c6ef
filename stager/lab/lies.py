"""Every lie the lab engine can tell, the probe that must catch it, and the public report it is modelled on."""

from __future__ import annotations

from stager.lab.lie import Lie
from stager.lab.lies_answers import ANSWERS
from stager.lab.lies_keeping import KEEPING
from stager.lab.lies_running import RUNNING

LIES: tuple[Lie, ...] = (*RUNNING, *ANSWERS, *KEEPING)

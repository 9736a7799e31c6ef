"""Any exception as an error of ours, said with what became of the host."""

from __future__ import annotations

import signal

from stager.errors import CandidateFailed, HostHeld, StagerError, Stopped, gravest
from stager.staging.cleanup import Ended
from stager.staging.stage import StageFailed


def as_ours(error: BaseException) -> StagerError:
    """Any exception as an error of ours; one that is nobody's is a fault, raised again where it can be written down."""
    if isinstance(error, StagerError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Stopped(signal.SIGINT)
    if not isinstance(error, Exception):
        raise error
    fault = StagerError(f"{type(error).__name__}: {error}")
    fault.__cause__ = error
    return fault


def what_it_came_to(failure: StageFailed, address: str) -> StagerError:
    """Return the error to raise for a staging that broke off: the restore's own where that is the graver one."""
    return graver(as_ours(failure.error), failure.ended, address)


def graver(error: StagerError, ended: Ended | None, address: str) -> StagerError:
    """An error, told with what became of the host; or the restore's own, where that is the graver one."""
    error = told_with_host(error, ended, address)
    ending = ended.error(address) if ended else None
    return ending if ending and gravest([ending.code, error.code]) == ending.code else error


def told_with_host(error: StagerError, ended: Ended | None, address: str) -> StagerError:
    """Say with an error of staging what became of the host since."""
    if ended is not None:
        down = ended.cleanup.downtime_seconds
        error.host_state = (
            f"{ended.words}; production {'as before' if ended.cleanup.production_as_before else 'is not as before'}"
            + (f", it was down for {down:.1f} s" if down else "")
        )
        if isinstance(error, CandidateFailed) and not error.next:
            error.next = f"stager show {ended.run_id}"
    if isinstance(error, HostHeld) and not error.next:
        error.next = f"stager status {address}"
    return error

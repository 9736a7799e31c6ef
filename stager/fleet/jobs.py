"""Jobs: made from a playbook when it is submitted, and turned back into exactly that playbook by a worker."""

from __future__ import annotations

import getpass
import hashlib
import json
import secrets
import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from stager.errors import InvalidFile
from stager.loading import LoadedPlaybook, read_text
from stager.models.fleet import Job
from stager.models.playbook import HostSpec, Playbook
from stager.models.source import Source
from stager.run.playbooks import load_runnable
from stager.staging.release import read_release


def new_batch(now: datetime) -> str:
    """Return the name of one submission: sortable by time to the millisecond, and unlike any other."""
    return f"{now.astimezone(UTC):%Y%m%dt%H%M%S}{now.microsecond // 1000:03d}-{secrets.token_hex(2)}"


def job_id(batch: str, number: int) -> str:
    """Return a job's name. Names sort in the order of submission, which decides between jobs of one second."""
    return f"{batch}-{number:04d}"


def lane_of(host: HostSpec) -> str:
    """Return what names a host in the queue: its address, and its port where that is not left to ssh_config."""
    return host.address if host.port is None else f"{host.address}:{host.port}"


def for_host(loaded: LoadedPlaybook, host: HostSpec) -> LoadedPlaybook:
    """Return the same playbook for another host; the text that is kept and journalled says so, too."""
    document = dict(loaded.source.at(()))
    document["host"] = {name: value for name, value in host.document().items() if value is not None}
    return _with_text(loaded, json.dumps(document, indent=2, ensure_ascii=False))


def make_job(loaded: LoadedPlaybook, batch: str, number: int, now: datetime, *, wave: int = 0) -> Job:
    """Return the job that runs a playbook as it is now.

    Raises:
        InvalidFile: what `read_release` raises.
    """
    playbook = loaded.playbook
    release = read_release(loaded.release, playbook.candidate.prepare).key if loaded.release else ""
    return Job(
        job_id=job_id(batch, number),
        batch=batch,
        host=lane_of(playbook.host),
        name=playbook.name,
        path=str(loaded.path),
        sha256=_digest(loaded.path),
        text=loaded.text,
        release_key=release,
        submitted=now,
        submitted_by=f"{getpass.getuser()}@{socket.gethostname()}",
        wave=wave,
    )


def load_job(job: Job) -> LoadedPlaybook:
    """Return the playbook a job was made from, on whatever machine this is.

    Raises:
        InvalidFile: the playbook or its release is not on this machine, or is not what was submitted.
    """
    if not Path(job.path).is_file():
        raise InvalidFile(
            f"Job {job.job_id}: {job.path} is not on this machine ({socket.gethostname()}); every worker needs the "
            "playbook, its markers and its release under the same path."
        )
    if _digest(Path(job.path)) != job.sha256:
        raise InvalidFile(
            f"Job {job.job_id}: {job.path} has been changed since it was submitted. Submit it again.",
            next=f"stager fleet submit {job.path}",
        )
    loaded = _with_text(load_runnable(job.path), job.text)
    key = read_release(loaded.release, loaded.playbook.candidate.prepare).key if loaded.release else ""
    if key != job.release_key:
        raise InvalidFile(
            f"Job {job.job_id}: the release {loaded.release} is not the one that was submitted; "
            "evidence would belong to another build. Submit it again.",
            next=f"stager fleet submit {job.path}",
        )
    return loaded


def playbook_of(job: Job) -> Playbook:
    """Return the playbook as the job itself has it, without looking at any file."""
    return Source.parse(job.text, f"the playbook of job {job.job_id}").part(Playbook, ())


def _digest(path: Path) -> str:
    return hashlib.sha256(read_text(path).encode()).hexdigest()


def _with_text(loaded: LoadedPlaybook, text: str) -> LoadedPlaybook:
    if text == loaded.text:
        return loaded
    source = Source.parse(text, str(loaded.path))
    return replace(loaded, text=text, source=source, playbook=source.part(Playbook, ()))

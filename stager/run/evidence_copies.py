"""Copies of evidence on the host it was taken from: sent there as it is taken, fetched by another controller."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from stager.evidence.pull import Copy, copies_of
from stager.evidence.store import Store
from stager.staging.session import Session


def send_copies(session: Session, store: Store, run_id: str) -> str:
    """Give the host copies of all evidence of a run; those it has are left alone.

    Returns:
        Why the host could not keep them; nothing if it did.

    Raises:
        ConnectionLost: the link to the host broke.
        Fenced: the run was ended on the host.
    """
    files: dict[str, bytes] = {}
    for copy in copies_of(store, run_id):
        files[copy.name] = copy.document
        files[copy.raw_name] = copy.packed_raw
    told = {
        name: {"data": base64.b64encode(data).decode(), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
    }
    answer = session.call("keep", "keep copies", run_id=run_id, files=told) if told else {"kept": True}
    return "" if answer["kept"] else str(answer["why"])


def fetch_copies(session: Session, run_id: str = "") -> Iterable[Copy]:
    """Yield the copies a host keeps, of one run or of all; documents without raw samples come with none."""
    listed = [run_id] if run_id else sorted(session.call("kept", "list copies")["runs"])
    for name in listed:
        told = session.call("kept", "fetch copies", run_id=name)
        files = {file: base64.b64decode(data) for file, data in told["files"].items()}
        for file, data in files.items():
            if file.endswith(".json"):
                yield Copy.of(f"{told['run_id']}/{file}", data, files)

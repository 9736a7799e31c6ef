"""The raw samples of a run, for its report."""

from __future__ import annotations

from stager.evidence.records import Records
from stager.evidence.store import Store
from stager.models.record import RunRecord


def raw_samples(store: Store, records: Records, record: RunRecord) -> dict[str, bytes]:
    """Return the raw samples of a run by their digest; what is damaged is left out, and the page says so."""
    samples = {}
    for exhibit in store.search(build_id=record.build_id or "", run_id=record.run_id)[0]:
        if not any("raw samples" in fault for fault in exhibit.faults):
            samples[exhibit.evidence.raw.sha256] = store.raw(exhibit)
    for item in record.baseline:
        content = records.raw(record.run_id, item.raw) if item.raw else None
        if item.raw and content is not None:
            samples[item.raw.sha256] = content
    return samples

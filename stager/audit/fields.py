"""Names every capacity or health field an endpoint returns, the line that sets it, and whether it can be untrue."""

from __future__ import annotations

from stager.audit.answers import Answer, answers
from stager.audit.facts import Function
from stager.audit.findings import Field, Place
from stager.audit.limits import Flag, flags
from stager.audit.locks import made
from stager.audit.project import Project
from stager.audit.provenance import Origin, Provenance


def find_fields(project: Project) -> list[Field]:
    """Return the fields of all endpoints, in the order of the files."""
    options: dict[str, list[Flag]] = {}
    for flag in flags(project):
        options.setdefault(flag.dest, []).append(flag)
    provenance = Provenance(project, options)
    return [_field(project, answer, provenance.trace(answer.function, answer.value)) for answer in answers(project)]


def _field(project: Project, answer: Answer, origin: Origin) -> Field:
    return Field(
        name=answer.key,
        file=origin.file,
        line=origin.line,
        why=f"{origin.words}.",
        endpoint=answer.endpoint,
        kind=origin.kind,
        settled=origin.settled,
        returned_at=Place(name=answer.function.qualname, file=answer.function.path, line=answer.value.line),
        can_disagree=_can_disagree(project, origin),
    )


def _can_disagree(project: Project, origin: Origin) -> str:
    if not origin.settled:
        return "Not settled by reading: the line that sets it was not found, so treat it as a claim."
    if origin.kind == "constant":
        return "Yes, always: a literal says the same whatever happens."
    if origin.kind == "configured":
        return "Yes: it repeats what was configured, and nothing in it looks at running work."
    if origin.kind == "computed":
        return "Yes: it was worked out once and does not follow what happens later."
    trap = _counts_too_early(project, origin)
    if trap:
        return trap
    return "Less easily: it is read when asked, so it can be late, and it counts only what its own line counts."


def _counts_too_early(project: Project, origin: Origin) -> str:
    """A counter that goes up before its function obtains a lock counts requests that wait."""
    function = project.local(origin.file, origin.counter) if origin.counter else None
    if not isinstance(function, Function):
        return ""
    for event in function.events:
        if event.kind == "acquire" and event.line > origin.line and _is_lock(project, event.ref):
            return (
                f"Yes: it goes up at {origin.file}:{origin.line}, before {event.ref} is obtained at line {event.line}, "
                "so it counts requests that wait as if they generated."
            )
    return ""


def _is_lock(project: Project, ref: str) -> bool:
    return any(made(store.value) for store in project.stores_named.get(ref.rpartition(".")[2], ()))

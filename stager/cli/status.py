"""``stager status``: who holds a host, what is down, whose markers there are."""

from __future__ import annotations

from typing import Any

import click

from stager.cli.command import command
from stager.cli.home import stager_home
from stager.cli.output import Output
from stager.cli.where import host_spec
from stager.errors import NotRestored, StagerError, Unreachable, gravest
from stager.evidence.records import Records
from stager.models.playbook import HostSpec
from stager.run.attached import host_of
from stager.staging.session import open_session


@command(NotRestored, Unreachable)
@click.argument("where", required=False, metavar="[ADDRESS|PLAYBOOK]")
def status(output: Output, where: str | None) -> int:
    """Show who holds a host, what lease is left, whose markers there are, what is down.

    Without an argument: every host of this controller's runs. Exit code 9 if production somewhere is not as it was,
    otherwise the gravest of the hosts that could not be asked.
    """
    specs = [host_spec(where)] if where else known_hosts()
    documents = [look(spec) for spec in specs]
    for document in documents:
        show(output, document)
    if not documents:
        output.say("no runs yet; name a host or a playbook")
    output.emit(documents[0] if where else {"hosts": documents})
    if any(bad(run) for document in documents for run in document["runs"]):
        return NotRestored.exit_code
    return gravest(int(document["error"]["code"]) for document in documents if "error" in document)


def known_hosts() -> list[HostSpec]:
    """The hosts of this controller's runs, each once, newest first."""
    specs: dict[str, HostSpec] = {}
    home = stager_home()
    for run_id in reversed(Records(home).ids()):
        try:
            _, spec = host_of(home, run_id)
        except (StagerError, OSError):
            continue  # a run whose playbook copy is gone says nothing of where it was
        specs.setdefault(spec.document().__repr__(), spec)
    return list(specs.values())


def look(spec: HostSpec) -> dict[str, Any]:
    """Ask one host; one that does not answer is told, not fatal."""
    try:
        with open_session(spec) as session:
            told = session.call("status", "status")
    except StagerError as error:
        return {"host": spec.address, "runs": [], "markers": [], "units": [], **error.document()}
    runs = told["runs"]
    return {
        "host": spec.address,
        "runs": [
            {
                "run_id": run["run_id"],
                "build_id": run.get("build_id", ""),
                "state": run["state"],
                "lease_seconds_left": run.get("lease_seconds_left"),
                "guard_legs": run["guard_legs"],
                "holder": run.get("holder"),
                "verdict": run.get("verdict"),
            }
            for run in runs
        ],
        "markers": [marker for run in runs for marker in run.get("markers", ())],
        "units": [unit for run in runs for unit in run.get("units", ())],
    }


def bad(run: dict[str, Any]) -> bool:
    """Whether a run's last word is that production is not as it was, or held down."""
    return run["state"] in ("NOT restored", "held: foreign marker")


def show(output: Output, document: dict[str, Any]) -> None:
    """Tell one host."""
    if "error" in document:
        message = str(document["error"]["message"])  # most begin with the host's name themselves
        output.warn(message if message.startswith(document["host"]) else f"{document['host']}: {message}")
        return
    holding = [
        run for run in document["runs"] if run["guard_legs"] or run["state"].startswith(("open", "stag", "held"))
    ]
    output.say(f"{document['host']}: {'held' if holding else 'free'}")
    for run in document["runs"]:
        holder = run["holder"] if isinstance(run["holder"], dict) else {"holder": run["holder"]}
        line = f"  run {run['run_id']}: {run['state']}"
        if run in holding:
            line += f", by {holder.get('holder')} since {holder.get('since')}; lease {run['lease_seconds_left']} s"
            line += f"; legs {', '.join(run['guard_legs']) or 'NONE'}"
        output.say(line)
        for trouble in (run.get("verdict") or {}).get("trouble", ()) if bad(run) else ():
            output.say(f"    {trouble}")
    for marker in document["markers"]:
        output.say(f"  marker {marker['path']}: {'ours' if marker['ours'] else 'NOT ours'} ({marker['why']})")
    for unit in document["units"]:
        mark = "" if unit["before"] == unit["now"] else "   <-- differs"
        output.say(f"  {unit['name']}: before {unit['before']}, now {unit['now']}{mark}")

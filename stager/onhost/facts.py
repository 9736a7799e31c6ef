"""Everything preflight, doctor and plan want to know of the host, in one exchange; nothing is changed."""

from __future__ import annotations

import os
import platform
import pwd
import shutil
from typing import Any, Dict, List

from . import answers, booted, clocks, cron, gpu, journal, launch, locks, markers, ports, processes, tree
from .files import digest_file, read_json, write_json
from .services import names_of, services_of


def look(state: str, spec: Dict[str, Any], run_id: str = "") -> Dict[str, Any]:
    """All facts for one playbook's spec."""
    production, candidate = spec["production"], spec.get("candidate")
    names = [*names_of(production["services"]), *names_of(production["watchdogs"])]
    check = production.get("healthy")
    facts: Dict[str, Any] = {
        "host": host(),
        "survey": survey(production, names),
        "ports": {
            str(p): ports.owners(p)
            for p in [*production["ports"], *([candidate["port"]] if candidate and candidate["port"] else [])]
        },
        "markers": marker_facts(spec),
        "health": {"checked": bool(check), "why": answers.one_token(check) if check else ""},
        "drain": drain(production),
        "state": state_facts(state),
        "holder": None if run_id else locks.busy_with(),
        "legs": legs(),
        "notify": program(spec["guard"].get("notify") or []),
    }
    if candidate:
        facts["candidate"] = candidate_facts(state, candidate)
    return facts


def host() -> Dict[str, Any]:
    """What is recorded beside a build."""
    cards = gpu.cards()
    return {
        "hostname": os.uname().nodename,
        "kernel": os.uname().release,
        "machine": os.uname().machine,
        "boot_id": clocks.boot_id(),
        "python": platform.python_version(),
        "uid": os.geteuid(),
        "user": pwd.getpwuid(os.geteuid()).pw_name,
        "systemd": booted.is_pid_one(),
        "system_state": booted.state_of_system(),
        "gpus": cards or [],
        "gpu_users": gpu.users() if cards else [],
    }


def survey(production: Dict[str, Any], names: List[str]) -> Dict[str, Any]:
    """The units, or why they cannot be asked for."""
    if production["manager"] == "systemd" and not booted.is_pid_one():
        return {"error": "production.manager is systemd, and systemd does not run this host"}
    if production["manager"] == "systemd-user" and booted.no_user_manager():
        return {"error": booted.no_user_manager()}
    try:
        return services_of(production).survey(names)
    except OSError as error:
        return {"error": str(error)}


def marker_facts(spec: Dict[str, Any]) -> Dict[str, Any]:
    """Foreign markers in the way, and whether ours can be made."""
    there = markers.foreign([*spec["respect"], *(kind["path"] for kind in spec["markers"])], {})
    problems = []
    for kind in spec["markers"]:
        folder = os.path.dirname(kind["path"])
        if not os.path.isdir(folder):
            problems.append("the folder of marker %s (%s) is not there" % (kind["name"], folder))
        elif not os.access(folder, os.W_OK):
            problems.append("the folder of marker %s (%s) cannot be written" % (kind["name"], folder))
    return {"foreign": there, "problems": problems}


def drain(production: Dict[str, Any]) -> Dict[str, Any]:
    """Whether the drain gauge can be read at all: known before anything waits for it."""
    wanted = production.get("drain") or {}
    if not wanted.get("gauge"):
        return {"why": ""}
    try:
        return {"why": "", "value": answers.gauge(wanted["gauge"])}
    except OSError as error:
        return {"why": str(error)}


def state_facts(state: str) -> Dict[str, Any]:
    """Whether a journal can be kept there."""
    folder = state
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    usage = shutil.disk_usage(folder)
    return {
        "folder": state,
        "file_system": journal.file_system_type(folder),
        "remote": journal.file_system_type(folder) in journal.REMOTE,
        "writable": os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY,
        "free_bytes": usage.free,
    }


def legs() -> Dict[str, str]:
    """Which legs will hold here, each with why not (empty: it will)."""
    boot = ""
    if not launch.by_unit():
        boot = cron.missing()
    elif not os.access("/etc/systemd/system", os.W_OK):
        boot = "/etc/systemd/system cannot be written"
    lingering = ""
    if not launch.by_unit() and booted.is_pid_one():
        said = processes.run(["loginctl", "show-user", str(os.geteuid()), "-p", "Linger", "--value"]).out.strip()
        kill = "KillUserProcesses=yes" in processes.run(
            ["systemd-analyze", "cat-config", "systemd/logind.conf"]
        ).out.replace(" ", "")
        lingering = (
            "logind ends our processes at logout (KillUserProcesses=yes, no linger)" if kill and said != "yes" else ""
        )
    return {"lease": lingering, "cap": lingering, "boot": boot}


def program(argv: List[str]) -> str:
    """Why a program of the playbook's cannot be run; empty when it can, or none is named."""
    return "" if not argv or processes.found(argv[0]) else "%s is not there" % argv[0]


def candidate_facts(state: str, candidate: Dict[str, Any]) -> Dict[str, Any]:
    """Release, models, user, and the programs it needs."""
    argv0 = candidate["argv"][0] if candidate["argv"] else ""
    inside = candidate["tree"] and "/" in argv0 and not argv0.startswith("/")
    user = candidate.get("user") or ""
    try:
        user_why = "" if not user else str(pwd.getpwnam(user) and "")
    except KeyError:
        user_why = "user %s does not exist" % user
    if not user and os.geteuid() == 0 and not launch.by_unit():
        user_why = launch.NO_USER
    return {
        "tree_whole": not candidate["tree"] or tree.Tree(state, candidate["tree"]).whole(),
        "program": "" if inside else program([argv0] if argv0 else []),
        "prepare": [
            why
            for why in (program(words[:1]) for words in candidate.get("prepare", ()) if not words[0].startswith("."))
            if why
        ],
        "user": user_why,
        "models": [model(state, path) for path in candidate.get("models", ())],
        "free_port": ports.free_port() if not candidate["port"] else None,
    }


def model(state: str, path: str) -> Dict[str, Any]:
    """A model file's digest; taken once per (size, mtime, inode), since it may take minutes."""
    try:
        info = os.stat(path)
    except OSError as error:
        return {"path": path, "why": error.strerror}
    if os.path.isdir(path):
        return {"path": path, "why": "is a folder; name its files"}
    key = "%d:%d:%d:%d" % (info.st_size, info.st_mtime_ns, info.st_ino, info.st_dev)
    cache_path = os.path.join(state, "digests.json")
    cache = read_json(cache_path) or {}
    if cache.get(path, {}).get("key") != key:
        try:
            cache[path] = {"key": key, "sha256": digest_file(path)}
        except OSError as error:
            return {"path": path, "why": error.strerror}
        try:
            os.makedirs(state, 0o711, exist_ok=True)
            write_json(cache_path, cache)
        except OSError:
            pass  # it is only a cache
    return {"path": path, "why": "", "sha256": cache[path]["sha256"], "size": info.st_size}

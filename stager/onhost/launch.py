"""Starting the candidate: in a unit of its own under systemd, in a session of its own elsewhere.

No value of the playbook becomes part of a command line of ours. Under systemd what is to run, its environment and its
secrets reach it as a credential, from a file in memory that only root may open and that is gone once it has started.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import signal
import sys
from typing import Any, Dict, List, NoReturn

from . import booted, candidate, clocks, gpu, processes
from .faults import CandidateFailed, Refused
from .files import unlink_quietly, write_json
from .ledger import Ledger
from .state import Run
from .systemd import Systemd

PR_SET_CHILD_SUBREAPER = 36
NO_USER = "candidate.user must be written: without systemd there is no DynamicUser, and root is only taken if written"
CREDENTIAL = "candidate"  # what the unit finds in $CREDENTIALS_DIRECTORY
HOME_WORD = "{home}"  # filled in here: under systemd only the unit itself learns where its home is


def by_unit() -> bool:
    """Whether the candidate gets a unit: systemd runs this host and we are root."""
    return booted.is_pid_one() and os.geteuid() == 0


def plan(ledger: Ledger, tree: str) -> Dict[str, Any]:
    """What the launcher reads: argv, environment (no secrets), folder, user."""
    spec, run = ledger.spec["candidate"], ledger.run
    return {
        "argv": spec["argv"],
        "env": dict(spec["env"], **{candidate.NONCE: run.run_id}),
        "cwd": tree or "/",
        "home": "" if by_unit() else run.home,
        "user": "" if by_unit() else user_of(spec),
    }


def user_of(spec: Dict[str, Any]) -> str:
    """Whom the candidate runs as without systemd: as written; an ordinary user is himself."""
    if os.geteuid() != 0:
        return ""
    if not spec.get("user"):
        raise Refused(NO_USER)
    return str(spec["user"])


def start(ledger: Ledger, program: str, tree: str, secrets: Dict[str, str]) -> Dict[str, Any]:
    """Start it, with its identity in the journal before it can do anything. Returns what its launch recorded.

    Raises:
        CandidateFailed: it could not be started at all.
    """
    run = ledger.run
    what = plan(ledger, tree)
    undo = {
        "op": "candidate.stop",
        "role": "candidate",
        "run_id": run.run_id,
        "unit": candidate.unit_name(run.run_id) if by_unit() else "",
        "device_memory": gpu.used(gpu.cards()),
        "grace": ledger.spec["candidate"]["grace"],
        "port": ledger.spec["candidate"]["port"],
    }
    intent = ledger.write("intent", "candidate.launch", undo)
    if by_unit():
        born = start_unit(run, ledger.spec["candidate"], program, what, secrets)
        ledger.write("done", "candidate.launch", of=intent["seq"], born=born)
        return born
    return start_kept(ledger, intent["seq"], what, secrets)


def unit_argv(run: Run, spec: Dict[str, Any], program: str) -> List[str]:
    """The argv that starts the candidate's transient unit.

    A property's value is taken as it is: systemd writes it into the unit's file with its own percent signs doubled.
    """
    properties = {
        "Type": "exec",
        "KillMode": "control-group",
        "TimeoutStopSec": "%g" % spec["grace"],
        "RuntimeMaxSec": "%g" % spec["runtime"],
        "StateDirectory": "stager-candidate/" + run.run_id,
        "StateDirectoryMode": "0700",
        "StandardOutput": "append:" + run.output_path,
        "StandardError": "append:" + run.output_path,
        "LoadCredential": CREDENTIAL + ":" + run.credential_path,
        "OOMScoreAdjust": "500",  # where memory runs out, the candidate goes first
        "Restart": "no",
    }
    if spec.get("memory"):
        properties["MemoryMax"] = str(spec["memory"])
    if spec.get("user"):
        properties["User"] = spec["user"]
    else:
        properties["DynamicUser"] = "yes"
    argv = ["systemd-run", "--quiet", "--no-ask-password", "--unit=" + candidate.unit_name(run.run_id)]
    argv += ["--property=%s=%s" % (name, value) for name, value in properties.items()]
    return [*argv, "--", sys.executable, "-I", program, "launch"]


def start_unit(
    run: Run, spec: Dict[str, Any], program: str, what: Dict[str, Any], secrets: Dict[str, str]
) -> Dict[str, Any]:
    """Start the transient unit and read back who it is."""
    os.makedirs(os.path.dirname(run.credential_path), 0o700, exist_ok=True)
    try:
        write_json(run.credential_path, {"what": what, "secrets": secrets})
        ran = processes.run(unit_argv(run, spec, program), timeout=60)
    finally:
        unlink_quietly(run.credential_path)
    name = candidate.unit_name(run.run_id)
    unit = Systemd().units([name])[name]
    if not ran.ok and unit.get("LoadState") != "loaded":
        raise CandidateFailed("the candidate could not be started: %s" % ran.words(), log=run.output_tail())
    return {
        "invocation": unit.get("InvocationID", ""),
        "cgroup": unit.get("ControlGroup") or "/system.slice/" + name,
        "main": processes.identify(int(unit.get("MainPID") or 0))
        or {"pid": 0, "start": 0, "boot_id": clocks.boot_id()},
    }


def start_kept(ledger: Ledger, intent: int, what: Dict[str, Any], secrets: Dict[str, str]) -> Dict[str, Any]:
    """Fork the keeper; it forks the candidate, held on a pipe until its identity is synced."""
    run = ledger.run
    os.makedirs(run.home, 0o700, exist_ok=True)
    told, tell = os.pipe()
    held, go = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(told)
        os.close(go)
        keep(run, what, secrets, tell, held)
    os.waitpid(middle, 0)
    os.close(tell)
    os.close(held)
    with os.fdopen(told, "rb") as answer:
        born = json.loads(answer.read() or b"{}")
    if not born:
        raise CandidateFailed("the candidate's keeper could not be started")
    ledger.write("done", "candidate.launch", of=intent, born=born)
    os.write(go, b"go")
    os.close(go)
    return dict(born)


def keep(run: Run, what: Dict[str, Any], secrets: Dict[str, str], tell: int, held: int) -> NoReturn:
    """The keeper: leave our session, adopt every orphan of the candidate, reap until none is left."""
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    output = os.open(run.output_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in (tell, held):
            with contextlib.suppress(OSError):
                os.close(int(name))  # a lock's descriptor must not live on in us: fork hands them all down
    child = os.fork()
    if child == 0:
        os.close(tell)
        if os.read(held, 2) != b"go":
            os._exit(0)  # whoever launched us died before our identity was on record: we never were
        try:
            become(what, secrets)
        except (OSError, KeyError) as error:
            os.write(2, ("stager: the candidate could not be started: %s\n" % error).encode())
        os._exit(127)
    os.write(tell, json.dumps({"keeper": processes.me(), "main": processes.identify(child)}).encode())
    os.close(tell)
    os.close(held)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            os._exit(0)


def become(what: Dict[str, Any], secrets: Dict[str, str]) -> NoReturn:
    """Turn this process into the candidate.

    Raises:
        OSError: no such program or folder; KeyError: no such user.
    """
    if os.getpid() != os.getsid(0):
        os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    home = what["home"] or os.environ.get("STATE_DIRECTORY", "/")
    if what["user"]:
        account = pwd.getpwnam(what["user"])
        os.chown(home, account.pw_uid, account.pw_gid)
        os.initgroups(what["user"], account.pw_gid)
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    os.chdir(what["cwd"])
    base = {
        "PATH": processes.environment()["PATH"],
        "HOME": home,
        "XDG_CACHE_HOME": home + "/.cache",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
    }
    env = dict(base, **dict({name: value.replace(HOME_WORD, home) for name, value in what["env"].items()}, **secrets))
    argv = [word.replace(HOME_WORD, home) for word in what["argv"]]
    os.execvpe(argv[0], argv, env)


def main() -> NoReturn:
    """The first process of the candidate's unit.

    Read what to run, which only this unit may read, and become it.
    """
    try:
        with open(os.path.join(os.environ["CREDENTIALS_DIRECTORY"], CREDENTIAL)) as file:
            told = json.load(file)
        become(told["what"], told["secrets"])
    except (OSError, KeyError) as error:
        sys.stderr.write("stager: the candidate could not be started: %s\n" % error)
        sys.exit(127)


def name_of(born: Dict[str, Any]) -> str:
    """What names the one start of the candidate: its InvocationID, or boot id, pid and start time."""
    main_process = born.get("main") or {}
    return str(born.get("invocation") or "%(boot_id)s:%(pid)s:%(start)s" % main_process)

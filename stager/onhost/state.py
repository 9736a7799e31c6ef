"""Where everything lives on the host: the state folder, a run's folder, and the host-wide index of open runs.

The state folder is per user (``/var/lib/stager`` for root); the lock and the index of open runs are one for the
whole host, readable by all, so that any user sees who holds it.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from typing import Any, Dict, List, Optional

from .files import open_regular, sweep_private, sync_folder, unlink_quietly, write_json
from .journal import Journal

ROOT_STATE = "/var/lib/stager"
#: Root's own, in memory, made when it is needed; everybody else's late file has to lie beside the lock.
ROOT_RUNTIME = "/run/stager"
MAX_OWNER = 1 << 16  # bytes of an owner's record that are read: anybody may have written it


def default_state() -> str:
    """The state folder of whoever runs this program."""
    if os.geteuid() == 0:
        return ROOT_STATE
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "stager", "onhost")


def shared_folder() -> str:
    """The folder of the host-wide lock: the same answer for every user of this host."""
    for folder in ("/run/lock", "/var/lock"):
        try:
            if os.stat(folder).st_mode & stat.S_IWOTH:
                return folder
        except FileNotFoundError:
            continue
    return "/var/tmp"


class Index:
    """The open runs of this host: one small file each, beside the lock's owner record. It survives a reboot."""

    def __init__(self, folder: str = "/var/tmp/stager-open") -> None:
        self.folder = folder

    def entries(self) -> List[Dict[str, Any]]:
        """Every open run's owner record, with the uid of who wrote it (by the file, not by what it says).

        A folder that is a link holds none: no run can be entered there.
        """
        found: List[Dict[str, Any]] = []
        try:
            names = [] if os.path.islink(self.folder) else sorted(os.listdir(self.folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        for name in names:
            path = os.path.join(self.folder, name)
            if name.startswith("."):
                continue
            with contextlib.suppress(FileNotFoundError):  # struck off since the folder was listed
                info = os.lstat(path)
                if stat.S_ISREG(info.st_mode):
                    found.append(dict(owner_record(path), run_id=name, uid=info.st_uid))
        return found

    def add(self, run_id: str, owner: Dict[str, Any]) -> None:
        """Enter a run.

        Raises:
            OSError: the folder cannot be made, or is not what it must be.
        """
        try:
            os.mkdir(self.folder, 0o1777)
            os.chmod(self.folder, 0o1777)
        except FileExistsError:
            self.own()
        write_json(os.path.join(self.folder, run_id), owner, 0o644)

    def own(self) -> None:
        """Refuse a folder that is a link; root takes one that another user made, who could empty it otherwise.

        Raises:
            OSError: it is a link or no folder, or was exchanged at this moment.
        """
        try:
            fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError:
            raise PermissionError("%s is a link or no folder; somebody laid it" % self.folder) from None
        try:
            info = os.fstat(fd)
            if os.geteuid() == 0 and info.st_uid != 0:
                os.fchown(fd, 0, 0)
                os.fchmod(fd, 0o1777)
            now = os.lstat(self.folder)
            if (now.st_ino, now.st_dev) != (info.st_ino, info.st_dev):
                raise PermissionError("%s was exchanged by somebody while we looked" % self.folder)
        finally:
            os.close(fd)

    def remove(self, run_id: str) -> None:
        """Strike a run off; one that is not there is fine."""
        unlink_quietly(os.path.join(self.folder, run_id))
        sweep_private(os.path.join(self.folder, run_id))


def owner_record(path: str) -> Dict[str, Any]:
    """What an entry of the index says; nothing where it cannot be read, which makes the run no less open.

    Raises:
        FileNotFoundError: it is gone.
    """
    try:
        with open(open_regular(path), "rb") as file:
            record = json.loads(file.read(MAX_OWNER))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


class Run:
    """One run's folder."""

    def __init__(self, state: str, run_id: str) -> None:
        self.state = state
        self.run_id = run_id
        self.folder = os.path.join(state, "runs", run_id)
        self.journal_path = self.at("journal.jsonl")
        self.lease_path = self.at("lease")
        self.fence_path = self.at("fence")
        self.wake_path = self.at("wake")
        self.output_path = self.at("output.log")
        self.home = self.at("home")
        self.credential_path = os.path.join(ROOT_RUNTIME, "candidate-%s.json" % run_id)
        late_folder = ROOT_RUNTIME if os.geteuid() == 0 else shared_folder()
        self.late_path = os.path.join(late_folder, "stager-%s.late" % run_id)

    def at(self, name: str) -> str:
        """A path in the run's folder."""
        return os.path.join(self.folder, name)

    def make(self) -> None:
        """Make the folder; every folder above it may be passed through by the candidate's user, not listed."""
        for folder in (self.state, os.path.dirname(self.folder)):
            os.makedirs(folder, 0o711, exist_ok=True)
        os.mkdir(self.folder, 0o711)
        os.mkfifo(self.wake_path, 0o600)
        sync_folder(os.path.dirname(self.folder))

    def exists(self) -> bool:
        """Whether there is a journal to go by: its first record can be read.

        The record is synced before anything else is done: without it (the power went before) nothing was ever begun.
        """
        try:
            with open(self.journal_path, "rb") as file:
                first = json.loads(file.readline())
        except (FileNotFoundError, ValueError):
            return False
        return isinstance(first, dict) and "spec" in first

    def journal(self, fearless: bool = False) -> Journal:
        """The journal as it stands."""
        return Journal(self.journal_path, fearless, self.late_path).refresh()

    def wake(self, word: str) -> bool:
        """Tell the guard something; False where nobody listens."""
        try:
            fd = os.open(self.wake_path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            os.write(fd, word.encode() + b"\n")
            return True
        except OSError:
            return False
        finally:
            os.close(fd)

    def output_tail(self, size: int = 4000) -> str:
        """The end of the candidate's own output."""
        try:
            with open(self.output_path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size))
                return file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""


def runs(state: str) -> List[str]:
    """Every run this state folder knows, oldest first (their names sort by time)."""
    try:
        return sorted(name for name in os.listdir(os.path.join(state, "runs")) if not name.startswith("."))
    except FileNotFoundError:
        return []


def find_run(state: str, prefix: str) -> Optional[str]:
    """The one run whose name begins so; None for none or several."""
    found = [name for name in runs(state) if name.startswith(prefix)]
    return found[0] if len(found) == 1 or prefix in found else None

"""A real systemd host: an overlay on a base root, booted by systemd-nspawn, with a network and an sshd of its own."""

from __future__ import annotations

import subprocess

from . import nspawn, roots, slots
from .inside import Inside
from .network import Network
from .nspawn import until
from .place import command, key
from .slots import Slot
from .state import StateDisk

STATE = "/var/lib/stager"


class Machine(Inside):
    """One host. The constructor boots it; it can be rebooted, cut off, looked at from outside, and made new."""

    port = 22
    user = "root"

    def __init__(
        self,
        slot: Slot,
        *,
        suite: str = "bookworm",
        unified: bool = False,
        state_mib: int = 0,
        read_only: tuple[tuple[str, str], ...] = (),
        system_calls: str = "",
    ) -> None:
        """Boot a new host in `slot`.

        `unified` gives it cgroup v2 alone; `state_mib` a disk of that size at /var/lib/stager; `read_only` are
        folders of this machine and where the host sees them; `system_calls` are allowed beside the usual ones.
        """
        super().__init__()
        self.slot = slot
        self.name = slot.name
        self.root = slot.folder / "root"
        self.address = slot.inside
        self.key = key()
        self.known_hosts = slot.folder / "known_hosts"  # holds this host's key and no other
        self.console = slot.folder / "console.log"
        self.suite = suite
        self.unified = unified
        self.network = Network(slot, lambda: self.leader)
        self.state = StateDisk(slot.folder, state_mib) if state_mib else None
        self._base = roots.root(suite)
        self._read_only = read_only
        self._system_calls = system_calls
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._install()
        self.boot()

    @property
    def running(self) -> bool:
        """Whether the host is up: it may have powered itself off."""
        return self._nspawn is not None and self._nspawn.poll() is None

    def boot(self) -> None:
        """Start the host; returns when sshd greets and systemd says its boot is over."""
        options = [f"--bind-ro={here}:{there}" for here, there in self._read_only]
        if self._system_calls:
            options.append(f"--system-call-filter={self._system_calls}")
        if self.state:
            options.append(f"--bind={self.state.mounted}:{STATE}")
        self._nspawn = nspawn.start(self.name, self.root, self.console, unified=self.unified, options=options)
        try:
            self._leader = until(self._find_leader, f"PID 1 of {self.name}")
            self.network.up()
            until(self.network.answers, f"sshd on {self.address}")
            self.sh("systemctl", "is-system-running", "--wait", check=False)
        except Exception as error:
            raise RuntimeError(f"{self.name} did not boot: {error}\n{self.last_words()}") from error

    def cut_power(self, *, forget_unsynced: bool = False) -> None:
        """End the host at once, as a power cut does; `forget_unsynced`: its state disk loses what was not synced."""
        if self._nspawn and self._leader and self.running:
            nspawn.end(self._nspawn, self._leader)
        self._leader = None
        if forget_unsynced:
            if self.state is None:
                raise ValueError("only a host with a state disk can forget: give state_mib")
            self.state.lose_what_was_not_synced()

    def shutdown(self) -> None:
        """Power the host off in order: systemd stops every unit."""
        self.sh("systemctl", "poweroff", "--no-block", check=False)
        self.wait_down()

    def reboot(self, *, force: bool = False) -> None:
        """Reboot in order, or with `force` without stopping units."""
        self.sh("systemctl", "reboot", "--force" if force else "--no-block", check=False)
        self.wait_down()
        self.boot()

    def wait_down(self) -> None:
        """Wait for a host that is on its way down."""
        if self._nspawn:
            self._nspawn.wait(nspawn.PATIENCE)
        self._leader = None

    def reset(self) -> None:
        """Throw away all that was changed: a fresh host on the same address, with the same key.

        A new overlay and a boot take half a second, less than tidying a used host and then proving it clean.
        """
        self.destroy()
        self._install()
        self.boot()

    def destroy(self) -> None:
        """End the host and remove all it had."""
        slots.remove(self.name, self.slot.folder)
        self.wait_down()
        self.laid.clear()

    def ssh_config(self, alias: str | None = None, user: str = "root") -> str:
        """A block for an ssh_config, with the key and the pinned host key."""
        return "\n    ".join((
            f"Host {alias or self.name} {self.address}", f"HostName {self.address}", f"User {user}",
            f"IdentityFile {self.key}", "IdentitiesOnly yes", f"UserKnownHostsFile {self.known_hosts}",
            "StrictHostKeyChecking yes",
        )) + "\n"  # fmt: skip

    def ssh(self, *argv: str, user: str = "root", timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command line by the OpenSSH client, as a person would (`sh` is quicker where ssh is not the point)."""
        options = {
            "IdentityFile": self.key, "IdentitiesOnly": "yes", "UserKnownHostsFile": self.known_hosts,
            "StrictHostKeyChecking": "yes", "BatchMode": "yes", "ConnectTimeout": "5",
        }  # fmt: skip
        flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        target = f"{user}@{self.address}"
        return command("ssh", "-F", "/dev/null", *flags, target, *argv, check=False, timeout=timeout)

    def last_words(self, lines: int = 60) -> str:
        """The end of the host's log, or of its console where it is down."""
        if self.running and self._leader:
            log = self.sh("journalctl", "--no-pager", "-o", "short-precise", "-n", str(lines), check=False).stdout
            if log:
                return log
        return "\n".join(self.console.read_text(errors="replace").splitlines()[-lines:])

    def _install(self) -> None:
        for part in ("upper", "work", "root"):
            (self.slot.folder / part).mkdir(parents=True, exist_ok=True)
        layers = f"lowerdir={self._base},upperdir={self.slot.folder / 'upper'},workdir={self.slot.folder / 'work'}"
        command("mount", "-t", "overlay", "stager-lab", "-o", layers, self.root)
        (self.root / "etc/hostname").write_text(f"{self.name}\n")
        public = (self._base / roots.HOST_KEY).read_text().split()[:2]
        self.known_hosts.write_text(f"{self.address} {' '.join(public)}\n")
        if self.state:
            (self.root / STATE.lstrip("/")).mkdir(parents=True, exist_ok=True)
            self.state.make()

    def _find_leader(self) -> int | None:
        assert self._nspawn
        if self._nspawn.poll() is not None:
            raise RuntimeError(f"nspawn ended with {self._nspawn.returncode}")
        return nspawn.leader(self._nspawn)

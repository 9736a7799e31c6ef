"""A host's network: its link to this machine, and ways to lose it."""

from __future__ import annotations

import socket
from collections.abc import Callable

from .nspawn import until
from .place import command
from .slots import Slot

NOBODY = "02:00:00:00:00:01"  # a hardware address no one has


class Network:
    """The two ends of a host's link. `leader` gives the pid of the host's PID 1, whose network namespace it is."""

    def __init__(self, slot: Slot, leader: Callable[[], int]) -> None:
        self._slot = slot
        self._leader = leader

    def up(self) -> None:
        """Give both ends their address; the host itself needs no unit for it."""
        link = ("ip", "link", "set", self._slot.link, "up")
        until(lambda: command(*link, check=False).returncode == 0, f"the link {self._slot.link}")
        command("ip", "addr", "replace", f"{self._slot.outside}/30", "dev", self._slot.link)
        self._inside("link", "set", "lo", "up")
        self._inside("addr", "replace", f"{self._slot.inside}/30", "dev", "host0")
        self._inside("link", "set", "host0", "up")

    def silence(self) -> None:
        """Lose every packet both ways without telling anybody: no refusal, no reset, no link that goes down.

        Each end sends to a hardware address nobody has, so established connections just get no answer any more.
        """
        command("ip", "neigh", "replace", *self._neighbour(self._slot.inside, self._slot.link))
        self._inside("neigh", "replace", *self._neighbour(self._slot.outside, "host0"))

    def unplug(self) -> None:
        """Take the link down, as a pulled cable does: the host sees no carrier."""
        command("ip", "link", "set", self._slot.link, "down")

    def mend(self) -> None:
        """End `silence` and `unplug`; does nothing where all is well."""
        command("ip", "neigh", "del", self._slot.inside, "dev", self._slot.link, check=False)
        self._inside("neigh", "del", self._slot.outside, "dev", "host0", check=False)
        self.up()

    def answers(self, port: int = 22) -> bool:
        """Whether the host's sshd greets, which a mere open port does not show."""
        try:
            with socket.create_connection((self._slot.inside, port), timeout=1) as line:
                line.settimeout(2)
                return line.recv(4) == b"SSH-"
        except OSError:
            return False

    def _inside(self, *argv: str, check: bool = True) -> None:
        command("nsenter", "-t", str(self._leader()), "-n", "ip", *argv, check=check)

    @staticmethod
    def _neighbour(address: str, device: str) -> tuple[str, ...]:
        return (address, "lladdr", NOBODY, "nud", "permanent", "dev", device)

"""OpenSSH's own server for the demo: on a loopback port, as this user, with keys made for the demo alone."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
from pathlib import Path

from stager.demo.keys import Keys

#: Where distributions put it; an ordinary user's PATH has none of these.
FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/sbin", "/usr/bin", "/usr/lib/ssh", "/usr/libexec")


def find_sshd() -> str | None:
    """Return sshd's absolute path (it starts itself again by it), None where it is not installed."""
    return shutil.which("sshd", path=os.pathsep.join([*os.get_exec_path(), *FOLDERS]))


def config_text(keys: Keys, port: int, path: str) -> str:
    """The server's whole configuration; ``path`` is the PATH of what is run over the connection."""
    lines = (
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f'HostKey "{keys.host}"',
        f'AuthorizedKeysFile "{keys.authorized}"',
        f"AllowUsers {getpass.getuser()}",
        "PidFile none",
        "UsePAM no",
        "UseDNS no",
        "StrictModes no",  # the folder may lie below one that a group may write to; the key was made a moment ago
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "AllowTcpForwarding local",
        "X11Forwarding no",
        "PrintMotd no",
        f'SetEnv "PATH={path}"',
    )
    return "\n".join(lines) + "\n"


def usable(sshd: str, config: Path) -> tuple[str, Path | None]:
    """Ask sshd itself whether it would run so; make the empty folder it confines itself to where only that is missing.

    Returns:
        Why not (empty: it would), and the folder that was made.
    """
    made = None
    for _ in range(2):
        asked = subprocess.run([sshd, "-t", "-f", str(config)], capture_output=True, text=True, check=False, timeout=20)
        if asked.returncode == 0:
            return "", made
        lacking = re.search(r"Missing privilege separation directory: (\S+)", asked.stderr)
        if not lacking or made or os.geteuid() != 0:
            break
        made = Path(lacking[1])
        made.mkdir(mode=0o755)
    return asked.stderr.strip() or f"sshd -t ended with {asked.returncode}", made

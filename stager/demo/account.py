"""As whom the demo's candidate runs: an account with fewer rights where one can read what it needs."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

from stager.demo.place import Place

#: A unit with a dynamic user sees folders of its own here.
PRIVATE = ("/tmp", "/var/tmp")  # noqa: S108 -- compared with, never written to
ORDINARY = "nobody"


def candidate_user(place: Place) -> tuple[str | None, str]:
    """Return the playbook's ``candidate.user`` (None: nothing to write), and why, as half a sentence.

    A dynamic user (systemd, root) and `nobody` can do their work only if they may read the environment this runs in.
    """
    if os.geteuid() != 0:
        return None, "as you"
    systemd = Path("/run/systemd/system").is_dir()
    hidden = any(str(path).startswith(f"{folder}/") for path in (place.root, place.python) for folder in PRIVATE)
    if _readable(place) and not (systemd and hidden):
        return (None, "as a dynamic user") if systemd else (ORDINARY, f"as {ORDINARY}")
    return "root", "as root, because no other account can read this environment"


def _readable(place: Place) -> bool:
    """Whether an account without rights can run the engine and read the model and the folder."""
    try:
        account = pwd.getpwnam(ORDINARY)
    except KeyError:
        return False
    look = "import os, sys, xllamacpp; open(sys.argv[1], 'rb').close(); os.stat(sys.argv[2])"
    try:
        done = subprocess.run(
            [str(place.python), "-I", "-c", look, str(place.model), str(place.release)],
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
            timeout=60,
        )
    except OSError:
        return False
    return done.returncode == 0

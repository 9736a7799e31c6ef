"""The host program: ``serve`` at the end of a channel, and the legs that restore without one."""

from __future__ import annotations

import os
import sys
import threading
from typing import List


def end_with_parent() -> None:
    """End this process when whoever holds the other end of standard input is gone."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def main(argv: List[str]) -> int:
    """Run one verb of the command line: serve, metronome, launch, guard, after-guard, cap, boot, restore."""
    program = sys.argv[0]
    verb, words = argv[0], argv[1:]
    if verb == "serve":
        from .serve import Server
        from .state import default_state

        options = dict(zip(words[::2], words[1::2]))
        return Server(options.get("--state") or default_state(), program, options["--nonce"]).serve()
    if verb == "metronome":
        from . import metronome

        threading.Thread(target=end_with_parent, daemon=True).start()
        metronome.run(int(words[0]), float(words[1]), int(words[2]), words[3], float(words[4]))
        return 0
    if verb == "launch":
        from . import launch

        launch.main()
    from . import guard, restore
    from .state import Run

    run = Run(words[0], words[1])
    if verb == "restore":
        restore.until_done(run, " ".join(words[2:]) or "cleanup", "controller")
        return 0
    return {"guard": guard.main, "after-guard": guard.after_guard, "cap": guard.cap, "boot": guard.boot}[verb](run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m stager`` is the command ``stager``."""

from __future__ import annotations

import sys

from stager.cli.main import main

sys.exit(main())

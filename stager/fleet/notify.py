"""Tell somebody: the JSON document on a command's standard input, or posted to an address."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 60


def by_command(words: Sequence[str], document: Any) -> str:  # noqa: ANN401 - any JSON-ready value
    """Give the document to a command; return an empty text, or why it was not taken."""
    try:
        done = subprocess.run(
            list(words), input=json.dumps(document), text=True, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{words[0]}: {error}"
    return f"{words[0]} ended with {done.returncode}: {done.stderr.strip()}" if done.returncode else ""


def by_webhook(url: str, document: Any) -> str:  # noqa: ANN401 - any JSON-ready value
    """Post the document; return an empty text, or why it was not taken. The address may hold a secret: never said."""
    if urlsplit(url).scheme not in ("http", "https"):
        return "the webhook's address is no http or https address"
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        url, json.dumps(document).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310 - the same
            return ""
    except urllib.error.HTTPError as error:
        return f"the webhook answered {error.code}"
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        return f"the webhook was not reached: {getattr(error, 'reason', error)}"

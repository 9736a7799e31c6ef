"""A library that only some users install: say which extra brings it."""

from __future__ import annotations

from stager.errors import UsageError
from stager.extras import install_command

#: The module a command loads late -> the extra in pyproject.toml that installs it.
EXTRAS = {
    "asyncssh": "demo",
    "cryptography": "attest",
    "dbos": "fleet",
    "gguf": "gguf",
    "matplotlib": "plots",
    "psycopg": "fleet",
    "securesystemslib": "attest",
    "xllamacpp": "demo",
}


def missing_extra(error: BaseException, *, host_state: str) -> UsageError | None:
    """Return the error to show where a library of an extra is not installed; None for any other exception."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        return None
    return UsageError(
        f"This needs {library}, which is not installed.",
        host_state=host_state,
        next=install_command(f"stager[{EXTRAS[library]}]"),
    )

"""Finding the one thing an operator means by the beginning of its name."""

from __future__ import annotations

from collections.abc import Iterable

from stager.errors import UsageError


def resolve(prefix: str, names: Iterable[str], what: str, listing: str) -> str:
    """Return the one name that begins so; a full name is meant even where a longer one begins the same.

    Args:
        prefix: what was typed.
        names: all there are.
        what: what they are, in the singular (``build``, ``run``).
        listing: the command that lists them.

    Raises:
        UsageError: none begins so, or several do.
    """
    known = sorted(set(names))
    if prefix in known:
        return prefix
    found = [name for name in known if prefix and name.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if found:
        # whole: those that begin alike for longer than any cut could not be told apart
        shown = ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
        raise UsageError(f"{len(found)} {what}s begin with {prefix}: {shown}. Type more of it.", next=listing)
    raise UsageError(f"There is no {what} here that begins with {prefix or 'nothing'}.", next=listing)


def resolve_build(prefix: str, known: Iterable[str]) -> str:
    """Return the build meant; one written in full is meant even where nothing is known of it.

    Raises:
        UsageError: no known build begins so, or several do.
    """
    full = len(prefix) == 64 and set(prefix) <= set("0123456789abcdef")
    return prefix if full else resolve(prefix, known, "build", "stager evidence list")

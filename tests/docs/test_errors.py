"""The error tree drawn in `stager/errors.py` is the tree there is."""

from __future__ import annotations

import re

from stager import errors


def drawn() -> dict[str, tuple[str | None, set[int]]]:
    """Return name -> (parent, exit codes) as the docstring draws them."""
    tree: dict[str, tuple[str | None, set[int]]] = {}
    stack: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([│├└─ ]*)([A-Z][A-Za-z]+)\s+([\d, ]*\d)", line)
        if match:
            depth = len(match[1]) // 4
            stack = [*stack[:depth], match[2]]
            tree[match[2]] = (stack[-2] if depth else None, {int(code) for code in match[3].split(",")})
    return tree


def test_the_drawing_is_the_tree() -> None:
    """Each class stands under its parent with its exit codes, and none is missing."""
    real: dict[str, tuple[str | None, set[int]]] = {}
    left = [errors.StagerError]
    while left:
        error = left.pop()
        parent = None if error is errors.StagerError else error.__bases__[0].__name__
        codes = {129, 130, 143} if error is errors.Stopped else {error.exit_code}
        real[error.__name__] = (parent, codes)
        left += [child for child in error.__subclasses__() if child.__module__ == errors.__name__]
    assert drawn() == real

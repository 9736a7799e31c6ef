"""Words to one line that means the same in every login shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

#: Taken literally between single quotes by sh, bash, zsh, fish, csh and tcsh, and between double ones by printf's %b.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _./=:,@+-")

#: Linux takes at most 128 KiB in one argument (MAX_ARG_STRLEN), and sshd passes the line as one.
_LONGEST = 128 * 1024 - 64


def shell_line(argv: Sequence[str]) -> str:
    """Return one line that makes any login shell become ``argv``, word for word.

    sshd hands the line to the user's own shell, and these disagree about quotes: csh expands ``!`` and refuses
    newlines between single quotes, fish knows two escapes there. So the real command travels as octal escapes
    inside one single-quoted word that holds nothing any of them would touch, and /bin/sh alone unpacks it.

    Raises:
        ValueError: there are no words, one holds a NUL byte, which no argument can, or all are too long together.
    """
    if not argv:
        raise ValueError("a command needs at least one word")
    if any("\0" in word for word in argv):
        raise ValueError("an argument cannot hold a NUL byte")
    script = f"exec {shlex.join(argv)}"
    packed = "".join(
        chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in script.encode("utf-8", "surrogateescape")
    )
    if len(packed) > _LONGEST:
        raise ValueError(f"a command of {len(packed)} bytes is too long for one argument; send data on its input")
    return f"""exec /bin/sh -c 'eval "$(printf %b "{packed}")"'"""

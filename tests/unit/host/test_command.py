"""The one line every login shell takes literally."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stager.host.command import shell_line

words = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40), max_size=5)


def test_the_quoted_part_holds_nothing_a_shell_would_touch() -> None:
    """Outside letters, digits and harmless signs the packed words are backslashes and digits only."""
    packed = shell_line(["a'b", "!x", "$y", "é\n"]).split('%b "')[1].removesuffix('")"\'')
    assert not set(packed) - set("abcdefghijklmnopqrstuvwxyz0123456789\\ ")


@settings(max_examples=25, deadline=None)
@given(words)
def test_any_words_come_through_sh(given_words: list[str]) -> None:
    """Whatever the words, sh hands exactly them to the program."""
    line = shell_line(
        ["python3", "-c", "import os,sys;os.write(1,b'\\0'.join(map(os.fsencode,sys.argv[1:])))", *given_words]
    )
    out = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True).stdout
    assert out == b"\0".join(word.encode() for word in given_words)


def test_a_line_too_long_for_one_argument_is_refused() -> None:
    """What Linux would refuse with E2BIG on the host is a ValueError here."""
    with pytest.raises(ValueError, match="too long"):
        shell_line(["echo", "é" * 20_000])

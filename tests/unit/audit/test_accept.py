"""Inline comments that accept a finding with a reason."""

from __future__ import annotations

import pytest

SOURCE = """
    import asyncio
    gen_lock = asyncio.Lock(){comment}
    async def chat(engine):
        async with gen_lock:
            return await engine.generate("x")
    """


@pytest.mark.parametrize("what", ["serialiser", "gen_lock"])
def test_a_reason_accepts(audited, what):
    """A comment on the line, by kind or by name, accepts the finding; it stays, with the reason."""
    result = audited({"a.py": SOURCE.format(comment=f"  # stager: accept {what} - one GPU, one user")})
    assert [item.accepted for item in result.serialisers] == ["one GPU, one user"]
    assert result.summary.accepted == 1
    assert result.void_acceptances == ()


def test_the_line_above_accepts(audited):
    """A comment on the line above does the same."""
    above = SOURCE.replace("    gen_lock = ", "    # stager: accept serialiser - known\n    gen_lock = ").format(
        comment=""
    )
    assert audited({"a.py": above}).serialisers[0].accepted == "known"


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("  # stager: accept serialiser", "reason"),
        ("  # stager: accept dead-key - wrong kind", "no finding"),
    ],
)
def test_what_accepts_nothing(audited, comment, problem):
    """Without a reason, or for another finding, a comment accepts nothing and is named."""
    result = audited({"a.py": SOURCE.format(comment=comment)})
    assert result.serialisers[0].accepted == ""
    assert [problem in void.problem for void in result.void_acceptances] == [True]


def test_a_string_is_no_comment(audited):
    """Text that only looks like a comment accepts nothing."""
    source = SOURCE.format(comment='; note = "# stager: accept serialiser - no"')
    result = audited({"a.py": source})
    assert result.serialisers[0].accepted == ""
    assert result.void_acceptances == ()


def test_a_key_is_accepted_in_its_file(audited):
    """In a configuration file the comment stands beside the key."""
    config = "dead: 1  # stager: accept dead-key - read by another program\n"
    assert audited({"a.py": "x = 1\n"}, {"a.yaml": config}).dead_keys[0].accepted == "read by another program"


def test_a_field_is_accepted_where_it_is_returned(audited):
    """A field's finding can be accepted on the line that returns it."""
    source = """
        @app.get("/health")
        async def health():
            return {"ok": True}  # stager: accept ok - liveness only
        """
    assert audited({"a.py": source}).fields[0].accepted == "liveness only"

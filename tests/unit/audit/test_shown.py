"""The same findings for a terminal and as Markdown."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from stager.audit.markdown import markdown
from stager.audit.terminal import terminal

FILES = {
    "serve.py": """
        import argparse, asyncio
        parser = argparse.ArgumentParser()
        parser.add_argument("--max-num-seqs", type=int, default=1)
        parser.add_argument("--dead")
        args = parser.parse_args()
        gen_lock = asyncio.Lock()  # stager: accept serialiser - known
        async def chat(engine):
            async with gen_lock:
                return await engine.generate("x", args.max_num_seqs)
        @app.get("/health")
        async def health():
            return {"[odd]|ok": True}
        """
}


@pytest.fixture
def result(audited):
    """One of everything."""
    return audited(FILES, {"a.yaml": "nobody: 1\n"})


def test_markdown_holds_every_finding(result):
    """Every finding's place and the accepted reason stand in the Markdown, and table cells keep their bars."""
    text = markdown(result)
    for finding in result.findings():
        assert finding.where in text
    assert "*Accepted: known*" in text
    assert "[odd]\\|ok" in text
    assert "not evidence" in text


@pytest.mark.parametrize("width", [40, 200])
def test_the_terminal_holds_every_finding(result, width):
    """Every finding's place is shown at any width, and brackets in names are not taken for markup."""
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False).print(terminal(result))
    text = "".join(stream.getvalue().split())
    for finding in result.findings():
        assert finding.where in text
    assert "[odd]|ok" in text


def test_an_empty_source_says_so(audited):
    """Where nothing was found, that is said, with what was read."""
    stream = io.StringIO()
    Console(file=stream, width=100).print(terminal(audited({"a.py": "x = 1\n"})))
    assert "Nothing was found in what was read." in stream.getvalue()
    assert "1 Python files" in stream.getvalue()

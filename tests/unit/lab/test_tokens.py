"""The lab's tokenizer."""

from hypothesis import given
from hypothesis import strategies as st

from stager.lab.tokens import pieces, render_chat, token_id


@given(st.text())
def test_tokens_join_back_to_the_text(text: str) -> None:
    """No character is lost or added."""
    assert "".join(pieces(text)) == text


def test_a_role_mark_is_one_token() -> None:
    """The chat template's marks cost one token each, so an overhead is a constant."""
    rendered = render_chat([{"role": "user", "content": "add 2 and 3"}])

    assert pieces(rendered) == ["<|user|>", "add", " 2", " and", " 3", "<|end|>", "<|assistant|>"]


def test_token_numbers_are_stable() -> None:
    """The same piece has the same number in every process."""
    assert token_id(" river") == token_id(" river") != token_id(" stone")

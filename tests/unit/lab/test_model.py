"""The lab's tiny model answers only from what it is shown."""

from stager.lab.model import Call, reply
from stager.lab.tokens import render_chat


def _said(text: str) -> str:
    return "".join(reply(text).tokens)


def test_it_finds_a_fact_and_stops() -> None:
    """A code that is in the text is repeated exactly."""
    answer = reply("The harbour code is 4711. Some filler with 1 number. What is the harbour code?")

    assert "".join(answer.tokens) == "The harbour code is 4711."
    assert answer.stops


def test_it_admits_that_a_fact_is_absent() -> None:
    """A code that is not in the text is never made up."""
    assert _said("The harbour code is 4711. What is the orchard code?") == "The text does not say."


def test_it_calls_a_tool_with_the_users_last_numbers() -> None:
    """The arguments are the whole numbers of the last user message."""
    text = render_chat([{"role": "user", "content": "not 7 or 8"}, {"role": "user", "content": "add 17 and 25"}])

    assert reply(text, tool="add").call == Call("add", {"a": 17, "b": 25})


def test_it_goes_on_with_a_canary() -> None:
    """A list of one word goes on as that word, without end."""
    answer = reply("KESTREL-4821\nKESTREL-4821\n")

    assert "".join(answer.tokens).startswith("KESTREL-4821\nKESTREL-4821\n")
    assert not answer.stops


def test_other_texts_lead_to_endless_talk() -> None:
    """Without a question there is no natural end."""
    assert not reply("Tell me about rivers.").stops

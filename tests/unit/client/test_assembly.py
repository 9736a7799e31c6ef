"""What the engines of the field really send, by their documented and read forms (one stream per quirk)."""

import json

import pytest

from stager.client.assembly import Assembly
from stager.client.limits import LimitExceeded, Limits
from stager.client.record import DeltaKind, Usage
from stager.client.sse import Event


def assembled(*chunks: object, limits: Limits | None = None) -> Assembly:
    assembly = Assembly(limits)
    for at, chunk in enumerate(chunks):
        assembly.event(Event("message", chunk if isinstance(chunk, str) else json.dumps(chunk)), at)
    return assembly


def delta(finish: str | None = None, **parts: object) -> dict:
    return {"choices": [{"index": 0, "delta": parts, "finish_reason": finish}]}


USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}


def test_a_role_only_delta_is_no_output() -> None:
    """The first chunk's role, with content null or empty, does not count as the first token."""
    assembly = assembled(delta(role="assistant", content=None), delta(role="assistant", content=""), delta(content="a"))
    assert [(d.at_ns, d.text) for d in assembly.deltas] == [(2, "a")]


def test_usage_without_choices_after_the_finish() -> None:
    """llama.cpp, vLLM and SGLang send usage in a chunk of its own with empty choices."""
    assembly = assembled(delta(content="a"), delta("stop"), {"choices": [], "usage": USAGE}, "[DONE]")
    assert assembly.usage == Usage(7, 2, None, with_choices=False)
    assert assembly.finish_reasons == ["stop"]
    assert assembly.done_markers == 1


@pytest.mark.parametrize("count", [-1, 2**53, 10**400, 1.5, True, "7", None])
def test_what_is_no_count_is_none(count: object) -> None:
    """Usage that no reader could have meant is missing usage: no arithmetic breaks over it."""
    usage = {"prompt_tokens": count, "completion_tokens": 2}
    assembly = assembled(delta(content="a"), delta("stop"), {"choices": [], "usage": usage}, "[DONE]")
    assert assembly.usage == Usage(None, 2, None, with_choices=False)


def test_the_only_finish_reason_on_the_usage_chunk() -> None:
    """TabbyAPI's usage chunk has choices, and they carry the only finish reason."""
    assembly = assembled(delta(content="a"), delta("length") | {"usage": USAGE}, "[DONE]")
    assert assembly.finish_reasons == ["length"]
    assert assembly.usage.with_choices


def test_a_finish_reason_beside_content_keeps_the_content() -> None:
    """vLLM may finish on a chunk that still brings text (35705)."""
    assembly = assembled(delta("stop", content="last"))
    assert assembly.deltas[0].text == "last"
    assert assembly.finish_reasons == ["stop"]


def test_null_and_empty_finish_reasons_are_told_apart() -> None:
    """A null finish reason is none; an empty one was sent and is kept as it is (ollama 4357)."""
    assert assembled(delta(None, content="a")).finish_reasons == []
    assert assembled(delta("", content="a")).finish_reasons == [""]


def _both(content: str | None, text: str) -> dict:
    return {"choices": [{"index": 0, "delta": {"content": content}, "text": text}]}


def test_content_in_two_places_of_one_chunk_is_one_output() -> None:
    """A chunk that carries its content both as delta and as text counts once, whichever of the two is filled."""
    assembly = assembled(_both("a", "a"), _both("", "b"), _both(None, "c"), _both("d", ""))
    assert [d.text for d in assembly.deltas] == ["a", "b", "c", "d"]
    assert assembly.faults == []


def test_two_contents_in_one_chunk_cannot_be_read() -> None:
    """Where delta and text differ nobody knows which was generated: the delta is kept and the answer unreadable."""
    assembly = assembled(_both("a", "b"))
    assert [d.text for d in assembly.deltas] == ["a"]
    assert assembly.unreadable == ["a chunk brought one content as its delta and another as its text"]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_counts_as_output_of_its_own_kind(name) -> None:
    """Both names of reasoning deltas are output, and are not content."""
    assembly = assembled(delta(**{name: "hm"}), delta(content="a"))
    assert [d.kind for d in assembly.deltas] == [DeltaKind.REASONING, DeltaKind.CONTENT]


def test_tool_arguments_are_joined_by_index() -> None:
    """Fragments of several calls, in any mixture, end up in their own call."""
    assembly = assembled(
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "add", "arguments": ""}}]),
        delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "add", "arguments": '{"a": 9'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a": 2'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": ', "b": 3}'}}]),
        delta(tool_calls=[{"index": 1, "function": {"arguments": "}"}}]),
        delta("tool_calls"),
    )
    assert [(call.id, call.name, call.arguments) for call in assembly.tool_calls] == [
        ("a", "add", '{"a": 2, "b": 3}'),
        ("b", "add", '{"a": 9}'),
    ]
    assert [d.kind for d in assembly.deltas] == [DeltaKind.TOOL] * 4


def test_arguments_sent_as_an_object_are_kept_and_told() -> None:
    """An object where a string belongs (llama.cpp 20198) is visible, not silently mended."""
    call = assembled(
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "add", "arguments": {"a": 2}}}])
    ).tool_calls[0]
    assert (call.arguments, call.arguments_type) == ('{"a": 2}', "dict")


def test_an_error_event_under_status_200_is_an_error_even_with_done() -> None:
    """vLLM, SGLang and TGI send the error and then [DONE]; llama.cpp sends no [DONE]."""
    assembly = assembled(delta(content="a"), {"error": {"message": "out of memory", "code": 500}}, "[DONE]")
    assert assembly.error == "out of memory"


def test_an_error_event_by_name_is_an_error() -> None:
    """``event: error`` counts, whatever its data."""
    assembly = Assembly()
    assembly.event(Event("error", '{"detail": "dead"}'), 0)
    assert "dead" in assembly.error


def test_a_second_done_and_what_follows_it_are_counted() -> None:
    """Double [DONE] and events after it are noted, and still read."""
    assembly = assembled("[DONE]", delta(content="late"), " [DONE] ")
    assert (assembly.done_markers, assembly.after_done, len(assembly.deltas)) == (2, 1, 1)


def test_the_text_route_and_the_plain_answer_have_other_names() -> None:
    """``text`` of the raw route and ``message`` of a plain answer are output too."""
    plain = {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}], "usage": USAGE}
    assert assembled(plain).deltas[0].text == "hi"
    assert assembled({"choices": [{"index": 0, "text": "raw"}]}).deltas[0].text == "raw"


def test_extras_are_kept() -> None:
    """llama.cpp's timings, SGLang's matched_stop and TabbyAPI's eos_reason survive."""
    assembly = assembled({"choices": [{"index": 0, "text": "", "eos_reason": "loop"}], "timings": {"predicted_n": 3}})
    assert assembly.extras == {"eos_reason": "loop", "timings": {"predicted_n": 3}}


def test_cached_prompt_tokens_are_read() -> None:
    """How much of the prompt came from a cache is kept."""
    usage = USAGE | {"prompt_tokens_details": {"cached_tokens": 5}}
    assert assembled({"choices": [], "usage": usage}).usage.cached_tokens == 5


@pytest.mark.parametrize(
    "chunk", ["not json", "[1, 2]", "[" * 200_000, '{"choices": "x"}', '{"choices": [null, 3]}', '{"choices": [{}]}']
)
def test_nonsense_is_a_fault_at_most_never_a_crash(chunk) -> None:
    """Chunks of any shape leave a record behind."""
    assembly = assembled(chunk, delta(content="a"))
    assert assembly.deltas[0].text == "a"
    assert len(assembly.faults) <= 1


def test_output_of_a_wrong_type_is_a_fault() -> None:
    """A number where text belongs is noted and is no output."""
    assembly = assembled(delta(content=7))
    assert assembly.deltas == []
    assert "int" in assembly.faults[0]


def test_wrong_counts_are_no_counts() -> None:
    """A usage field that is no whole number reads as missing."""
    usage = assembled({"choices": [], "usage": {"prompt_tokens": "7", "completion_tokens": True}}).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (None, None)


def test_another_choice_is_a_fault() -> None:
    """Only one choice was asked for."""
    assert "index 1" in assembled({"choices": [{"index": 1, "text": "x"}]}).faults[0]


def test_events_and_faults_are_bounded() -> None:
    """A stream of small nonsense neither fills memory with faults nor goes past the bound on events."""
    with pytest.raises(LimitExceeded):
        assembled(*(f"nonsense {number}" for number in range(101)), limits=Limits(events=100))
    assert len(assembled(*(f"nonsense {number}" for number in range(100))).faults) <= 32

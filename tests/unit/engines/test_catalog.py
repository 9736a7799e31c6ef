import json
from pathlib import Path

import pytest

from stager.engines.catalog import ALIASES, ENGINES, engine_named, engine_of
from stager.engines.described import place
from stager.engines.llamaswap import LLAMASWAP, loaded_models, warm_request
from stager.engines.reading import Kind, read, read_number
from stager.models.base import canonical_json

RECORDED = Path(__file__).with_name("recorded")
EVERY = pytest.mark.parametrize("engine", ENGINES.values(), ids=lambda engine: engine.name)


def recorded(name: str) -> bytes:
    return (RECORDED / name).read_bytes()


@EVERY
def test_a_token_request_is_a_real_chat_completion_of_one_token(engine) -> None:
    """What ready and healthy mean can be sent as JSON by anybody, also from the host."""
    request = engine.token_request("qwen")
    assert request.path == "/v1/chat/completions"
    assert json.loads(json.dumps(request.body)) == request.body
    assert (request.body["max_tokens"], request.body["model"], request.body["stream"]) == (1, "qwen", False)
    assert request.body["messages"][0]["role"] == "user"


@EVERY
def test_every_adapter_says_where_its_statements_come_from(engine) -> None:
    """A version read, a source for each number, at least one quirk a reader must know."""
    assert engine.read_in != "not read"
    assert engine.quirks
    readings = [*engine.active, *engine.waiting, *engine.busy, *engine.configured]
    readings += [engine.steps.tokens, engine.steps.steps] if engine.steps else []
    assert all(reading.source and bool(reading.metric) <= (not reading.pointer) for reading in readings)


@EVERY
def test_gauges_are_measured_and_capacity_fields_are_not(engine) -> None:
    """What counts as a gauge is counted while the engine runs; a capacity field never is."""
    assert {reading.kind for reading in (*engine.active, *engine.busy, *engine.waiting)} <= {Kind.MEASURED}
    assert Kind.MEASURED not in {reading.kind for reading in engine.configured}


@EVERY
def test_requests_never_ask_for_what_spoils_the_experiment(engine) -> None:
    """No seed, logprobs, slot or conversation of its own goes out: each changes batching somewhere."""
    path, body = engine.generation("qwen", "hello", max_tokens=100)
    assert path in ("/v1/completions", "/v1/chat/completions")
    assert not {"seed", "logprobs", "id_slot", "lora", "n"} & set(body)
    assert (body["stream"], body["stream_options"], body["max_tokens"]) == (True, {"include_usage": True}, 100)


@EVERY
def test_an_adapter_is_data(engine) -> None:
    """It goes into a build's digest as canonical JSON."""
    assert canonical_json(engine.document())


def test_a_length_can_be_held_where_the_engine_knows_how() -> None:
    """Keys that keep a generation going carry the length asked for, and are sent only when it is to be exact."""
    exact = engine_named("vllm").text_body("m", "x", max_tokens=77, exact=True)
    assert (exact["ignore_eos"], exact["min_tokens"]) == (True, 77)
    assert "ignore_eos" not in engine_named("vllm").text_body("m", "x", max_tokens=77)
    assert engine_named("openai").text_body("m", "x", max_tokens=77, exact=True).keys() == (
        engine_named("openai").text_body("m", "x", max_tokens=77).keys()
    )


def test_further_keys_go_into_a_body_as_they_are() -> None:
    """A probe adds tools and the like itself."""
    assert engine_named("openai").chat_body("m", "x", max_tokens=5, tools=[1])["tools"] == [1]


def test_vllm_gauges_sum_over_engines() -> None:
    """Two engine processes are one answer, and its histogram gives tokens and steps."""
    vllm, body = engine_named("vllm"), recorded("vllm_metrics.txt")
    assert read_number(vllm.active[0], body) == 4
    assert read_number(vllm.waiting[0], body) == 2
    assert (read_number(vllm.steps.tokens, body), read_number(vllm.steps.steps, body)) == (1780, 200)
    assert vllm.steps.includes_prompt


def test_sglang_is_asked_live_first() -> None:
    """The live loads endpoint comes before the gauge that goes stale; health is known to cost a generation."""
    sglang = engine_named("sglang")
    assert read_number(sglang.active[0], recorded("sglang_loads.json")) == 3
    assert read_number(sglang.active[1], recorded("sglang_metrics.txt")) == 2
    assert read_number(sglang.waiting[0], recorded("sglang_loads.json")) == 1
    assert read_number(sglang.waiting[1], recorded("sglang_metrics.txt")) == 5
    assert sglang.health_generates
    assert sglang.health_floor >= 1.0


def test_tabbyapi_has_claims_and_no_gauge() -> None:
    """Its numbers are configuration; what it does can only be seen from outside."""
    tabby = engine_named("tabbyapi")
    shown = {reading.name: read(reading, recorded("tabbyapi_model.json")) for reading in tabby.configured[:2]}
    assert shown == {"max_batch_size": 4, "max_seq_len": 262144}
    assert tabby.active == tabby.busy == ()
    assert engine_named("exllamav3") is tabby


def test_llamaswap_counts_processes_not_requests() -> None:
    """Its list of running models is a claim about processes, and tells which models to warm again."""
    body = recorded("llamaswap_running.json")
    assert read_number(LLAMASWAP.configured[0], body) == 2
    assert loaded_models(json.loads(body)) == ("qwen",)
    assert warm_request("qwen").body["model"] == "qwen"
    assert loaded_models({}) == loaded_models({"running": "x"}) == ()


def test_ollama_shows_a_window_and_no_concurrency() -> None:
    """The loaded runner's context length is all there is."""
    ollama = engine_named("ollama")
    assert read_number(ollama.configured[0], recorded("ollama_ps.json")) == 4096
    assert ollama.active == ()


def test_finish_words_of_its_own_are_translated() -> None:
    """An engine's own finish reason becomes a word that says what it is; the usual ones stay."""
    assert engine_named("sglang").finish_word("abort") == "aborted"
    assert engine_named("ollama").finish_word("") == "missing"
    assert engine_named("vllm").finish_word("length") == "length"
    assert engine_named("vllm").finish_word(None) is None


def test_the_field_notes_server_can_be_described() -> None:
    """A server of one's own: active and busy are gauges, the limit is a claim."""
    engine = engine_of(
        {
            "kind": "openai",
            "health": "/health",
            "active": "/health#/active",
            "busy": "/health#/busy",
            "limit": "/health#/batch_limit",
        }
    )
    body = recorded("fieldnotes_health.json")
    assert (read_number(engine.active[0], body), read_number(engine.busy[0], body)) == (2, 1)
    assert (engine.configured[0].kind, read(engine.configured[0], body)) == (Kind.CONFIGURED, 4)
    assert "nobody has read" in engine.active[0].source
    assert (engine.health, engine.warm, engine.steps) == ("/health", "/health", None)


def test_counters_can_be_described() -> None:
    """Steps and tokens go together; a bare metric name is looked for at /metrics."""
    engine = engine_of({"steps": "my_steps_total", "tokens": "/stats#/tokens"})
    assert (engine.steps.steps.path, engine.steps.steps.metric) == ("/metrics", "my_steps_total")
    assert (engine.steps.tokens.path, engine.steps.tokens.pointer) == ("/stats", "/tokens")
    with pytest.raises(ValueError, match="go together"):
        engine_of({"steps": "my_steps_total"})


def test_a_table_builds_on_a_known_engine() -> None:
    """A described llama.cpp keeps what is known of llama.cpp and takes what is written."""
    engine = engine_of({"kind": "llama.cpp", "active": "/health#/active"})
    assert engine.active[0].path == "/health"
    assert engine.steps is engine_named("llama.cpp").steps


@pytest.mark.parametrize("text", ["/health", "#/active", "/health#active!", "", "/metrics#a b", "health#/active"])
def test_what_is_no_place_is_refused(text) -> None:
    """A place is a path with a pointer, a path with a metric, or a metric's name."""
    with pytest.raises(ValueError, match="nor the name of a metric"):
        place("x", text, Kind.MEASURED)


def test_unknown_names_and_keys_are_told_with_the_known_ones() -> None:
    """The message lists what there is."""
    with pytest.raises(KeyError, match=r"llama\.cpp"):
        engine_named("llamma")
    with pytest.raises(ValueError, match="health"):
        engine_of({"helth": "/x"})
    assert set(ALIASES.values()) <= set(ENGINES)

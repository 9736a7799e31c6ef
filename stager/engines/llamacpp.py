"""llama.cpp's own server (``llama-server``, and the same code inside xllamacpp)."""

from __future__ import annotations

from stager.engines.base import Engine, StepCounter, Tokenize
from stager.engines.reading import Kind, Reading

_METRICS = "/metrics"

PROCESSING = Reading(
    name="requests_processing",
    path=_METRICS,
    metric="llamacpp:requests_processing",
    kind=Kind.MEASURED,
    source="server-context.cpp:2479-2493: slots that are not idle, also those that are not in the current batch",
)
SLOTS_BUSY = Reading(
    name="slots_processing",
    path="/slots",
    each="/is_processing",
    kind=Kind.MEASURED,
    source="server-context.cpp:436-438: any state but idle",
)

LLAMACPP = Engine(
    name="llama.cpp",
    read_in="ggml-org/llama.cpp@0c1e57098",
    health="/health",
    warm="/health",
    active=(PROCESSING, SLOTS_BUSY),
    waiting=(
        Reading(
            name="requests_deferred",
            path=_METRICS,
            metric="llamacpp:requests_deferred",
            kind=Kind.MEASURED,
            source="server-context.cpp:2479-2493: length of the deferred queue",
        ),
    ),
    busy=(PROCESSING, SLOTS_BUSY),
    steps=StepCounter(
        tokens=Reading(
            name="tokens_predicted_total",
            path=_METRICS,
            metric="llamacpp:tokens_predicted_total",
            kind=Kind.MEASURED,
            source="server-task.cpp:1287-1291: added only when a slot is released",
        ),
        steps=Reading(
            name="n_decode_total",
            path=_METRICS,
            metric="llamacpp:n_decode_total",
            kind=Kind.MEASURED,
            source="server-context.cpp:4053: calls of llama_decode",
        ),
        includes_prompt=False,
        source="tokens are added when a slot is released, so both ends of the window must be idle; "
        "speculative decoding is not counted",
    ),
    configured=(
        Reading(
            name="total_slots",
            path="/props",
            pointer="/total_slots",
            kind=Kind.CONFIGURED,
            source="server-context.cpp:4595: copied from n_parallel",
        ),
        Reading(
            name="n_ctx",
            path="/props",
            pointer="/default_generation_settings/n_ctx",
            kind=Kind.COMPUTED,
            source="server-context.cpp:4008-4016: with unified KV every slot reports the whole pool",
        ),
    ),
    exact_length={"ignore_eos": True},
    uncached={"cache_prompt": False},
    cancel_grace=2.5,
    tokenize=Tokenize(path="/tokenize", text_key="content", pointer="/tokens", extra={"add_special": True}),
    quirks=(
        "/health is a constant once the model is loaded: it proves the HTTP thread only",
        "a scrape of /metrics resets the rate buckets, not the counters",
        "a disconnect is polled every second and takes effect after the current llama_decode",
        "that poll comes due only after a second without anybody's token (server-queue.cpp, recv_with_timeout)",
        "behind busy slots a queued request whose client left waits on and is given a slot (measured)",
        "a client that asked for no stream is not missed: its job runs to its own end (measured)",
        "an X-Conversation-Id header makes a request survive its client on purpose: never send it",
        "n_busy_slots_per_decode over-counts: it adds every processing slot per decode, in the batch or not",
    ),
)

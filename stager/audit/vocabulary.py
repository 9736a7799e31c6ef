"""The words an audit goes by: what counts as a lock, a generation, a capacity setting, a health field.

Sources: the engines' own sources (ExLlamaV3, vLLM, SGLang, LMDeploy, TabbyAPI, llama-cpp-python, mlx_lm).
"""

from __future__ import annotations

import re

LOCKS = frozenset({"Lock", "RLock", "Mutex", "FairLock"})
SEMAPHORES = frozenset({"Semaphore", "BoundedSemaphore", "CapacityLimiter"})
EXECUTORS = frozenset({"ThreadPoolExecutor", "ProcessPoolExecutor", "ThreadPool", "Pool"})
QUEUES = frozenset({"Queue", "SimpleQueue", "LifoQueue", "PriorityQueue", "JoinableQueue"})
LOCKISH = re.compile(r"(?:^|_)(?:r?lock|mutex|sema(?:phore)?)$", re.IGNORECASE)

#: Calls that stand for a whole generation, whatever they hang on.
_GENERATION = re.compile(
    r"^_?(?:a|stream_|async_|run_|do_)?generat(?:e|or|ion)?$|^_?(?:stream_)?generate_?(?:stream|text|tokens?|response|reply"
    r"|completion|chat|chat_completion|step|batch|async|sync|one|next|raw|internal|impl|window|until|with_\w+)$"
    r"|^_?(?:a|create_|stream_|async_)?(?:chat_)?completions?$|^_?create_(?:chat_)?completion\w*$|^stream_(?:chat|tokens)$"
    r"|^(?:run|do)_(?:inference|generation|model)$|^(?:llama|llm|model|engine)_(?:call|generate)$"
)
_NO_GENERATION = frozenset(
    {"generator", "generation", "_generator", "_generation", "completions", "completion", "_completions", "_completion"}
)
#: Calls that stand for work on the device only where they hang on an engine.
_STEP = frozenset(
    {"step", "iterate", "forward", "prefill", "infer", "inference", "predict", "chat", "complete", "execute_model"}
    | {"completion", "completions", "create"}
)
_ENGINE = re.compile(r"(?:^|[._])(?:generator|gen|engine|model|llm|llama|pipeline|runner|runtime|chat\.completions)$")
_ENGINE_ITSELF = frozenset({"llama", "llm", "model", "pipeline"})
#: The next handler behind a middleware; it returns when the headers are sent, not when the stream ends.
CALL_NEXT = "call_next"

BLOCKING = frozenset(
    {"time.sleep", "requests.get", "requests.post", "requests.request", "urllib.request.urlopen", "subprocess.run"}
    | {"subprocess.check_output", "subprocess.call", "subprocess.check_call", "torch.cuda.synchronize"}
)

_CAPACITY = re.compile(
    r"^(?:default_|autosplit_|effective_|engine_|server_)*"
    r"(?:max_batch(?:_size)?|batch_limit|batch_slots|max_num_(?:active_)?seqs|max_seqs|n_seq_max|max_running(?:_requests)?"
    r"|max_running_requests_\w+|(?:num|n|max)_parallel|parallel_slots|(?:num|n|total|max)_slots|max_concurren(?:t|cy)\w*"
    r"|(?:decode_|prompt_|request_)?concurrency(?:_limit)?|concurrencylimit|max_active(?:_jobs|_requests)?|max_jobs"
    r"|max_in_?flight(?:_requests)?|max_simultaneous\w*|num_concurrent\w*|ambs)$",
    re.IGNORECASE,
)
_CAPACITY_FLAG = re.compile(r"^(?:batch|batch_size|parallel|slots|np|bs|workers|num_workers)$")

CAPACITY_FIELD = re.compile(
    r"(?:^|_)(?:slots?|batch|parallel|concurren\w*|capacity|limit|max_\w*(?:seqs?|requests?|jobs?|batch\w*)|n_ctx"
    r"|context(?:_length|_size)?|ctx(?:_size)?|max_(?:model|seq)_len\w*|kv_\w+|cache_(?:size|usage)\w*)(?:_|$)",
    re.IGNORECASE,
)
HEALTH_FIELD = re.compile(
    r"(?:^|_)(?:ok|busy|status|state|healthy|health|alive|ready|active|running|pending|waiting|queue\w*|in_?flight"
    r"|jobs?|load|idle|processing|deferred|requests)(?:_|$)",
    re.IGNORECASE,
)
HEALTH_PATH = re.compile(
    r"/(?:health\w*|healthz|livez|readyz|ping|props|slots|status|stats|info|server_info|get_server_info|get_load|loads?"
    r"|v\d/loads?|metrics|ready|live|running|ps|queue|state|model|capacity|is_sleeping)/?(?:\{[^}]*\})?$",
    re.IGNORECASE,
)

METRICS = frozenset({"Gauge", "Counter", "Histogram", "Summary", "Info", "Enum"})
_SETTERS = {"set", "inc", "dec", "observe", "info", "state", "set_function", "set_to_current_time", "labels"}
METRIC_SETTERS = frozenset(_SETTERS | {"time", "count_exceptions", "track_inprogress"})

#: Names of objects that hold settings.
SETTINGS = re.compile(
    r"(?:^|_)(?:args?|opts?|options|config|cfg|conf|settings?|params|environ|env|flags|hparams|namespace|server_args)$",
    re.IGNORECASE,
)


def is_capacity(name: str) -> bool:
    """Say whether a name sets how many sequences run together."""
    return _CAPACITY.match(name.lstrip("_")) is not None


def is_capacity_flag(name: str) -> bool:
    """Say whether a command-line option sets it; options use shorter words than code does."""
    return is_capacity(name) or _CAPACITY_FLAG.match(name) is not None


def is_generation(name: str) -> bool:
    """Say whether a call of this dotted name is itself a generation or an engine's step."""
    base, _, last = name.rpartition(".")
    if last == CALL_NEXT:
        return True
    if last not in _NO_GENERATION and _GENERATION.match(last):
        return True
    if last in _STEP and _ENGINE.search(base.lower()):
        return True
    return last in _ENGINE_ITSELF and base in {"", "self"}


def is_step(name: str) -> bool:
    """Say whether a generation call is one step of an engine, which may serve many requests at once."""
    last = name.rpartition(".")[2]
    return last in {"step", "iterate", "forward", "execute_model", "decode", "prefill"}

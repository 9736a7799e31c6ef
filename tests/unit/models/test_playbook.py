"""The playbook: the contract's example, its defaults, and every cross-check with the place it complains about."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import yaml

from stager.errors import InvalidFile
from stager.models.playbook import CommandUnit, DescribedEngine, Playbook
from stager.models.source import read

SMALL: dict[str, Any] = {
    "stager": 1,
    "name": "small",
    "host": {"address": "local"},
    "candidate": {"launch": ["/opt/engine/serve", "--port", "{port}"]},
    "production": {"manager": "systemd"},
}

CONTRACT = """
stager: 1
name: exl3-batch4
host: {address: gpu1, user: ops, port: 22, jump: null, become: sudo}
candidate:
  release: ./server
  models: [/srv/models/m.gguf]
  prepare: [[python3, -m, venv, .venv]]
  launch: [./.venv/bin/python, serve.py, --port, "{port}"]
  env: {CUDA_VISIBLE_DEVICES: "0"}
  secrets: [HF_TOKEN]
  user: engine
  engine: llama.cpp
  port: 18080
  bind: 127.0.0.1
  claims: {slots: 4, context: 262144}
  ready: {timeout: 10m}
  stop: {grace: 30s}
  limits: {memory: 20GiB, device_memory: 22GiB, runtime: 4h}
production:
  manager: systemd
  services: [exl3.service, llama-swap.service]
  watchdogs: [llama-watchdog.timer]
  ports: [8080]
  drain: {gauge: "http://127.0.0.1:8080/health#/busy", timeout: 2m}
  healthy: {url: "http://127.0.0.1:8080/v1/chat/completions", model: qwen, n: 3, of: 3, within: 5m}
  warm: [qwen]
markers:
  raise: [maintenance]
  respect: [/run/llama/*.maintenance]
  on_foreign: hold
guard: {lease: 90s, deadline: 5h, notify: [/usr/local/bin/page, "{message}"]}
probes:
  overlap: {streams: 4, max_tokens: 200}
  cancel: {}
  needle: {prompt_tokens: 240000, depths: [0.05, 0.5, 0.95]}
policy: ./policy.yaml
"""


def changed(path: str, value: object, base: dict[str, Any] = SMALL) -> str:
    """Return a playbook's text with one key set (or, with `...`, removed)."""
    data = copy.deepcopy(base)
    *above, last = path.split("/")
    here = data
    for part in above:
        here = here.setdefault(part, {})
    if value is ...:
        del here[last]
    else:
        here[last] = value
    return json.dumps(data)  # JSON is YAML


def complaints(text: str) -> list[tuple[str, str, str]]:
    """Return (path, expected, found) of each complaint about a playbook."""
    with pytest.raises(InvalidFile) as caught:
        read(text, "p.yaml", Playbook)
    return [(one["path"], one["expected"], one["found"]) for one in caught.value.details["complaints"]]


def test_the_example_of_the_contract_loads() -> None:
    """Every key of the documented playbook is known, with the documented meaning."""
    playbook = read(CONTRACT, "p.yaml", Playbook)
    assert playbook.candidate.limits.device_memory == 22 * 2**30
    assert playbook.candidate.ready.timeout == 600.0
    assert playbook.markers.raise_ == ("maintenance",)
    assert playbook.guard.notify == ("/usr/local/bin/page", "{message}")
    assert playbook.probes["needle"]["depths"] == [0.05, 0.5, 0.95]


def test_a_small_playbook_has_safe_defaults() -> None:
    """Loopback, a free port, nobody's user, a lease of 90 s, a deadline of 5 h, foreign markers hold production."""
    playbook = read(json.dumps(SMALL), "p.yaml", Playbook)
    assert playbook.candidate.bind == "127.0.0.1"
    assert playbook.candidate.port == "auto"
    assert playbook.candidate.user is None
    assert playbook.candidate.engine == "openai"
    assert (playbook.guard.lease, playbook.guard.deadline) == (90.0, 18000.0)
    assert playbook.markers.on_foreign == "hold"
    assert playbook.host.become == "none"
    assert playbook.production.healthy is None


def test_a_document_loads_again_as_the_same_playbook() -> None:
    """The journal's snapshot is a playbook, with every quantity in its written form."""
    playbook = read(CONTRACT, "p.yaml", Playbook)
    document = playbook.document()
    assert document["markers"]["raise"] == ["maintenance"]
    assert document["guard"]["deadline"] == "5h"
    assert Playbook.model_validate_json(json.dumps(document)) == playbook


def test_an_engine_may_be_described() -> None:
    """The field notes' own server is written down as a table."""
    engine = {"kind": "openai", "health": "/health", "active": "/health#/active", "steps": "steps_total"}
    playbook = read(changed("candidate/engine", engine), "p", Playbook)
    assert playbook.candidate.engine == DescribedEngine(active="/health#/active", steps="steps_total")


def test_command_units_are_tables() -> None:
    """Under the `command` manager a service says how it is started, stopped and looked at."""
    unit = {"name": "llama", "start": ["/opt/start"], "stop": ["/opt/stop"], "status": ["/opt/status"]}
    playbook = read(changed("production", {"manager": "command", "services": [unit]}), "p", Playbook)
    (service,) = playbook.production.services
    assert isinstance(service, CommandUnit)
    assert service.status == ("/opt/status",)


@pytest.mark.parametrize(
    ("path", "value", "where", "expected"),
    [
        ("stager", 2, "stager", "1, the version of this format"),
        ("stager", True, "stager", "1, the version of this format"),
        ("name", "a b", "name", "a name of letters"),
        ("name", "../x", "name", "a name of letters"),
        ("host/address", "ops@gpu1", "host/address", "user and port have their own keys"),
        ("host/address", "-oProxyCommand=x", "host/address", "a host name"),
        ("host/port", 0, "host/port", "a port from 1 to 65535"),
        ("host/become", "root", "host/become", "none or sudo"),
        ("host/state", "state", "host/state", "an absolute path"),
        ("candidate/models", ["m.gguf"], "candidate/models/0", "an absolute path"),
        ("candidate/models", ["/srv/../etc/x"], "candidate/models/0", "without . or .."),
        ("candidate/launch", [], "candidate/launch", "a command as a list of words"),
        ("candidate/launch", "serve --port {port}", "candidate/launch", "a command as a list of words"),
        ("candidate/launch", ["/x", "{prot}", "{port}"], "candidate/launch/1", "one of {bind}, {home}, {port}"),
        (
            "candidate/launch",
            ["./x", "{port}"],
            "candidate/launch/0",
            "an absolute path, because there is no `release`",
        ),
        ("candidate/launch", ["/x"], "candidate/launch", "{port} somewhere"),
        ("candidate/prepare", [["true"]], "candidate/prepare", "a `release` to prepare"),
        ("candidate/env", {"A B": "x"}, "candidate/env/A B", "the name of an environment variable"),
        ("candidate/env", {"A": 1}, "candidate/env/A", "text"),
        ("candidate/env", {"A": "{model}"}, "candidate/env/A", "one of {bind}"),
        ("candidate/secrets", ["TOKEN=hunter2"], "candidate/secrets/0", "never its value"),
        ("candidate/user", "a b", "candidate/user", "a name of letters"),
        ("candidate/engine", "Llama", "candidate/engine", "the name of an engine"),
        ("candidate/engine", {"active": "health"}, None, ""),
        ("candidate/engine", {"active": "/health"}, "candidate/engine/active", "a URL path with a JSON pointer"),
        ("candidate/port", 99999, "candidate/port", "a port from 1 to 65535, or auto"),
        ("candidate/port", "any", "candidate/port", "a port from 1 to 65535, or auto"),
        ("candidate/bind", "*", "candidate/bind", "an IP address"),
        ("candidate/bind", "localhost", "candidate/bind", "an IP address"),
        ("candidate/claims", {"slots": 0}, "candidate/claims/slots", "a whole number of 1 or more"),
        ("candidate/limits", {"memory": "20G"}, "candidate/limits/memory", "GiB, GB"),
        ("candidate/limits", {"runtime": "0s"}, "candidate/limits/runtime", "a value above 0"),
        ("candidate/ready", {"timeout": "5h"}, "candidate/ready/timeout", "at most limits/runtime (4h)"),
        ("production/manager", "upstart", "production/manager", "systemd"),
        ("production/services", ["llama"], "production/services/0", "a unit with its ending"),
        ("production/services", ["-x.service"], "production/services/0", "a unit with its ending"),
        ("production/services", [{"name": "x"}], "production/services/0/start", "a command as a list of words"),
        ("production/ports", [0], "production/ports/0", "a port from 1 to 65535"),
        ("production/drain", {}, "production/drain", "`gauge`, or `connections: true`"),
        ("production/drain", {"connections": True}, "production/drain/connections", "`ports` to count"),
        ("production/warm", ["big"], "production/warm", "`healthy`, whose URL"),
        ("production/drain", {"gauge": "http://127.0.0.1:8/health"}, "production/drain/gauge", "#/json/pointer"),
        ("production/healthy", {"url": "127.0.0.1:8080"}, "production/healthy/url", "a URL as seen on the host"),
        ("production/healthy", {"url": "http://u:p@h/"}, "production/healthy/url", "without a user or password"),
        ("production/healthy", {"url": "http://h:8080/", "n": 5}, "production/healthy/n", "at most `of` (3)"),
        ("markers", {"respect": ["run/*"]}, "markers/respect/0", "an absolute path"),
        ("markers", {"raise": ["a", "a"]}, "markers/raise/1", "each marker once"),
        ("markers", {"raise_": ["a"]}, "markers/raise_", "one of raise, respect, on_foreign"),
        ("markers", {"on_foreign": "ignore"}, "markers/on_foreign", "hold or restore"),
        ("guard", {"lease": "1s"}, "guard/lease", "2s or more"),
        ("guard", {"deadline": "30m"}, "guard/deadline", "at least 4h30s"),
        ("guard", {"notify": ["bin/page"]}, "guard/notify", "an absolute path or a bare name"),
        ("guard", {"notify": ["page", "{text}"]}, "guard/notify/1", "{message} or {run_id}"),
        ("probes", {"overlap": None}, "probes/overlap", "a mapping"),
        ("policy", "", "policy", "a policy file"),
        ("policy", " ", "policy", "a policy file"),
        ("policy", "a\x00b", "policy", "a policy file"),
        ("policy", "\x00", "policy", "a policy file"),
        ("promote", {}, "promote", "one of stager, name, host"),
    ],
)
def test_each_mistake_is_named_where_it_stands(path: str, value: object, where: str | None, expected: str) -> None:
    """One mistake is one complaint, at its own key path, with what was expected there."""
    if where is None:  # the name of a metric: no mistake
        read(changed(path, value), "p", Playbook)
        return
    found = complaints(changed(path, value))
    assert [place for place, _, _ in found if place == where], found
    assert any(expected in words for place, words, _ in found if place == where), found


def test_a_candidate_on_productions_port_is_refused() -> None:
    """By the declared ports, and by the URLs that lead to production."""
    data = yaml.safe_load(CONTRACT)
    data["candidate"]["port"] = 8080
    assert {place for place, _, _ in complaints(json.dumps(data))} == {
        "candidate/port",
        "production/drain/gauge",
        "production/healthy/url",
    }


def test_a_fixed_port_may_reach_the_engine_another_way() -> None:
    """Without {port}, a sentence says how; a port chosen at run time allows no such way."""
    data = copy.deepcopy(SMALL)
    data["candidate"] = {"launch": ["/x"], "port": 18080}
    assert complaints(json.dumps(data))[0][1] == "{port} here or in `env`, or a sentence in `port_reaches`"
    data["candidate"]["port_reaches"] = "config.yml names it"
    assert read(json.dumps(data), "p", Playbook).candidate.port_reaches == "config.yml names it"
    data["candidate"]["port"] = "auto"
    assert complaints(json.dumps(data))[0][1].startswith("{port} somewhere")


def test_the_port_may_travel_in_the_environment() -> None:
    """{port} in `env` is enough."""
    data = copy.deepcopy(SMALL)
    data["candidate"] = {"launch": ["/x"], "env": {"PORT": "{port}"}}
    assert read(json.dumps(data), "p", Playbook).candidate.env == {"PORT": "{port}"}


def test_one_unit_has_one_place() -> None:
    """A unit named twice, also as service and watchdog, is refused where it stands the second time."""
    data = copy.deepcopy(SMALL)
    data["production"] |= {"services": ["a.service", "b.service"], "watchdogs": ["a.service"]}
    assert complaints(json.dumps(data)) == [("production/watchdogs/0", "each unit once", '"a.service" a second time')]


def test_a_name_belongs_to_env_or_to_secrets() -> None:
    """A variable in both would be overwritten by one of them."""
    data = copy.deepcopy(SMALL)
    data["candidate"] |= {"env": {"TOKEN": "x"}, "secrets": ["TOKEN"]}
    assert complaints(json.dumps(data)) == [("candidate/env/TOKEN", "TOKEN in `env` or in `secrets`", "it in both")]


def test_the_deadline_covers_every_time_of_the_run() -> None:
    """Drain, runtime, grace and healthy together fit under the deadline to the second."""
    playbook = read(CONTRACT, "p", Playbook)
    assert playbook.needed_seconds() == 120 + 14400 + 30 + 300
    data = yaml.safe_load(CONTRACT)
    data["guard"]["deadline"] = "4h7m30s"
    assert read(json.dumps(data), "p", Playbook).guard.deadline == playbook.needed_seconds()
    data["guard"]["deadline"] = "4h7m29s"
    assert complaints(json.dumps(data))[0][0] == "guard/deadline"


@pytest.mark.parametrize(
    ("added", "key", "line"),
    [
        ("candidate:\n  limits: {runtime: 10h}", "guard/deadline", "  limits"),
        ("guard: {lease: 30s}\ncandidate:\n  limits: {runtime: 10h}", "guard/deadline", "  limits"),
        ("guard: {lease: 10h}", "guard/deadline", "guard"),
        ("candidate:\n  limits: {runtime: 5m}", "candidate/ready/timeout", "  limits"),
    ],
)
def test_a_default_that_does_not_fit_is_told_where_the_file_speaks_against_it(added: str, key: str, line: str) -> None:
    """No complaint about a key that is not written points at the file's first line: the written value is shown."""
    text = yaml.safe_dump({key: part for key, part in SMALL.items() if key != "candidate"})
    launch = f"  launch: {json.dumps(SMALL['candidate']['launch'])}"
    text += added + f"\n{launch}\n" if "candidate" in added else f"{added}\ncandidate:\n{launch}\n"
    with pytest.raises(InvalidFile) as caught:
        read(text, "p.yaml", Playbook)
    (told,) = [one for one in caught.value.details["complaints"] if one["path"] == key]
    assert text.splitlines()[told["line"] - 1].startswith(line)
    assert told["hint"] == "this is its default: the key is not written"


def test_a_hold_is_no_longer_than_deadline_and_runtime() -> None:
    """Whichever ends first bounds --hold."""
    assert read(CONTRACT, "p", Playbook).longest_hold() == 14400.0


def test_a_secret_is_never_repeated() -> None:
    """Values that may be secrets do not appear in any complaint, nor in the JSON of one."""
    data = copy.deepcopy(SMALL)
    data["candidate"] |= {"secrets": ["T=hunter2"], "env": {"A": 4711, "B": ["hunter3"]}}
    data["production"]["healthy"] = {"url": "http://u:hunter4@h/", "n": 1}
    with pytest.raises(InvalidFile) as caught:
        read(json.dumps(data), "p", Playbook)
    told = str(caught.value) + json.dumps(caught.value.document())
    assert not [secret for secret in ("hunter", "4711") if secret in told]


def test_a_playbook_does_not_change() -> None:
    """Models are values."""
    playbook = read(CONTRACT, "p", Playbook)
    with pytest.raises(ValueError, match="frozen"):
        playbook.candidate.port = 1  # type: ignore[misc]

"""The demo's playbook and marker kind, as text with comments: an example to read, and what really runs."""

from __future__ import annotations

import json

from stager.demo.place import Place
from stager.models.playbook import HostSpec

#: Slots of the candidate, and streams of the probe; production has one.
SLOTS = 4
#: Tokens of each stream: enough for the probe's least, few enough for a slow and busy machine.
TOKENS = 88
#: Words of each prompt: a short one, so that reading the prompts is little against generating.
WORDS = 8


def marker_text(place: Place) -> str:
    """The kind of marker that the demo's watchdog obeys."""
    return f"""\
path: {json.dumps(_literal(str(place.marker)))}
means: The engines of this demo are worked on, so leave them stopped.
obeyed_by: [watchdog]
"""


def playbook_text(place: Place, host: HostSpec, user: str | None) -> str:
    """The playbook. ``user`` is the candidate's account, None where the default will do."""
    url = f"http://127.0.0.1:{place.production_port}"
    word = json.dumps
    launch = [*map(_literal, place.serve()), "--host", "{bind}", "--port", "{port}", "--slots", str(SLOTS)]
    account = f"\n  user: {user}" if user else ""
    return f"""\
# Written by `stager demo`. Production is one engine with one slot; the candidate is the same engine with four.
stager: 1
name: demo
host: {word(host.model_dump(exclude_none=True, exclude_defaults=True))}

candidate:
  release: ./release
  models: [{word(str(place.model))}]
  launch: {word(launch)}{account}
  engine: llama.cpp
  model: smollm2
  port: auto
  claims: {{slots: {SLOTS}, context: 1024}}
  ready: {{timeout: 2m}}
  stop: {{grace: 10s}}
  limits: {{runtime: 10m}}

production:
  manager: command        # no systemd is needed: three commands a service, started, stopped and asked
  services:
    - {_unit(place, "engine")}
  watchdogs:
    - {_unit(place, "watchdog")}
  ports: [{place.production_port}]
  drain: {{gauge: "{url}/metrics#llamacpp:requests_processing", timeout: 30s}}
  healthy: {{url: "{url}/v1/chat/completions", model: smollm2, within: 2m}}

markers: {{raise: [maintenance]}}
guard: {{lease: 30s, deadline: 20m}}

probes:
  overlap: {{streams: {SLOTS}, max_tokens: {TOKENS}, prompt_words: {WORDS}}}

policy: ./policy.yaml
"""


def policy_text() -> str:
    """The policy: the two claims that the demo measures, at the shipped policy's bounds, from one launch."""
    return f"""\
# Written by `stager demo`. It asks for what the demo measures and nothing else; the shipped policy asks for more
# (health while a long prompt is read, cancelled requests), and so should yours.
stager: 1
name: demo
claims:
  - probe: overlap
    claim: generating
    min_samples: 4
    parameters: {{streams: {{at_least: {SLOTS}}}}}
    thresholds: {{generating_at_once: {{at_least: parameters/streams}}}}
  - {{probe: overlap, claim: executing, min_samples: 100, parameters: {{streams: {{at_least: {SLOTS}}}}}}}
together:
  - [overlap/generating, overlap/executing]
max_age: 1d
tolerate: {{failed: 0, error: 0, aborted: 0, inconclusive: 0}}
"""


def _literal(text: str) -> str:
    """A text as it is written where braces mean something."""
    return text.replace("{", "{{").replace("}", "}}")


def _unit(place: Place, name: str) -> str:
    commands = {verb: place.ask(verb, name) for verb in ("start", "stop", "status")}
    return json.dumps({"name": name, **commands})

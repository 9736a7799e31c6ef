"""A first playbook for a host, from what was seen there: it loads, and every guess in it says that it is one. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from stager.models.playbook import HostSpec

Seen = Mapping[str, Any]

#: Words in a server's argv or unit, and the engine they mean; the first that is found counts.
ENGINES = (
    ("llama-swap", "llama-swap"),
    ("llama-server", "llama.cpp"),
    ("llama_cpp.server", "llama-cpp-python"),
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("tabby", "tabbyapi"),
    ("ollama", "ollama"),
)
PORT_FLAGS = ("--port", "-p", "--listen-port")
HOST_FLAGS = ("--host", "--bind", "--listen", "--address")
NOT_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def draft(spec: HostSpec, seen: Seen) -> str:
    """Return a playbook's text.

    Args:
        spec: how the host is reached.
        seen: the host's answer to ``scout``.
    """
    served: Sequence[Seen] = [entry for entry in seen["listeners"] if not entry["container"]]
    first = served[0] if served else None
    host = seen["host"]
    lines = [
        f"# What `stager init` saw on {spec.address}: {_plain(host['hostname'])}, Linux {_plain(host['kernel'])}.",
        "# Lines marked `guess` were not told by anybody: look at each before the first `stager doctor`.",
        *_cards(seen["host"]["gpus"]),
        "",
        "stager: 1",
        f"name: {_name(seen['host']['hostname'])}",
        "",
        *_host(spec),
        "",
        *_candidate(first),
        "",
        *_production(seen, served),
        "",
        *_markers(seen["watchers"]),
        "",
        "guard: {lease: 90s, deadline: 5h}   # how long the host waits for a sign of life; the run's hard end",
        "",
        "probes:",
        "  overlap: {streams: 4}             # guess: as many as the candidate is meant to serve at once",
        "",
    ]
    return "\n".join(lines)


def _cards(cards: Sequence[Seen]) -> list[str]:
    rows = [_plain(f"# GPU {card['index']}: {card['name']}, {card['memory.total']} MiB") for card in cards]
    return rows or ["# No GPU was seen (nvidia-smi is not there, or told nothing)."]


def _host(spec: HostSpec) -> list[str]:
    told = spec.model_dump(exclude_defaults=True)
    return ["host:", *(f"  {key}: {_text(value)}" for key, value in told.items())]


def _candidate(first: Seen | None) -> list[str]:
    words = launch_of(first) if first else ["/path/to/engine", "--port", "{port}"]
    why = "production's own command on another port; put your build's here" if first else "nothing was seen to go by"
    lines = [
        "candidate:",
        "  # release: ./server             # a folder beside this file that is shipped; `launch` may start inside it",
        "  # models: [/srv/models/m.gguf]  # files on the host, digested there",
        f"  launch: {_flow(words)}   # guess: {why}",
    ]
    if not any("{port}" in word for word in words):
        lines.append("  port_reaches: its own configuration names the port   # guess: the command does not mention one")
    lines.append(
        f"  engine: {engine_guess(first)}   # guess: by its command" if first else "  engine: openai   # guess"
    )
    if first and first["models"]:
        lines.append(f"  model: {_text(first['models'][0])}   # guess: the first that production lists")
    return [
        *lines,
        "  port: auto                      # a free one; it is bound to loopback only",
        "  # claims: {slots: 4, context: 32768}   # what it is configured to accept; recorded, never believed",
        "  # limits: {device_memory: 22GiB, runtime: 4h}",
    ]


def _production(seen: Seen, served: Sequence[Seen]) -> list[str]:
    lines = ["production:", *(_units(served) if seen["host"]["systemd"] else _commands(served))]
    for entry in seen["listeners"]:
        who = (
            entry["unit"]
            or (entry["container"] and f"container {entry['container']}")
            or f"pid {entry['pid']}, no unit"
        )
        lines.append(f"  #   port {entry['port']}: {who}: {' '.join(entry['argv'])[:150]}")
    names = [watcher["name"] for watcher in seen["watchers"]]
    lines.append(f"  watchdogs: {_flow(names)}   # guess: what they start mentions a service above")
    lines += [_comment(f"{watcher['name']} mentions {', '.join(watcher['mentions'])}") for watcher in seen["watchers"]]
    lines.append(f"  ports: [{', '.join(str(entry['port']) for entry in served)}]   # guess")
    lines.append("  # drain: {connections: true, timeout: 2m}   # wait until nobody is served before the stop")
    answering = next((entry for entry in served if entry["models"]), None)
    url = f"http://127.0.0.1:{answering['port']}/v1/chat/completions" if answering else ""
    model = f", model: {_text(answering['models'][0])}" if answering else ""
    healthy = f"healthy: {{url: {_text(url)}{model}, n: 3, of: 3, within: 5m}}"
    lines.append(f"  {healthy}   # guess: it lists this model" if answering else "  # healthy: {url: ..., model: ...}")
    return lines


def _units(served: Sequence[Seen]) -> list[str]:
    user = bool(served) and all(entry["user_unit"] for entry in served)
    units = list(dict.fromkeys(entry["unit"] for entry in served if entry["unit"] and entry["user_unit"] == user))
    return [
        f"  manager: {'systemd-user' if user else 'systemd'}   # guess",
        f"  services: {_flow(units)}   # guess: they listen on ports of inference servers",
    ]


def _commands(served: Sequence[Seen]) -> list[str]:
    """Where systemd does not run the host nothing seen tells how a service is turned off and on again."""
    example = "{name: engine, start: [/path/to/start], stop: [/path/to/stop], status: [/path/to/status]}"
    return [
        "  manager: command   # guess: systemd does not run this host; supervisord, podman and docker are known too",
        "  services: []   # how a service is turned cannot be seen from here; name each in `services`, such as",
        f"  #   - {example}",
    ]


def _markers(watchers: Sequence[Seen]) -> list[str]:
    paths = sorted({path for watcher in watchers for path in watcher["obeys"]})
    lines = ["markers:"]
    if paths:
        lines += [
            "  # A watchdog looks for these before it acts. To raise one, declare it in markers/NAME.yaml (path,",
            "  # means, obeyed_by) beside this file, and name it here: raise: [NAME]",
        ]
    return [*lines, f"  respect: {_flow(paths)}   # guess: if one is there and not ours, no run begins"]


def launch_of(entry: Seen) -> list[str]:
    """Production's command with the port and address left open; relative words as they resolve where it runs."""
    words, found = list(entry["argv"]), []
    for index, word in enumerate(words):
        flag, equals, value = word.partition("=")
        before = words[index - 1] if index else ""
        if before in HOST_FLAGS:
            found.append("{bind}")
        elif before in PORT_FLAGS and word == str(entry["port"]):
            found.append("{port}")
        elif equals and flag in PORT_FLAGS and value == str(entry["port"]):
            found.append(f"{flag}={{port}}")
        elif equals and flag in HOST_FLAGS:
            found.append(f"{flag}={{bind}}")
        else:
            found.append(_literal(word))
    program = found[0] if found else ""
    if not program.startswith("/"):
        found[:1] = [_literal(entry["exe"] or "/path/to/engine")]
    if len(found) > 1 and found[1].endswith(".py") and not found[1].startswith("/") and entry["cwd"]:
        found[1] = f"{entry['cwd'].rstrip('/')}/{found[1]}"
    return found


def engine_guess(entry: Seen) -> str:
    """The engine that a listener's command and unit point to."""
    text = " ".join([*entry["argv"], entry["unit"]]).lower()
    return next((engine for word, engine in ENGINES if word in text), "openai")


def _literal(word: str) -> str:
    """A word that is meant as it stands, whatever braces it holds."""
    return re.sub(r"\{([a-z_]+)\}", r"{{\1}}", word)


def _name(hostname: str) -> str:
    return NOT_A_NAME.sub("-", hostname).strip("-.")[:50] or "first"


def _plain(text: str) -> str:
    """Text of the host on one line: it must not end the comment it stands in."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _comment(text: str) -> str:
    return f"  #   {_plain(text)}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _flow(words: Sequence[str]) -> str:
    return "[" + ", ".join(_text(word) for word in words) + "]"

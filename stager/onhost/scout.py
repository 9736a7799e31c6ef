"""A first look at a host that no playbook describes yet: who serves a model, who watches over it. Nothing is changed.

Everything here is for a person to confirm. Words that look like secrets do not leave the host.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import Any, Dict, List, Optional, Set

from . import answers, booted, facts, ports, systemd
from .channel import Args, Channel
from .units import WATCHING

#: In an argv or a unit's name they point to an inference server.
WORDS = re.compile(
    r"llama|vllm|sglang|exl[23]|exllama|tabby|ollama|kobold|aphrodite|lmdeploy|text-generation|triton|litellm|gguf|mlc"
    r"|openai|inference",
    re.IGNORECASE,
)
#: Ports such servers choose by themselves; a listener there is asked for its models, others are not spoken to.
USUAL = (1234, 2242, 4000, 5000, 5001, 8000, 8001, 8080, 8081, 9000, 11434, 23333, 30000)
SECRET = re.compile(r"(key|token|secret|passw|credential)", re.IGNORECASE)
HIDDEN = "HIDDEN"
MARKER = re.compile(r"(?:-[ef]\s+|ConditionPathExists=!)\"?'?(/[\w./-]+)")
SERVICE = re.compile(r"/([^/]+\.service)(?:/|$)")
CONTAINER = re.compile(r"(?:docker|libpod)-([0-9a-f]{12})[0-9a-f]*\.scope")
SCRIPT = 1 << 16  # bytes of a script that are read


def scout(channel: Channel, args: Args) -> Any:
    """Listeners that look like inference servers with their units, and what may start those again."""
    found = [listener for port in listening_ports() for listener in looked_at(port)]
    names = sorted({entry["unit"] for entry in found if entry["unit"]})
    return {"host": facts.host(), "listeners": found, "watchers": watchers(names, [entry["port"] for entry in found])}


def listening_ports() -> List[int]:
    """Every port somebody listens on."""
    return sorted({port for port, _, state, _ in ports.sockets() if state == ports.LISTEN})


def looked_at(port: int) -> List[Dict[str, Any]]:
    """One entry for the listener on a port if it looks like an inference server; nothing otherwise."""
    owners = [owner for owner in ports.owners(port) if owner["pid"]]
    if not owners:
        return []
    pid = int(owners[0]["pid"])
    words, place = argv(pid), placed(pid)
    named = bool(WORDS.search(" ".join([*words, place["unit"]])))
    if not named and port not in USUAL:
        return []
    models, why = asked_for_models(port)
    if not named and models is None:
        return []
    return [
        dict(
            place,
            port=port,
            pid=pid,
            argv=hidden(words),
            exe=link("/proc/%d/exe" % pid),
            cwd=link("/proc/%d/cwd" % pid),
            wide=ports.any_address(port),
            models=models or [],
            why=why,
        )
    ]


def argv(pid: int) -> List[str]:
    """A process's words."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return [word.decode("utf-8", "replace") for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def hidden(words: List[str]) -> List[str]:
    """The words without what follows a flag that names a secret."""
    found: List[str] = []
    for index, word in enumerate(words):
        flag, equals, _ = word.partition("=")
        after = words[index - 1] if index else ""
        if after.startswith("-") and "=" not in after and SECRET.search(after):
            found.append(HIDDEN)
        elif equals and SECRET.search(flag):
            found.append(flag + "=" + HIDDEN)
        else:
            found.append(word)
    return found


def placed(pid: int) -> Dict[str, Any]:
    """The unit or container that a process belongs to, by its control group."""
    try:
        with open("/proc/%d/cgroup" % pid) as file:
            text = file.read()
    except OSError:
        text = ""
    container = CONTAINER.search(text)
    units = [name for line in text.splitlines() for name in SERVICE.findall(line) if not name.startswith("user@")]
    return {
        "unit": units[-1] if units and not container else "",
        "user_unit": "/user@" in text and bool(units),
        "container": container.group(1) if container else "",
    }


def link(path: str) -> str:
    """Where a link leads; empty where we may not look."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def asked_for_models(port: int) -> "tuple[Optional[List[str]], str]":
    """The model names a server lists at ``/v1/models``; None with the reason where it lists none."""
    try:
        document = json.loads(answers.fetch("http://127.0.0.1:%d/v1/models" % port, timeout=2.0))
        return [str(entry["id"]) for entry in document["data"]][:50], ""
    except (OSError, ValueError, LookupError, TypeError) as error:
        return None, str(error)[:200]


def watchers(names: List[str], of_ports: List[int]) -> List[Dict[str, Any]]:
    """Active timers and the like whose service mentions one of the units, or one of the ports on this host."""
    if not booted.is_pid_one() or not names:
        return []
    manager = systemd.Systemd()
    found = []
    for name, unit in sorted(manager.units([], everything=True).items()):
        if not name.endswith(WATCHING) or unit.get("ActiveState") != "active":
            continue
        triggered = unit.get("Triggers", "").split()
        # Asked for by name: between two runs a one-shot service is not loaded, so not among the loaded ones.
        text = "\n".join(map(unit_text, manager.units(triggered).values()))
        mentions = sorted(set(triggered) & set(names) | mentioned(text, names, of_ports))
        if mentions:
            found.append({"name": name, "mentions": mentions, "obeys": sorted(set(MARKER.findall(text)))})
    return found


def unit_text(unit: Dict[str, str]) -> str:
    """A unit file's text, with that of the scripts it starts."""
    text = head(unit.get("FragmentPath", ""))
    for path in set(re.findall(r"(?<![\w./])/[\w./-]+", text)):
        body = head(path)
        if body.startswith("#!"):
            text += "\n" + body
    return text


def head(path: str) -> str:
    """The beginning of a regular file; empty where there is none to read."""
    with contextlib.suppress(OSError):
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read(SCRIPT)
    return ""


def mentioned(text: str, names: List[str], of_ports: List[int]) -> Set[str]:
    """Which units (with or without their ending) and ports of this host a text mentions."""
    found = {name for name in names if re.search(r"(?<![\w.-])%s(?![\w-])" % re.escape(name[: -len(".service")]), text)}
    return found | {
        "port %d" % port for port in of_ports if re.search(r"(?:localhost|127\.0\.0\.1|\[::1\]):%d\b" % port, text)
    }

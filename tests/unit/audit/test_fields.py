"""What sets each field an endpoint returns, and whether it can be untrue."""

from __future__ import annotations

import pytest

MORE = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--never-read", type=int)
    parser.add_argument("--max-batch-size", type=int, default=8)
    args = parser.parse_args()
    engine = Engine(max_batch_size=args.max_batch_size)
    """

SERVER = """
    import argparse, asyncio
    from aiohttp import web
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-limit", type=int, default=4)
    args = parser.parse_args()
    gen_lock = asyncio.Lock()
    class State:
        def __init__(self, model, limit):
            self.model = model
            self.busy = False
            self.active = 0
            self.running = 0
            self.jobs = {}
            self.limit = limit
            self.pages = model.count() // 4
        async def chat(self, request):
            self.active += 1
            try:
                async with gen_lock:
                    self.running += 1
                    self.busy = True
                    return web.json_response(await self.model.generate("x"))
            finally:
                self.active -= 1
        async def health(self, request):
            return web.json_response({
                "ok": True,
                "busy": self.busy,
                "active": self.active,
                "running": self.running,
                "jobs": len(self.jobs),
                "batch_limit": args.batch_limit,
                "limit": self.limit,
                "pages": self.pages,
                "odd": somewhere.odd,
            })
    app.router.add_get("/health", State(None, 4).health)
    """


@pytest.fixture
def health(audited):
    """The fields of the server above, by name."""
    return {field.name: field for field in audited({"serve.py": SERVER}).fields}


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("ok", "constant", "True"),
        ("busy", "measured", "self.busy = True"),
        ("active", "measured", "self.active += 1"),
        ("jobs", "measured", "len(self.jobs)"),
        ("batch_limit", "configured", "--batch-limit"),
        ("limit", "configured", "def __init__"),
        ("pages", "computed", "self.pages ="),
    ],
)
def test_kind_and_line(health, name, kind, line):
    """Each field has the kind of what sets it, and the line of that, not of the answer."""
    field = health[name]
    assert field.kind == kind
    assert field.settled
    assert line in SERVER.splitlines()[field.line - 1]
    assert field.endpoint == "/health"


def test_only_a_measured_field_may_agree(health):
    """Constant, configured and computed fields can disagree with reality, and the sentence says why."""
    for name in ("ok", "batch_limit", "limit", "pages"):
        assert health[name].can_disagree.startswith("Yes")
    assert not health["jobs"].can_disagree.startswith("Yes")


def test_a_counter_in_front_of_the_lock_counts_waiters(health):
    """A counter that goes up before its lock is obtained is told from one that goes up inside."""
    assert "gen_lock" in health["active"].can_disagree
    assert health["running"].can_disagree.startswith("Less easily")


def test_what_was_not_found_is_not_guessed(health):
    """A field whose origin is not in the source is not settled, and says so."""
    assert not health["odd"].settled
    assert health["odd"].can_disagree.startswith("Not settled")


ROUTES = {
    "a decorator": '@app.get("/health")\nasync def health():\n    return {"ok": True}\n',
    "a variable": (
        '@app.route("/health")\ndef health():\n    payload = {}\n    payload["ok"] = True\n'
        "    return jsonify(payload)\n"
    ),
    "another function": (
        'def status():\n    return {"ok": True}\n'
        '@app.get("/health")\nasync def health():\n    return JSONResponse(status())\n'
    ),
    "a response model": (
        'class Health(BaseModel):\n    ok: bool\n@app.get("/health")\nasync def health():\n    return Health(ok=True)\n'
    ),
    "a plain HTTP server": (
        "class Server(BaseHTTPRequestHandler):\n    def do_GET(self):\n"
        '        if self.path == "/health":\n'
        '            self.wfile.write(json.dumps({"ok": True}).encode())\n'
        "        else:\n"
        '            self.wfile.write(json.dumps({"wrong": 1}).encode())\n'
    ),
    "a plain HTTP server's method": (
        "class Server(BaseHTTPRequestHandler):\n    def do_GET(self):\n"
        '        if self.path == "/health":\n            self.answer()\n'
        "    def answer(self):\n"
        '        self.wfile.write(json.dumps({"ok": True}).encode())\n'
    ),
}


@pytest.mark.parametrize("source", ROUTES.values(), ids=ROUTES)
def test_every_way_to_answer(audited, source):
    """The field is found whichever way the route is declared and the answer is built."""
    fields = audited({"serve.py": source}).fields
    assert [(field.endpoint, field.name, field.kind) for field in fields] == [("/health", "ok", "constant")]


def test_other_routes_only_with_their_capacity(audited):
    """Of a route that is not about health only fields that speak of capacity are named; POST routes are not asked."""
    source = """
        @app.get("/v1/things")
        async def things():
            return {"name": "x", "total_slots": 4}
        @app.post("/status")
        async def set_status():
            return {"ok": True}
        """
    fields = audited({"serve.py": source}).fields
    assert [(field.endpoint, field.name) for field in fields] == [("/v1/things", "total_slots")]


def test_fields_become_claims(audited):
    """Beside evidence a field stands as a claim: its endpoint, the line that sets it, and whether it can be untrue."""
    claims = audited({"serve.py": SERVER}).claims()
    claim = next(item for item in claims if item.what == "field" and item.name == "batch_limit")
    assert (claim.endpoint, claim.where, claim.by) == ("/health", "serve.py:5", "syntax")
    assert claim.says.startswith("configured; can it disagree with reality? ")


def test_every_finding_becomes_a_claim(audited):
    """Serialisers, defaults, fields, dead keys and unused options: one claim each, under its kind's word."""
    files = {"serve.py": SERVER, "more.py": MORE}
    result = audited(files, {"a.yaml": "nobody_reads_this: 1\n"})
    claims = result.claims()
    assert [(claim.what, claim.where) for claim in claims] == [(f.kind_name, f.where) for f in result.findings()]
    assert {"serialiser", "batch-default", "field", "dead-key", "unused-flag"} <= {claim.what for claim in claims}


def test_a_setting_behind_two_objects(audited):
    """A field is traced through attributes whose types are told by annotations, also where they are unpacked."""
    files = {
        "shape.py": "@dataclass\nclass Shape:\n    slots: int = 4\n    other: int = 0\n",
        "other.py": "class Other:\n    def __init__(self):\n        self.slots = []\n",
        "serve.py": """
            from shape import Shape
            class Server:
                def __init__(self, shape: Shape, knobs):
                    self.shape, self.knobs = shape, knobs
                async def props(self, request):
                    settings = {"slots": self.shape.slots}
                    return web.json_response({"settings": settings})
                def app(self):
                    return [web.get("/props", self.props)]
            """,
    }
    (field,) = audited(files).fields
    assert (field.name, field.kind, field.where, field.settled) == ("settings.slots", "configured", "shape.py:3", True)


def test_an_attribute_of_what_a_function_makes(audited):
    """A field read from an object that a function returns is traced to what that object was made with."""
    source = """
        class Engine:
            def gauges(self):
                return Gauges(processing=len(self.running), slots=4)
        class Server:
            def __init__(self):
                self.engine = Engine()
            async def health(self, request):
                return {"busy": self.engine.gauges().processing > 0, "slots": self.engine.gauges().slots}
            def app(self):
                return [web.get("/health", self.health)]
        """
    fields = audited({"serve.py": source}).fields
    assert [(field.name, field.kind, field.line) for field in fields] == [
        ("busy", "measured", 4),
        ("slots", "constant", 4),
    ]

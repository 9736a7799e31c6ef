"""Other languages: only what text can honestly give, and marked as such."""

from __future__ import annotations

CPP = """
    // "total_slots", 4 in a comment
    /* "n_ctx": 1
       "n_ctx": 2 */
    json data = {
        { "total_slots", params.n_parallel },
        { "status", "ok" },
        { "n_ctx", slot.n_ctx() },
    };
    """


def test_lines_that_name_a_field(audited):
    """A line that gives a field a value is named with what its text tells; comments are left out."""
    fields = audited({"server.cpp": CPP}).fields
    assert [(field.name, field.kind, field.line, field.by, field.settled) for field in fields] == [
        ("total_slots", "configured", 6, "text", False),
        ("status", "constant", 7, "text", False),
        ("n_ctx", "computed", 8, "text", False),
    ]


def test_the_nearest_route_above(audited):
    """The endpoint is the nearest health route above, and says that it is only that."""
    source = 'svr.Get("/health", [](json r) {\n  r = json{{"status", "ok"}};\n});\n'
    assert [field.endpoint for field in audited({"server.cpp": source}).fields] == ["/health (the nearest route above)"]


def test_a_file_that_answers_nothing(audited):
    """Names in a file that makes no answers are no fields."""
    assert audited({"kernel.cu": 'bind("total_slots", slots);\n'}).fields == ()


def test_a_name_counts_once_on_a_line(audited):
    """A minified file of one line names each field once, and takes no more than linear time."""
    files = {
        "a.js": 'x={"total_slots":json.a,};' * 20_000,
        "b.js": '"' * 300_000 + "json",
        "c.js": '"a' * 150_000 + "json",
    }
    assert [(field.name, field.file) for field in audited(files).fields] == [("total_slots", "a.js")]

"""What a local command inherits."""

from __future__ import annotations

from stager.host.local import login_environment


def test_only_what_a_login_has() -> None:
    """Home, locale and XDG folders stay; tokens, Python settings and the virtualenv's folder go."""
    environ = {
        "HOME": "/home/a",
        "LC_ALL": "C",
        "XDG_RUNTIME_DIR": "/run/user/1",
        "HF_TOKEN": "secret",
        "PYTHONPATH": "/x",
        "VIRTUAL_ENV": "/v",
        "PATH": "/v/bin:/usr/bin:/venus/bin",
    }
    assert login_environment(environ, "/v") == {
        "HOME": "/home/a",
        "LC_ALL": "C",
        "XDG_RUNTIME_DIR": "/run/user/1",
        "PATH": "/usr/bin:/venus/bin",
    }


def test_there_is_always_a_path() -> None:
    """Without a PATH, or with the virtualenv's alone, the usual folders are searched."""
    assert "/usr/bin" in login_environment({}, None)["PATH"]
    assert "/usr/bin" in login_environment({"PATH": "/v/bin"}, "/v")["PATH"]

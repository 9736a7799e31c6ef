"""Login shells, banners, locales, sudo and Pythons as hosts really have them, behind a real sshd.

sshd runs ``$SHELL -c <line>``; a ForceCommand that hands the line to another shell does the same without a user of
that shell.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stager.errors import Refused
from stager.host.base import Host
from stager.host.connect import connect
from stager.host.onhost import OnHost

from .servers import need, openssh
from .standin import standin
from .test_host import NASTY, read_all


@contextlib.contextmanager
def through(folder: Path, script: str, *options: str) -> Iterator[Host]:
    """A host whose every command goes through this shell script first."""
    force = folder / "force.sh"
    force.write_text(f"#!/bin/sh\n{script}\n")
    force.chmod(0o755)
    folder.chmod(0o755)
    with openssh(folder, [f"ForceCommand {force}", *options]) as server:
        host = connect(server.spec(), config=server.empty_config)
        yield host
        host.close()


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "fish", "tcsh"])
def test_login_shells(tmp_path: Path, shell: str) -> None:
    """Whatever the login shell, awkward words arrive as they are and the program starts."""
    need(shell)
    with through(tmp_path, f'exec {shell} -c "$SSH_ORIGINAL_COMMAND"') as host:
        pipe = host.open(["python3", "-c", "import sys,json;print(json.dumps(sys.argv[1:]))", *NASTY])
        assert json.loads(read_all(pipe)) == NASTY
        with OnHost(host, state=str(tmp_path / "it's $HOME!"), program=standin()) as onhost:
            assert onhost.call("echo", {"a": "!x"}) == {"a": "!x"}


def test_noise_before_the_program(tmp_path: Path) -> None:
    """A banner on both outputs, larger than any window, with half a line at its end, is skipped."""
    banner = tmp_path / "banner.py"
    banner.write_text(
        "import sys\nsys.stderr.write('m' * 5_000_000)\nsys.stdout.write('Welcome! {\\n' * 300_000 + 'last words: ')\n"
    )
    noise = f'python3 {banner}\nexec sh -c "$SSH_ORIGINAL_COMMAND"'
    with through(tmp_path, noise) as host, OnHost(host, state=str(tmp_path / "s"), program=standin()) as onhost:
        assert onhost.call("echo", {"a": 1}) == {"a": 1}


def test_an_account_that_may_not_run_commands(tmp_path: Path) -> None:
    """Where the account only prints a sentence, that sentence is in the refusal."""
    with (
        through(tmp_path, "echo 'This account is currently not available.'; exit 1") as host,
        pytest.raises(Refused, match=r"status 1 .*This account is currently not available"),
    ):
        OnHost(host, state=str(tmp_path / "s"), program=standin())


def test_a_chinese_locale(tmp_path: Path) -> None:
    """A host that speaks another language, in an encoding that is not UTF-8, is served as any other."""
    env = "SetEnv LC_ALL=zh_CN.GBK LANG=zh_CN.GBK LANGUAGE=zh_CN"
    with (
        through(tmp_path, 'exec sh -c "$SSH_ORIGINAL_COMMAND"', env) as host,
        OnHost(host, state=str(tmp_path / "state"), program=standin()) as onhost,
    ):
        assert onhost.call("echo", {"a": "中文 é"}) == {"a": "中文 é"}
        assert host.open(["sh", "-c", "echo $LC_ALL"]).read(100) == b"zh_CN.GBK\n"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that another user can read, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


PROMPTING = """#!/bin/sh
case "$1" in -n) ;; *) sleep 60;; esac
echo 'sudo-rs: 对不起 需要密码' >&2
exit 1
"""


def test_sudo_that_refuses_in_another_language(tmp_path: Path, shared: Path) -> None:
    """Only sudo's -n is used and no prompt is read: a refusal in any wording gives the sudoers line to add.

    The sudo here is a stub with sudo-rs's place and a translated wording; the real one is tried below.
    """
    tools = shared / "tools"
    tools.mkdir()
    (tools / "sudo").write_text(PROMPTING)
    (tools / "sudo").chmod(0o755)
    with (
        through(
            tmp_path, f'PATH={tools}:/usr/bin:/bin; export PATH; {_as_nobody()} sh -c "$SSH_ORIGINAL_COMMAND"'
        ) as host,
        pytest.raises(Refused, match=r"does not let \S+ run \S*python3\S* without a password .*需要密码") as caught,
    ):
        OnHost(host, become="sudo", program=standin())
    assert "ALL=(root) NOPASSWD: " in caught.value.details["sudoers"]


def _as_nobody() -> str:
    return "exec setpriv --reuid=nobody --regid=nogroup --clear-groups" if os.geteuid() == 0 else "exec"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become a user without sudo rights")
@pytest.mark.skipif(not shutil.which("sudo"), reason="needs sudo (apt-get install sudo)")
def test_real_sudo_refuses(tmp_path: Path) -> None:
    """The real sudo, asked by a user it does not know, is a refusal with its own words and the line to add."""
    script = f'PATH=/usr/bin:/bin; export PATH; {_as_nobody()} sh -c "$SSH_ORIGINAL_COMMAND"'
    with through(tmp_path, script) as host, pytest.raises(Refused, match=r"does not let nobody run /usr/bin/python3"):
        OnHost(host, become="sudo", program=standin())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whom sudo lets through")
@pytest.mark.skipif(not shutil.which("sudo"), reason="needs sudo (apt-get install sudo)")
def test_real_sudo_lets_through(tmp_path: Path) -> None:
    """Through the real sudo the program runs as root, and the line to type on the host has sudo in it."""
    with (
        through(tmp_path, 'exec sh -c "$SSH_ORIGINAL_COMMAND"') as host,
        OnHost(host, become="sudo", state=str(tmp_path / "s"), program=standin()) as onhost,
    ):
        assert onhost.hello["uid"] == 0
        assert onhost.call("echo", {"a": 1}) == {"a": 1}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_needs_no_sudo(tmp_path: Path) -> None:
    """Root on a host without sudo is served without it, whatever the playbook says."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("python3", "sh", "env"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    script = f'PATH={tools}; export PATH; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    with (
        through(tmp_path, script) as host,
        OnHost(host, become="sudo", state=str(tmp_path / "s"), program=standin()) as onhost,
    ):
        assert onhost.call("echo", {"a": 1}) == {"a": 1}


def _python_that(folder: Path, first: str) -> str:
    """A Python that runs a line of its own before the loader."""
    wrapper = folder / "python3-other"
    wrapper.write_text(f"#!/bin/sh\nexec python3 -I -c 'import sys;{first};exec(sys.argv[1])' \"$3\"\n")
    wrapper.chmod(0o755)
    return str(wrapper)


def test_a_minimal_python_is_refused(host: Host, tmp_path: Path) -> None:
    """Where the standard library lacks json and shutil (python3-minimal), both are named and nothing is written."""
    python = _python_that(tmp_path, 'sys.modules["json"]=sys.modules["shutil"]=None')
    with pytest.raises(Refused, match=r"lacks json, shutil") as caught:
        OnHost(host, state=str(tmp_path / "s"), program=standin(), python=python)
    assert "apt-get install python3" in caught.value.next
    assert not (tmp_path / "s").exists()


def test_an_old_python_is_refused(host: Host, tmp_path: Path) -> None:
    """A Python before 3.9 is refused with its version."""
    python = _python_that(tmp_path, "sys.version_info=(3,7,3)")
    with pytest.raises(Refused, match=r"is 3\.7\.3; stager needs 3\.9"):
        OnHost(host, state=str(tmp_path / "s"), program=standin(), python=python)

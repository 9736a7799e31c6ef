"""The frame around every command: text or one JSON document, exit codes, faults, signals, readers that leave."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from stager.cli import main as frame
from stager.cli.extras import EXTRAS

TABLE = {name: f"tests.unit.cli.sample:{name}" for name in ("sample", "looks", "keeps")}
ROOT = Path(__file__).resolve().parents[3]

#: The command line with the sample commands, for what needs a process of its own.
RUN = (
    "import sys; from stager.cli import main; "
    f"main.COMMANDS.clear(); main.COMMANDS.update({TABLE!r}); sys.exit(main.main())"
)


@pytest.fixture(autouse=True)
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame.group, "elsewhere", TABLE)


class Said:
    """What one command line printed and returned."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout; anything else on it is an error."""
        return json.loads(self.out)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line in this process."""

    def run(*words: str) -> Said:
        code = frame.main(words)
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


def start(*words: str, **options: Any) -> subprocess.Popen[str]:
    """Run a command line in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *words], stdout=pipe, stderr=pipe, text=True, env=environment, **options
    )


def test_people_read_stdout(say: Any) -> None:
    """Without --json the words go to stdout, and no document is written."""
    said = say("sample", "fine")
    assert (said.code, said.out, said.err) == (0, "for people: 30m\n", "")


def test_scripts_read_one_document(say: Any) -> None:
    """With --json stdout is exactly one document, and the words go to stderr."""
    said = say("sample", "fine", "--json")
    assert (said.code, said.document, said.err) == (0, {"fine": True}, "for people: 30m\n")


def test_details_need_asking(say: Any) -> None:
    """-v adds to stderr, never to stdout."""
    assert say("sample", "fine", "-v").err == "in detail\n"


def test_a_command_may_return_its_code(say: Any) -> None:
    """A gate that refuses has answered: its document and its code, no error document."""
    said = say("sample", "seven", "--json")
    assert (said.code, said.document) == (7, {"verdict": "refuse"})


def test_an_error_is_told_with_host_and_next_command(say: Any) -> None:
    """Every reason, what became of the host and what to type next, on stderr."""
    said = say("sample", "refused")
    assert said.code == 4
    assert said.out == ""
    assert said.err == ("stager: the port is taken\nthe disk is full\nhost: untouched\nnext: stager doctor x.yaml\n")


def test_an_error_is_one_document_with_json(say: Any) -> None:
    """The contract's five keys, and what the error carries besides."""
    assert say("sample", "refused", "--json").document == {
        "error": {
            "code": 4,
            "kind": "refused",
            "message": "the port is taken\nthe disk is full",
            "host_state": "untouched",
            "next": "stager doctor x.yaml",
            "reasons": ["the port is taken", "the disk is full"],
            "port": 8080,
        }
    }


def test_an_error_after_the_document_adds_no_second_one(say: Any) -> None:
    """Stdout stays one document; the code and stderr tell the rest."""
    said = say("sample", "late", "--json")
    assert (said.code, said.document) == (9, {"run_id": "r"})
    assert "Production is down." in said.err


def test_two_documents_are_a_fault(say: Any) -> None:
    """A command that would print a second document is wrong, and stdout still holds one."""
    said = say("sample", "twice", "--json")
    assert (said.code, said.document) == (1, {})


def test_a_fault_leaves_its_trace_in_a_file(say: Any) -> None:
    """The trace lies in $STAGER_HOME/faults, readable by its owner alone, and the error says where."""
    said = say("sample", "fault", "--json")
    error = said.document["error"]
    assert (said.code, error["code"], error["kind"]) == (1, 1, "fault")
    trace = Path(error["trace"])
    assert trace.parent == Path(os.environ["STAGER_HOME"]) / "faults"
    assert "ZeroDivisionError: nobody thought of this" in trace.read_text()
    assert trace.stat().st_mode & 0o777 == 0o600
    assert str(trace) in error["message"]
    assert "Traceback" not in said.err


def test_a_fault_is_told_where_no_file_can_be_written(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a place for it, the trace itself is shown."""
    monkeypatch.setenv("STAGER_HOME", "/dev/null/nowhere")
    said = say("sample", "fault")
    assert said.code == 1
    assert "Traceback" in said.err


def test_a_state_folder_that_may_not_be_written_is_no_fault(say: Any, tmp_path: Path) -> None:
    """What the system forbids there is wrong use, with the place and what to type; the same elsewhere is a fault."""
    home = Path(os.environ["STAGER_HOME"])
    for folder in (home / "runs", tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
        folder.chmod(0o555)
    assert say("keeps", str(home / "runs" / "none" / "there")).code == 1  # loads what a fault needs
    if os.geteuid() == 0:
        os.seteuid(65534)  # root may write anywhere
    try:
        kept, elsewhere = say("keeps", str(home / "runs" / "x")), say("keeps", str(tmp_path / "elsewhere" / "x"))
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
    assert kept.code == 2
    assert f"{home}, where stager keeps its state (STAGER_HOME), cannot be used: " in kept.err
    assert f"next: ls -ld {home}/runs/x\n" in kept.err
    assert elsewhere.code == 1


def test_a_missing_extra_is_no_fault(say: Any) -> None:
    """A library only some users install is named with the command that installs it, and leaves no trace file."""
    error = say("sample", "extra", "--json").document["error"]
    assert (error["code"], error["message"]) == (2, "This needs dbos, which is not installed.")
    assert error["next"] == f"{shlex.quote(sys.executable)} -m pip install 'stager[fleet]'"
    assert not (Path(os.environ["STAGER_HOME"]) / "faults").exists()


def test_the_extras_are_those_of_the_package() -> None:
    """Each library that is loaded late is in the extra it is said to be in."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for library, extra in EXTRAS.items():
        assert any(need.replace("-", "_").startswith(library) for need in extras[extra]), library


def test_the_host_is_called_untouched_only_by_commands_that_cannot_touch_it(say: Any) -> None:
    """After a fault or Ctrl-C in a command that changes hosts, nobody knows."""
    assert "host: unknown" in say("sample", "fault").err
    assert "host: unknown" in say("sample", "interrupt").err
    assert say("looks", "--json").document["error"]["host_state"] == "untouched"


@pytest.mark.parametrize("words", [("looks",), ("sample", "x", "--hodl"), ("smaple",), ("--nonsense",), ("sample",)])
def test_no_host_is_spoken_of_where_none_is_meant(say: Any, words: tuple[str, ...]) -> None:
    """A command that deals with no host, and wrong use of any, say what is wrong and what to type, and no more."""
    said = say(*words).err
    assert "host:" not in said
    assert "\nnext: " in said


def test_ctrl_c_is_130(say: Any) -> None:
    """A bare KeyboardInterrupt has its code and its document."""
    said = say("sample", "interrupt", "--json")
    assert (said.code, said.document["error"]["kind"]) == (130, "stopped")


@pytest.mark.parametrize(("what", "code"), [("terminate", 143), ("hangup", 129)])
def test_signals_unwind_like_ctrl_c(say: Any, what: str, code: int) -> None:
    """SIGTERM and SIGHUP raise, so that cleanup runs, and have their codes."""
    assert say("sample", what).code == code


def test_nohup_is_respected() -> None:
    """A SIGHUP that was ignored from the start stays ignored."""

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = start("sample", "hangup", preexec_fn=ignore)
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    ("words", "message", "next"),
    [
        (("smaple",), "No such command 'smaple'. Did you mean 'sample'?", "stager --help"),
        (("sample",), "Missing argument 'WHAT'.", "stager sample --help"),
        (("sample", "x", "--hodl", "1"), "No such option", "stager sample --help"),
        (("--nonsense",), "No such option", "stager --help"),
    ],
)
def test_wrong_use_is_2_with_the_help_to_ask_for(say: Any, words: tuple[str, ...], message: str, next: str) -> None:  # noqa: A002
    """A misspelt command, option or missing argument says so, also as JSON."""
    assert say(*words).code == 2
    said = say(*words, "--json")
    error = said.document["error"]
    assert (said.code, error["kind"], error["next"]) == (2, "usage-error", next)
    assert error["message"].startswith(message)


def test_json_behind_two_dashes_is_an_argument(say: Any) -> None:
    """What follows `--` is not read as an option, also not by the frame."""
    assert frame.wants_json(["sample", "--json"])
    assert not frame.wants_json(["sample", "--", "--json"])


def test_no_command_shows_the_help_and_is_wrong_use(say: Any) -> None:
    """`stager` alone lists the commands on stderr, with code 2."""
    said = say()
    assert said.code == 2
    assert "Do one of many things." in said.err


def test_help_lists_first_sentences_and_exit_codes(say: Any) -> None:
    """The list has one line a command; a command's help has its own codes and no others."""
    assert "  sample  Do one of many things.\n" in say("--help").out
    told = say("sample", "--help").out
    assert "The second paragraph" in told
    for line in (
        "    0  done, and what was asked is true",
        "    4  preflight refused",
        "    9  production is not as it",
    ):
        assert line in told
    assert "  130  interrupted" in told
    assert "   11  " not in told


def test_text_from_a_host_cannot_steer_the_terminal(say: Any) -> None:
    """Control characters become visible, and square brackets are no markup."""
    said = say("sample", "host text")
    assert "\x1b" not in said.out
    assert "\x07" not in said.out
    assert said.out.count("[bold]markup[/bold]") == 2


def test_a_reader_that_leaves_does_not_end_the_work() -> None:
    """`stager ... | head -1` is silent from then on, runs to its end and keeps its code."""
    process = start("sample", "much")
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline() == "line 0\n"
    process.stdout.close()
    assert process.stderr.read() == "the work went on to its end\n"
    assert process.wait(timeout=60) == 0


def test_a_terminal_without_unicode_is_no_fault() -> None:
    """In the C locale what cannot be written is escaped."""
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", RUN, "sample", "fine", "--hold", "½"], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "for people: \\xbd\n")


def test_version_and_help_load_nothing_slow() -> None:
    """`stager --version` answers at once: neither fabric nor pydantic nor any other library of weight is imported."""
    code = (
        "import sys; from stager.cli.main import main; main(['--version']); main(['--help']); "
        "print([name for name in ('fabric', 'paramiko', 'pydantic', 'yaml', 'rich', 'aiohttp', 'asyncio') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.startswith("stager ")
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command() -> None:
    """`python -m stager` is `stager`."""
    done = subprocess.run([sys.executable, "-m", "stager", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout.split()[0]) == (0, "stager")

"""What every host promises: this machine, OpenSSH, and another server."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from pathlib import Path

import pytest

from stager.errors import Unreachable
from stager.host.base import Host, Pipe

NASTY = [
    "",
    "a b",
    "it's",
    'say "yes"',
    "two\nlines\n",
    "$HOME `id` $(id) ${x}",
    "!history !!",
    "back\\slash \\n \\0047",
    "100% %s %%",
    "日本語 é ∑",
    "~ * ? [a-z] {a,b}",
    "-n --",
    "; & | < > #",
    "\t\x01\x7f",
]


def read_all(pipe: Pipe) -> bytes:
    parts = []
    while data := pipe.read(65536):
        parts.append(data)
    return b"".join(parts)


def test_words_arrive_as_they_are(host: Host) -> None:
    """Spaces, quotes, newlines, dollars, exclamation marks and Unicode reach the command unchanged."""
    pipe = host.open(["python3", "-c", "import sys,json;print(json.dumps(sys.argv[1:]))", *NASTY])
    assert json.loads(read_all(pipe)) == NASTY
    assert pipe.exit_status(5) == 0


def test_a_long_word_arrives(host: Host) -> None:
    """A word of 10 kB of awkward characters is neither cut nor refused."""
    word = "é'$! \n" * 1500
    pipe = host.open(
        ["python3", "-c", "import sys,hashlib;print(hashlib.sha256(sys.argv[1].encode()).hexdigest())", word]
    )
    assert read_all(pipe).decode().strip() == hashlib.sha256(word.encode()).hexdigest()


def test_no_words_or_a_nul_are_refused(host: Host) -> None:
    """A command without words, or with a byte no argument can hold, is a ValueError before anything runs."""
    with pytest.raises(ValueError):
        host.open([])
    with pytest.raises(ValueError):
        host.open(["echo", "a\0b"])


def test_status_is_the_commands(host: Host) -> None:
    """The exit status is the command's own, and None while it runs."""
    pipe = host.open(["/bin/sh", "-c", "read x; exit 7"])
    assert pipe.exit_status(0.1) is None
    pipe.write(b"go\n")
    assert pipe.exit_status(5) == 7


def test_a_missing_program_is_status_127(host: Host) -> None:
    """A program that does not exist ends with 127, and standard error names it."""
    pipe = host.open(["no-such-program-here", "x"])
    assert read_all(pipe) == b""
    assert pipe.exit_status(5) == 127
    assert "no-such-program-here" in pipe.stderr_tail()


def test_much_on_both_outputs_does_not_lock(host: Host) -> None:
    """Ten megabytes on standard error before ten on standard output arrive, the tail of the first is kept."""
    script = "import sys;sys.stderr.write('e'*10**7+'END');sys.stderr.flush();sys.stdout.write('o'*10**7)"
    pipe = host.open(["python3", "-c", script])
    assert len(read_all(pipe)) == 10**7
    assert pipe.exit_status(5) == 0
    time.sleep(0.2)
    assert pipe.stderr_tail().endswith("eEND")
    assert len(pipe.stderr_tail()) <= 16 * 1024


def test_much_in_and_out(host: Host) -> None:
    """Ten megabytes written while as many are read come back whole and in order."""
    pipe = host.open(["cat"])
    data = bytes(range(256)) * 40_000
    writer = threading.Thread(target=lambda: (pipe.write(data), pipe.end_input()))
    writer.start()
    assert read_all(pipe) == data
    writer.join(5)
    assert pipe.exit_status(5) == 0


def test_half_closed(host: Host) -> None:
    """After the end of input the command's output can still be read."""
    pipe = host.open(["/bin/sh", "-c", "n=$(wc -c); sleep 0.3; echo got $n"])
    pipe.write(b"12345")
    pipe.end_input()
    assert read_all(pipe) == b"got 5\n"
    assert pipe.read(10) == b""


def test_close_is_an_end_of_input_not_a_kill(host: Host, tmp_path: Path) -> None:
    """Closing a pipe ends the command's input; it is left to end by itself."""
    note = tmp_path / "note"
    pipe = host.open(["/bin/sh", "-c", 'cat >/dev/null; sleep 0.3; echo ended > "$0"', str(note)])
    pipe.close()
    pipe.close()
    deadline = time.monotonic() + 5
    while not note.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert note.exists()


def test_writing_to_an_ended_command_is_an_error(host: Host) -> None:
    """A command that is gone takes no input, and that is Unreachable, not a hang or a signal."""
    pipe = host.open(["true"])
    assert pipe.exit_status(5) == 0
    with pytest.raises(Unreachable):
        pipe.write(b"x" * 10_000_000)


def test_there_is_no_terminal(host: Host) -> None:
    """Neither input nor output is a terminal."""
    pipe = host.open(["python3", "-c", "import os;print([os.isatty(i) for i in range(3)])"])
    assert read_all(pipe) == b"[False, False, False]\n"


def test_the_controllers_secrets_stay_there(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token in the controller's environment does not reach a command, nor does its virtualenv."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    seen = read_all(host.open(["env"])).decode() if type(host).__name__ == "LocalHost" else ""
    assert "HF_TOKEN" not in seen
    assert "VIRTUAL_ENV" not in seen


def test_reading_ends_when_the_pipe_is_closed(host: Host) -> None:
    """A thread that waits for output is let go when another closes the pipe."""
    pipe = host.open(["sleep", "3"])
    reader = threading.Thread(target=pipe.read, args=(10,), daemon=True)
    reader.start()
    time.sleep(0.1)
    pipe.close()
    reader.join(2)
    assert not reader.is_alive()


class Echo:
    """A little TCP server that sends back what it gets, up to the end of input."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ended = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    def _echo(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(65536):
                    connection.sendall(data)
            except OSError:
                pass
        self.ended.set()


def dial(url: str) -> socket.socket:
    name, port = url.removeprefix("http://").split(":")
    return socket.create_connection((name, int(port)), timeout=10)


def test_forward_carries_both_ways(host: Host) -> None:
    """Eight connections at once carry a megabyte each way through a forwarded port, each its own."""
    echo = Echo()
    with host.forward(echo.port) as forward:
        assert forward.path == ("direct" if type(host).__name__ == "LocalHost" else "ssh-forward")
        socks = [dial(forward.url) for _ in range(8)]
        payloads = [bytes([i]) * 1_000_000 for i in range(8)]
        threads = [threading.Thread(target=s.sendall, args=(p,)) for s, p in zip(socks, payloads, strict=True)]
        for thread in threads:
            thread.start()
        for sock, payload in zip(socks, payloads, strict=True):
            got = b""
            while len(got) < len(payload):
                got += sock.recv(1 << 20)
            assert got == payload
            sock.close()
        for thread in threads:
            thread.join(5)
    echo.listener.close()


def test_forward_passes_ends_on(host: Host) -> None:
    """The client's end reaches the server, and the server's end the client."""
    echo = Echo()
    with host.forward(echo.port) as forward, dial(forward.url) as sock:
        sock.sendall(b"last")
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(10) == b"last"
        assert sock.recv(10) == b""
        assert echo.ended.wait(5)
    echo.listener.close()


def test_forward_to_nobody_ends_at_once(host: Host) -> None:
    """A connection to a port nobody listens on ends; it neither hangs nor breaks the forward."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    with host.forward(port) as forward:
        for _ in range(2):
            try:
                with dial(forward.url) as client:
                    assert client.recv(10) == b""
            except OSError:  # refused or reset: ended as well
                pass


def test_a_closed_forward_listens_no_more(host: Host) -> None:
    """Closing a forward through SSH ends its connections and frees its port."""
    echo = Echo()
    forward = host.forward(echo.port)
    sock = dial(forward.url)
    sock.sendall(b"x")
    assert sock.recv(1) == b"x"
    forward.close()
    if forward.path == "ssh-forward":
        assert sock.recv(1) == b""
        with pytest.raises(OSError):
            dial(forward.url)
    echo.listener.close()


def test_connections_that_both_sides_end_at_once(host: Host) -> None:
    """Hundreds of connections whose ends cross leave the forward, and the connection it rides on, as they were."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.recv(1)
            connection.close()  # with the rest unread: a reset

    def use(url: str) -> None:
        for _ in range(40):
            try:
                with dial(url) as sock:
                    sock.sendall(b"x")
                    sock.sendall(b"y" * 5000)
                    sock.shutdown(socket.SHUT_WR)
                    sock.recv(10)
            except OSError:
                pass  # which of the two ends came first does not matter

    threading.Thread(target=serve, daemon=True).start()
    with host.forward(listener.getsockname()[1]) as forward:
        threads = [threading.Thread(target=use, args=(forward.url,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    listener.close()
    assert read_all(host.open(["echo", "alive"])) == b"alive\n"

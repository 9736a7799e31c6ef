"""The conversation with the program on the host, over every kind of host."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stager.errors import (
    CandidateFailed,
    ConnectionLost,
    Fenced,
    HostHeld,
    InvalidFile,
    LeftForPerson,
    NotDrained,
    NotRestored,
    Refused,
    StagerError,
    Unreachable,
)
from stager.host.base import Host
from stager.host.connect import connect
from stager.host.onhost import OnHost

from .servers import Server
from .standin import standin


@pytest.fixture
def onhost(host: Host, tmp_path: Path) -> Iterator[OnHost]:
    with OnHost(host, state=str(tmp_path / "state é '$x"), program=standin(), beat_every=0.2) as made:
        yield made


def test_the_program_is_shipped_once(host: Host, tmp_path: Path) -> None:
    """The first start ships the program under its digest, mode 0644; the second finds it there and writes nothing."""
    program = standin("once")
    path = tmp_path / "s/programs" / program.name
    with OnHost(host, state=str(tmp_path / "s"), program=program) as first:
        assert first.hello["protocol"] == 1
        assert first.call("echo", {"a": 1}) == {"a": 1}
    assert path.read_bytes() == program.bytes
    assert path.stat().st_mode & 0o777 == 0o644
    assert path.parent.stat().st_mode & 0o777 == 0o755
    before = path.stat().st_mtime_ns, path.stat().st_ino
    with OnHost(host, state=str(tmp_path / "s"), program=program) as second:
        assert second.call("echo", {}) == {}
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    assert [p.name for p in path.parent.iterdir()] == [program.name]


def test_a_damaged_program_is_replaced(host: Host, tmp_path: Path) -> None:
    """A file under the right name with the wrong bytes is never run; it is shipped again."""
    program = standin("damaged")
    path = tmp_path / "s/programs" / program.name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"print('not ours')")
    with OnHost(host, state=str(tmp_path / "s"), program=program) as onhost:
        assert onhost.call("echo", {}) == {}
    assert path.read_bytes() == program.bytes


def test_a_state_folder_others_can_write_is_refused(host: Host, tmp_path: Path) -> None:
    """Whoever can write to the program's folder could choose what we run, so it is refused with words."""
    folder = tmp_path / "s"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(Refused, match="can be written by others"):
        OnHost(host, state=str(folder), program=standin())


def test_a_state_folder_that_cannot_be_made_is_refused(host: Host, tmp_path: Path) -> None:
    """Where the folder cannot be made, the reason and the path are in the sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match=r"file/s.*(Not a directory|File exists)"):
        OnHost(host, state=str(tmp_path / "file/s"), program=standin())


def test_a_python_that_is_not_there_is_refused(host: Host, tmp_path: Path) -> None:
    """No python3 on the host is exit 4 with what to install, and nothing is written."""
    with pytest.raises(Refused, match=r"has no python3\.1-nowhere") as caught:
        OnHost(host, state=str(tmp_path / "s"), program=standin(), python="python3.1-nowhere")
    assert caught.value.exit_code == 4
    assert "apt-get install python3" in caught.value.next
    assert not (tmp_path / "s").exists()


def test_exchanges_are_counted(onhost: OnHost) -> None:
    """Requests with their answers count as exchanges; beats, pings and the handshake do not."""
    assert onhost.exchanges == 0
    onhost.call("echo")
    onhost.beat()
    onhost.call("echo")
    assert onhost.exchanges == 2


def test_the_fence_goes_with_every_request(onhost: OnHost) -> None:
    """A request carries the fence number, None before there is one."""
    assert onhost.call("fence") is None
    onhost.fence = 41
    assert onhost.call("fence") == 41


def test_big_frames(onhost: OnHost) -> None:
    """Some megabytes of Unicode each way are one request and one answer."""
    text = "é∑" * 700_000
    assert onhost.call("echo", {"text": text}) == {"text": text}
    assert len(onhost.call("big", {"size": 2_000_000})) == 2_000_000


def test_events_come_in_order(onhost: OnHost) -> None:
    """Events of a request arrive in order before its answer."""
    seen: list[int] = []
    onhost.call("events", {"n": 500}, on_event=lambda e: seen.append(e["i"]))
    assert seen == list(range(500))


def test_an_event_between_calls_is_kept(onhost: OnHost) -> None:
    """An event that arrives while nothing is asked is given to the next call that listens."""
    onhost.call("late", {"after": 0.1})
    time.sleep(0.4)
    onhost.beat()
    seen: list[str] = []
    onhost.call("echo", on_event=lambda e: seen.append(e["event"]))
    assert seen == ["late"]


def test_beats_while_waiting(onhost: OnHost) -> None:
    """While a call waits the host hears beats at the set pace, and no beats come when nobody calls."""
    assert 3 <= onhost.call("wait", {"seconds": 1.1}) <= 7
    before = onhost.call("beats")
    time.sleep(0.7)
    assert onhost.call("beats") == before


def test_beats_between_calls_from_another_thread(onhost: OnHost) -> None:
    """beat() may be called while another thread's call waits; frames never mix."""
    done = threading.Event()

    def call() -> None:
        for i in range(50):
            assert onhost.call("echo", {"i": i, "pad": "x" * 50_000})["i"] == i
        done.set()

    thread = threading.Thread(target=call)
    thread.start()
    beats = 0
    while thread.is_alive():
        onhost.beat()
        beats += 1
        time.sleep(0.002)
    assert done.is_set()
    assert onhost.call("beats") >= beats


def test_noise_on_standard_error_does_not_lock(onhost: OnHost) -> None:
    """Five megabytes on standard error pass while a call waits."""
    onhost.call("shout", {"size": 5_000_000}, timeout=20)
    assert onhost.call("echo", {"still": "here"}) == {"still": "here"}


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("held", HostHeld),
        ("fenced", Fenced),
        ("refused", Refused),
        ("not-drained", NotDrained),
        ("candidate-failed", CandidateFailed),
        ("not-restored", NotRestored),
        ("left", LeftForPerson),
        ("invalid", InvalidFile),
        ("something-else", StagerError),
    ],
)
def test_errors_by_kind(onhost: OnHost, kind: str, raised: type[StagerError]) -> None:
    """Each kind of error answer becomes its own class, with what the host said of itself and of the next step."""
    said = {
        "kind": kind,
        "message": "why",
        "reasons": ["one", "two"],
        "host_state": "as it was",
        "next": "type this",
        "details": {"holder": "alice"},
    }
    with pytest.raises(StagerError) as caught:
        onhost.call("fail", said)
    error = caught.value
    assert type(error) is raised
    assert (error.host_state, error.next) == ("as it was", "type this")
    assert error.details["holder"] == "alice"
    if isinstance(error, Refused):
        assert error.reasons == ("one", "two")
    else:
        assert error.message == "why"
    assert onhost.call("echo", {"after": 1}) == {"after": 1}


def test_a_slow_answer_times_out_and_is_dropped_later(onhost: OnHost) -> None:
    """A call's own time limit ends the waiting; its late answer is not taken for the next one's."""
    with pytest.raises(Unreachable, match="did not answer within"):
        onhost.call("wait", {"seconds": 0.8}, timeout=0.3)
    assert onhost.call("echo", {"next": 1}) == {"next": 1}


def test_an_interrupted_call_leaves_the_channel_whole(onhost: OnHost) -> None:
    """An exception from a signal, wherever it strikes a call, leaves no half frame: the next call is served."""

    class Struck(Exception):
        pass

    def strike(_signum: int, _frame: object) -> None:
        raise Struck

    before = signal.signal(signal.SIGALRM, strike)
    struck = 0
    try:
        for i in range(1, 9):
            signal.setitimer(signal.ITIMER_REAL, 0.01 * i)
            try:
                onhost.call("echo", {"pad": "x" * 3_000_000})
            except Struck:
                struck += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert onhost.call("echo", {"i": i}) == {"i": i}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert struck


def keep_beating(onhost: OnHost, seconds: float) -> None:
    """Give signs of life for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        onhost.beat()
        time.sleep(0.02)


def test_a_lost_run_is_told_to_the_next_sign_of_life(onhost: OnHost) -> None:
    """Word that the run is over raises at a beat, by its kind; calls go on, so that the end can be followed."""
    heard: list[dict[str, object]] = []
    onhost.call("lose", {"kind": "fenced", "message": "ended on the host: lease over"})
    with pytest.raises(Fenced, match="lease over"):
        keep_beating(onhost, 5.0)
    assert onhost.call("wait", {"seconds": 0.5}, on_event=heard.append)
    assert heard == []


def test_a_program_that_dies_is_noticed_with_its_last_words(onhost: OnHost) -> None:
    """Before the first change a dead program is Unreachable, with what it wrote last; later calls say the same."""
    with pytest.raises(Unreachable, match="it broke here") as caught:
        onhost.call("die")
    assert not isinstance(caught.value, ConnectionLost)
    with pytest.raises(Unreachable):
        onhost.call("echo")
    with pytest.raises(Unreachable):
        onhost.beat()


def test_a_program_that_dies_in_mid_run_is_exit_9(onhost: OnHost, tmp_path: Path) -> None:
    """After the first change a dead program is ConnectionLost: when the guard restores, and what to type there."""
    onhost.fence = 3
    onhost.restore_by = "03:12"
    onhost.run = "20261129-run"
    with pytest.raises(ConnectionLost, match=r"by 03:12") as caught:
        onhost.call("die")
    assert caught.value.exit_code == 9
    words = shlex.split(caught.value.next)
    assert words[-3:] == ["restore", str(tmp_path / "state é '$x"), "20261129-run"]


def test_garbage_ends_the_channel(onhost: OnHost) -> None:
    """Bytes that are no frames end the conversation in words; nothing is guessed from them."""
    with pytest.raises(Unreachable, match="limit"):
        onhost.call("garbage")


def test_a_mute_program_is_dead(host: Host, tmp_path: Path) -> None:
    """A program that answers no ping is dead after the set silence, though its process lives."""
    with OnHost(host, state=str(tmp_path / "s"), program=standin(), ping_after=0.5, dead_after=1.0) as onhost:
        began = time.monotonic()
        with pytest.raises(Unreachable, match="nothing was heard"):
            onhost.call("mute", {"seconds": 30})
        assert 0.9 <= time.monotonic() - began < 3


def test_a_busy_program_that_answers_pings_lives(host: Host, tmp_path: Path) -> None:
    """A call may take far longer than the silence allowed, as long as pings are answered."""
    with OnHost(host, state=str(tmp_path / "s"), program=standin(), ping_after=0.2, dead_after=0.6) as onhost:
        onhost.call("wait", {"seconds": 1.5})


def test_time_nobody_watched_is_not_silence(host: Host, tmp_path: Path) -> None:
    """A long pause without calls or beats does not make the host dead at the next one."""
    with OnHost(host, state=str(tmp_path / "s"), program=standin(), ping_after=0.2, dead_after=0.6) as onhost:
        time.sleep(1.5)
        onhost.beat()
        assert onhost.call("echo", {"a": 1}) == {"a": 1}


def test_closing_ends_the_program(host: Host, tmp_path: Path) -> None:
    """Closing gives the program the end of its input, by which it goes."""
    onhost = OnHost(host, state=str(tmp_path / "s"), program=standin())
    onhost.close()
    deadline = time.monotonic() + 5
    while not (tmp_path / "s/ended").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (tmp_path / "s/ended").exists()


@pytest.mark.parametrize("fence", [None, 7])
def test_a_stopped_sshd_is_noticed_within_seconds(sshd: Server, tmp_path: Path, fence: int | None) -> None:
    """A peer whose kernel still acknowledges but whose sshd is stopped is dead after the set silence."""
    host = connect(sshd.spec(), config=sshd.empty_config)
    onhost = OnHost(host, state=str(tmp_path / "s"), program=standin(), ping_after=0.5, dead_after=1.5)
    onhost.fence = fence
    stopped = sshd.session_pids()
    assert stopped
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(ConnectionLost if fence else Unreachable):
            onhost.call("echo")
        assert time.monotonic() - began < 4
        began = time.monotonic()
        host.close()
        assert time.monotonic() - began < 5
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


def test_a_killed_sshd_is_noticed_at_once(sshd: Server, tmp_path: Path) -> None:
    """A connection whose far end is killed breaks at once, in mid-call."""
    host = connect(sshd.spec(), config=sshd.empty_config)
    onhost = OnHost(host, state=str(tmp_path / "s"), program=standin())
    onhost.fence = 1
    timer = threading.Timer(0.3, lambda: [os.kill(p, signal.SIGKILL) for p in sshd.session_pids()])
    timer.start()
    began = time.monotonic()
    with pytest.raises(ConnectionLost):
        onhost.call("wait", {"seconds": 20})
    assert time.monotonic() - began < 3
    host.close()

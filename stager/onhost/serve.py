"""The far end of the channel: frames in, verbs carried out one at a time, answers and events out.

A reader thread takes frames off the channel, so that a sign of life renews the lease while a verb is under way. This
process never owns a run: when the channel ends, it stops at the next step, and the guard sees to the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import queue
import sys
import threading
import time
import traceback
from typing import Any, Dict, Optional

from . import clocks, ended, fence, lease, protocol, verbs
from .faults import Fault
from .state import Run


class ChannelGone(Exception):
    """Nobody is at the other end any more."""


class Overtaken(Exception):
    """The controller asked for the host back while the verb was under way."""


#: Seconds without any message after which a channel counts as cut; a controller gives signs of life every few seconds.
SILENCE_S = 300.0
#: Verbs that end whatever is under way: the operator wants the host back.
ENDING = ("restore", "release")


class Server:
    """One channel's end."""

    def __init__(self, state: str, program: str, nonce: str) -> None:
        self.state = state
        self.program = program
        self.nonce = nonce
        self.run: Optional[Run] = None
        self.number = 0
        self.told_end = False
        self.requests: "queue.Queue[Optional[Dict[str, Any]]]" = queue.Queue()
        self.gone = threading.Event()
        self.heard = time.monotonic()
        self.overtaken = threading.Event()
        self.writing = threading.Lock()
        self.out = os.dup(1)
        os.dup2(2, 1)  # whatever prints by mistake must not land between two frames

    def hello(self) -> None:
        """The line after which frames follow."""
        document = {
            "protocol": 1,
            "state": self.state,
            "uid": os.geteuid(),
            "hostname": os.uname().nodename,
            "python": platform.python_version(),
            "boot_id": clocks.boot_id(),
        }
        self.write(("\n%s %s\n" % (self.nonce, json.dumps(document))).encode())

    def write(self, data: bytes) -> None:
        """Write to the channel; a channel that is gone is remembered."""
        try:
            with self.writing:
                view = memoryview(data)
                while view:
                    view = view[os.write(self.out, view) :]
        except OSError:
            self.gone.set()

    def say(self, event: str, **fields: Any) -> None:
        """Send an event; ends the verb under way when nobody listens any more, or the host is wanted back.

        Raises:
            ChannelGone, Overtaken: then nothing more is begun.
        """
        self.pulse()
        self.write(protocol.encode(dict(fields, event=event)))

    def pulse(self) -> None:
        """Whether the verb under way may go on.

        Raises:
            ChannelGone: nobody listens. Overtaken: the controller asked for the host back.
        """
        if self.gone.is_set():
            raise ChannelGone
        if self.overtaken.is_set():
            raise Overtaken

    def read(self) -> None:
        """The reader thread."""
        try:
            while True:
                message = protocol.read_frame(lambda size: os.read(0, size))
                if message is None:
                    break
                self.live()
                if message.get("verb") == "ping":
                    self.pong(message.get("id"))
                elif message.get("verb") == "beat":
                    self.tell_end()
                else:
                    if message.get("verb") in ENDING:
                        self.overtaken.set()
                    self.requests.put(message)
        except (OSError, protocol.ProtocolError):
            pass  # a broken channel is an ended channel
        finally:  # whatever it was: a channel that nobody reads must not look like one that has nothing to say
            self.gone.set()
            self.requests.put(None)

    def live(self) -> None:
        """A message came: renew the lease, if the run is still this controller's."""
        self.heard = time.monotonic()
        with contextlib.suppress(OSError):  # read-only by now: the lease runs out and the guard restores
            if self.run is not None and fence.read(self.run.fence_path) == self.number:
                lease.touch(self.run)

    def lost(self) -> Optional[Fault]:
        """Why this channel's run is its controller's no more; None while it is, and where nothing can be read of it."""
        try:
            return ended.word(self.run, self.number) if self.run is not None else None
        except OSError:
            return None

    def pong(self, asked: Any) -> None:
        """Answer that we live; or, where the run is lost, with that."""
        lost = self.lost()
        told: Dict[str, Any] = {"ok": False, "error": lost.document()} if lost else {"ok": True, "result": None}
        self.write(protocol.encode(dict(told, id=asked)))

    def tell_end(self) -> None:
        """Tell a controller that gives signs of life for a run which is lost; once."""
        lost = None if self.told_end else self.lost()
        if lost:
            self.told_end = True
            self.write(protocol.encode({"event": protocol.OVER, "error": lost.document()}))

    def take(self, run: Run, number: int) -> None:
        """From now on this channel speaks for a run."""
        self.run, self.number, self.told_end = run, number, False
        self.live()

    def serve(self) -> int:
        """Until the channel ends."""
        self.hello()
        threading.Thread(target=self.read, daemon=True).start()
        while True:
            try:
                message = self.requests.get(timeout=SILENCE_S)
            except queue.Empty:
                if time.monotonic() - self.heard > SILENCE_S:
                    return 0  # the network was cut without a word; sshd may not notice for hours
                continue
            if message is None:
                return 0
            answer: Dict[str, Any] = {"id": message.get("id"), "ok": True}
            start = time.monotonic()
            if message.get("verb") in ENDING:
                self.overtaken.clear()
            try:
                answer["result"] = verbs.carry_out(
                    self, str(message.get("verb")), message.get("args") or {}, message.get("fence")
                )
            except ChannelGone:
                return 0
            except Overtaken:
                answer.update(ok=False, error={"kind": "fault", "message": "ended: the host was asked for back"})
            except Fault as fault:
                answer.update(ok=False, error=fault.document())
            except Exception as error:  # the other end must hear of it, whatever it is
                trace = traceback.format_exc()
                sys.stderr.write(trace)
                answer.update(
                    ok=False,
                    error={"kind": "fault", "message": "%s: %s" % (type(error).__name__, error), "trace": trace},
                )
            answer["seconds"] = round(time.monotonic() - start, 4)
            self.write(protocol.encode(answer))

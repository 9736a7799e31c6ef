"""A tiny program in the place of ``stager/onhost``, for tests of the channel alone."""

from __future__ import annotations

from pathlib import Path

import stager.onhost.protocol
from stager.host.program import Program, pack

_SOURCE = r"""
import json, os, queue, sys, threading, time
from protocol import encode, read_frame

def main(argv):
    nonce = argv[argv.index("--nonce") + 1]
    state = argv[argv.index("--state") + 1]
    out = sys.stdout.buffer
    lock = threading.Lock()
    def send(message):
        with lock:
            out.write(encode(message)); out.flush()
    hello = {"protocol": 1, "uid": os.getuid(), "state": state, "argv": sys.argv}
    out.write(("\n%s %s\n" % (nonce, json.dumps(hello))).encode())
    out.flush()
    todo = queue.Queue()
    beats = [0]
    mute = threading.Event()
    lost = []
    def read():
        while True:
            message = read_frame(sys.stdin.buffer.read)
            if message is None:
                todo.put(None); return
            if message["verb"] == "beat":
                beats[0] += 1
                if lost:
                    send({"event": "over", "error": lost[0]})
            elif message["verb"] == "ping":
                if not mute.is_set():
                    send({"id": message["id"], "ok": True, "result": "pong"})
            else:
                todo.put(message)
    threading.Thread(target=read, daemon=True).start()
    while True:
        message = todo.get()
        if message is None:
            note = os.environ.get("STANDIN_NOTE") or os.path.join(state, "ended")
            open(note, "w").close()
            return 0
        verb, args = message["verb"], message["args"]
        result = None
        if verb == "echo":
            result = args
        elif verb == "fence":
            result = message["fence"]
        elif verb == "big":
            result = "é" * args["size"]
        elif verb == "wait":
            time.sleep(args["seconds"]); result = beats[0]
        elif verb == "beats":
            result = beats[0]
        elif verb == "events":
            for i in range(args["n"]):
                send({"event": "step", "i": i})
        elif verb == "late":
            def later():
                time.sleep(args["after"]); send({"event": "late"})
            threading.Thread(target=later, daemon=True).start()
        elif verb == "fail":
            send({"id": message["id"], "ok": False, "error": args}); continue
        elif verb == "lose":
            lost.append(args)
        elif verb == "mute":
            mute.set(); time.sleep(args["seconds"])
        elif verb == "shout":
            sys.stderr.write("e" * args["size"]); sys.stderr.flush()
        elif verb == "die":
            sys.stderr.write("Traceback: it broke here\n"); sys.stderr.flush(); os._exit(3)
        elif verb == "garbage":
            os.write(1, b"\xff\xff\xff\xffnonsense"); continue
        send({"id": message["id"], "ok": True, "result": result})

sys.exit(main(sys.argv))
"""


def standin(note: str = "") -> Program:
    """Return the stand-in; ``note`` makes its digest another one."""
    protocol = Path(stager.onhost.protocol.__file__).read_bytes()
    return pack({"__main__.py": _SOURCE.encode() + f"# {note}\n".encode(), "protocol.py": protocol})

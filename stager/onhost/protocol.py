"""Framed JSON over one channel.

A frame is a 4-byte big-endian length and that many bytes of UTF-8 JSON.

request  ``{"id", "verb", "args", "fence"}``   fence is None for verbs that only look
answer   ``{"id", "ok": true, "result"}`` or ``{"id", "ok": false, "error": {"kind", "message", ...}}``
event    ``{"event", ...}``                     unsolicited: progress of the request under way
beat     ``{"verb": "beat"}``                   a sign of life; no id, no answer
over     ``{"event": "over", "error": {...}}``  once, to a beat for a run that is the sender's no more; a ping for
                                                such a run is answered with the same error

Before the first frame the far end writes one line, ``\\n<nonce> <json hello>\\n``: whatever a login shell,
a banner or a message of the day printed before it is skipped.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Callable, Dict, Optional

Message = Dict[str, Any]

LENGTH = struct.Struct(">I")
MAX_FRAME = 64 * 1024 * 1024
OVER = "over"


class ProtocolError(Exception):
    """The bytes are not frames of ours."""


def encode(message: Message) -> bytes:
    """Return the frame of a JSON-ready message."""
    body = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()
    if len(body) > MAX_FRAME:
        raise ProtocolError("frame of %d bytes is over the limit of %d" % (len(body), MAX_FRAME))
    return LENGTH.pack(len(body)) + body


def read_exactly(read: Callable[[int], bytes], size: int) -> bytes:
    """Read ``size`` bytes with ``read(n)``; fewer only at the end of the stream."""
    parts = []
    while size:
        part = read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_frame(read: Callable[[int], bytes]) -> Optional[Message]:
    """Return the next message, or None at a clean end of the stream.

    Raises:
        ProtocolError: cut in mid-frame, too long, or not JSON.
    """
    head = read_exactly(read, LENGTH.size)
    if not head:
        return None
    if len(head) < LENGTH.size:
        raise ProtocolError("the channel was cut inside a frame's length")
    (size,) = LENGTH.unpack(head)
    if size > MAX_FRAME:
        raise ProtocolError("a frame of %d bytes was announced; the limit is %d" % (size, MAX_FRAME))
    body = read_exactly(read, size)
    if len(body) < size:
        raise ProtocolError("the channel was cut inside a frame")
    try:
        message = json.loads(body.decode())
    except ValueError as error:
        raise ProtocolError("a frame is not JSON: %s" % error) from None
    if not isinstance(message, dict):
        raise ProtocolError("a frame is not a JSON object")
    return message

"""Binary event streams of AWS: bytes <-> events with a name and a JSON payload.

A frame is its length, the length of its headers and a CRC of both; the headers; the payload; a CRC
of all before it. Numbers are big-endian, a header is its name, a type and a value. A frame whose
prelude does not add up ends the reading: what follows cannot be told apart.

Source: AWS Smithy, "Amazon Event Stream specification".
"""

import struct
from zlib import crc32

from mcprec_addon.wire.sse import SseEvent

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_STRING = 7
_SIZED = frozenset({6, _STRING})  # types whose value has its length before it, in two bytes
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_SHORTEST = _PRELUDE.size + _CRC.size
_EXCEPTION = "Exception"  # ends the names of those events, and of no others


class FrameReader:
    """Reads a stream in chunks of any size."""

    is_closed = False
    tail = ""  # bytes, which no text can hold

    def __init__(self) -> None:
        self._pending = bytearray()
        self._is_broken = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes, in order."""
        self._pending += chunk
        found: list[SseEvent] = []
        at = 0
        while not self._is_broken and len(self._pending) - at >= _PRELUDE.size:
            size, headers_size, crc = _PRELUDE.unpack_from(self._pending, at)
            prelude = self._pending[at : at + _PRELUDE.size - _CRC.size]
            self._is_broken = crc32(prelude) != crc or size < _SHORTEST + headers_size
            if self._is_broken or len(self._pending) - at < size:
                break
            frame = bytes(self._pending[at : at + size])
            body = _PRELUDE.size + headers_size
            headers = _headers(frame[_PRELUDE.size : body])
            name = headers.get(":event-type") or headers.get(":exception-type")
            payload = frame[body : -_CRC.size]
            found.append(SseEvent(data=payload.decode("utf-8", "replace"), event=name))
            at += size
        del self._pending[:at]
        return found


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers that are text; what cannot be read ends them."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        end = at + 1 + data[at]
        name = data[at + 1 : end].decode("utf-8", "replace")
        if end >= len(data):
            break
        kind = data[end]
        at = end + 1
        size = _SIZES.get(kind, len(data))
        if kind in _SIZED:
            size = int.from_bytes(data[at : at + 2])
            at += 2
        if kind == _STRING:
            found[name] = data[at : at + size].decode("utf-8", "replace")
        at += size
    return found


def encode_frame(data: str, name: str | None) -> bytes:
    """Return one event as a frame; one whose name ends in ``Exception`` is an exception."""
    kind = "exception" if name is not None and name.endswith(_EXCEPTION) else "event"
    lines = {
        f":{kind}-type": name or "",
        ":content-type": "application/json",
        ":message-type": kind,
    }
    headers = b"".join(_header(each, value) for each, value in lines.items())
    payload = data.encode()
    sizes = struct.pack(">II", _SHORTEST + len(headers) + len(payload), len(headers))
    frame = sizes + _CRC.pack(crc32(sizes)) + headers + payload
    return frame + _CRC.pack(crc32(frame))


def _header(name: str, value: str) -> bytes:
    text = value.encode()
    return bytes([len(name)]) + name.encode() + struct.pack(">BH", _STRING, len(text)) + text

"""Binary event streams of AWS: bytes <-> events with a name and a JSON payload.

A frame is its length, the length of its headers and a CRC of both; the headers; the payload; a CRC
of all before it. Numbers are big-endian, a header is its name, a type and a value. A frame that
does not add up ends the reading: what follows cannot be told apart, and is kept as it came.

Of the headers the name alone is kept, for the rest follows from it. An exception's name ends in
``Exception`` and no event's does; an error that the service does not model is named ``error:CODE``.

Source: AWS Smithy, "Amazon Event Stream specification".
"""

import struct
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Final
from zlib import crc32

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import JsonError, dumps, is_plain, loads
from mcprec_addon.wire.sse import SseEvent

_PRELUDE: Final = struct.Struct(">III")
_CRC: Final = struct.Struct(">I")
_STRING: Final = 7
_SIZED: Final = frozenset({6, _STRING})  # types whose value has its length before it, in two bytes
_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_SHORTEST: Final = _PRELUDE.size + _CRC.size
_LONGEST: Final = 25 << 20  # a payload has 24 MiB at most, headers 128 KiB
_EXCEPTION: Final = "Exception"
_ERROR: Final = "error:"

CODEC: Final = "latin-1"
"""Bytes of a frame that cannot be read are kept as text, a character for each."""


class FrameReader:
    """Reads a stream in chunks of any size."""

    is_closed = False

    def __init__(self) -> None:
        self._pending = bytearray()
        self._is_damaged = False

    @property
    def tail(self) -> str:
        """The bytes of a frame that has not ended, or from a damaged one on, in `CODEC`."""
        return self._pending.decode(CODEC)

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes, in order."""
        self._pending += chunk
        found: list[SseEvent] = []
        at = 0
        try:
            while not self._is_damaged and (size := _size(self._pending, at)):
                if len(self._pending) - at < size:
                    break
                found.append(_event(bytes(self._pending[at : at + size])))
                at += size
        except (LookupError, ValueError, struct.error):
            self._is_damaged = True
        del self._pending[:at]
        return found


def _size(pending: bytearray, at: int) -> int:
    """Return how long a frame is, 0 where its begin is not there yet.

    Raises:
        ValueError: It is no frame.
    """
    if len(pending) - at < _PRELUDE.size:
        return 0
    size, headers_size, crc = _PRELUDE.unpack_from(pending, at)
    is_sound = crc32(pending[at : at + _PRELUDE.size - _CRC.size]) == crc
    if not is_sound or not _SHORTEST + headers_size <= size <= _LONGEST:
        message = f"a frame of {size} bytes with {headers_size} of headers"
        raise ValueError(message)
    return int(size)


def _event(frame: bytes) -> SseEvent:
    """Return what a frame says.

    Raises:
        LookupError, ValueError, struct.error: It is damaged.
    """
    if crc32(frame[: -_CRC.size]) != _CRC.unpack_from(frame, len(frame) - _CRC.size)[0]:
        message = "the CRC of a frame is wrong"
        raise ValueError(message)
    body = _PRELUDE.size + int(_PRELUDE.unpack_from(frame)[1])
    headers = _headers(frame[_PRELUDE.size : body])
    payload = frame[body : -_CRC.size].decode()
    if headers.get(":message-type") == "error":
        said: Json = {"message": headers.get(":error-message", "")}
        code = headers.get(":error-code", "")
        return SseEvent(data=payload or dumps(said).decode(), event=_ERROR + code)
    name = headers.get(":event-type") or headers.get(":exception-type") or None
    return SseEvent(data=payload, event=name)


def _headers(data: bytes) -> dict[str, str]:
    """Return the headers that are text."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        end = at + 1 + data[at]
        name, kind = data[at + 1 : end].decode(), data[end]
        at = end + 1
        size = int.from_bytes(data[at : at + 2]) if kind in _SIZED else _SIZES[kind]
        at += 2 if kind in _SIZED else 0
        if kind == _STRING:
            found[name] = data[at : at + size].decode()
        at += size
    return found


def is_failure(name: str) -> bool:
    """Whether a frame of this name says that the call failed."""
    return name.endswith(_EXCEPTION) or name.startswith(_ERROR)


def encode_frame(data: str, name: str | None) -> bytes:
    """Return one event as a frame."""
    headers = b"".join(_header(*line) for line in _header_lines(data, name or ""))
    payload = data.encode()
    sizes = struct.pack(">II", _SHORTEST + len(headers) + len(payload), len(headers))
    frame = sizes + _CRC.pack(crc32(sizes)) + headers + payload
    return frame + _CRC.pack(crc32(frame))


def _header_lines(data: str, name: str) -> list[tuple[str, str]]:
    if name.startswith(_ERROR):
        return [
            (":error-code", name.removeprefix(_ERROR)),
            (":error-message", _message(data)),
            (":message-type", "error"),
        ]
    kind = "exception" if name.endswith(_EXCEPTION) else "event"
    return [
        (f":{kind}-type", name),
        (":content-type", "application/json"),
        (":message-type", kind),
    ]


def _message(data: str) -> str:
    try:
        value = loads(data)
    except JsonError:
        return data
    message = value.get("message") if isinstance(value, dict) else None
    return message if isinstance(message, str) else data


def _header(name: str, value: str) -> bytes:
    text = value.encode()[:0x7FFF]
    return bytes([len(name)]) + name.encode() + struct.pack(">BH", _STRING, len(text)) + text


def opened(value: Json) -> Json:
    """Return a payload with the JSON in its ``bytes`` opened, so that it can be read and redacted.

    Bedrock packs what a model says into base64 where it is invoked in the model's own shape.
    """
    if not isinstance(value, dict) or not isinstance(value.get("bytes"), str):
        return value
    try:
        inner = loads(b64decode(str(value["bytes"]), validate=True))
    except (Base64Error, ValueError, JsonError):
        return value
    return {**value, "bytes": inner} if isinstance(inner, dict) and is_plain(inner) else value


def closed(value: Json) -> Json:
    """Return a payload that `opened` opened as it goes over the wire."""
    if not isinstance(value, dict) or not isinstance(value.get("bytes"), dict):
        return value
    return {**value, "bytes": b64encode(dumps(value["bytes"])).decode()}

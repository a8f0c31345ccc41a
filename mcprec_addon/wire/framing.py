"""The framings of a streamed model answer: bytes <-> events, by media type.

Whatever the framing, an event is an `SseEvent`: its data as text, and its name where it has one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import JsonError, loads
from mcprec_addon.wire import eventstream
from mcprec_addon.wire.eventstream import FrameReader, encode_frame
from mcprec_addon.wire.sse import SseEvent, SseReader, encode_event

SSE = "text/event-stream"
_ARRAY = "application/json"
_MARK = re.compile(rb'["\\{}\[\],]')
_QUOTED = re.compile(rb'["\\]')


class Reader(Protocol):
    """Reads a stream in chunks of any size."""

    @property
    def tail(self) -> str:
        """The text of an event that has begun and not ended."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether the framing itself says that the stream is over."""
        ...

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes, in order."""
        ...


class LinesReader:
    """Reads JSON values, one a line; blank lines are nothing."""

    is_closed = False

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    @property
    def tail(self) -> str:
        """The text of a line that has not ended."""
        return b"".join(self._pending).decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the lines that `chunk` completes, in order."""
        if b"\n" not in chunk:
            self._pending.append(chunk)
            return []
        *lines, rest = b"".join([*self._pending, chunk]).split(b"\n")
        self._pending = [rest] if rest else []
        texts = [line.decode("utf-8", "replace").strip() for line in lines]
        return [SseEvent(data=text) for text in texts if text]


class ArrayReader:
    """Reads the elements of one JSON array as they are complete."""

    def __init__(self) -> None:
        self._element = bytearray()
        self._depth = 0
        self._is_quoted = False
        self._skips = 0
        self.is_closed = False

    @property
    def tail(self) -> str:
        """The text of an element that has not ended."""
        return bytes(self._element).decode("utf-8", "replace").strip()

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the elements that `chunk` completes, in order."""
        found: list[SseEvent] = []
        at, self._skips = self._skips, 0
        start = 0
        while (match := (_QUOTED if self._is_quoted else _MARK).search(chunk, at)) is not None:
            at = match.end()
            mark = match[0]
            if mark == b"\\":
                at += 1  # the character behind it is no mark
            elif mark == b'"':
                self._is_quoted = not self._is_quoted
            else:
                start = self._step(mark, chunk, start, at, found)
        self._skips = max(0, at - len(chunk))
        self._element += chunk[start:]
        return found

    def _step(self, mark: bytes, chunk: bytes, start: int, at: int, found: list[SseEvent]) -> int:
        opens, closes = mark in b"{[", mark in b"}]"
        self._depth += opens - closes
        if opens and self._depth == 1:
            self._element.clear()
            return at
        if closes and self._depth == 0:
            self._element += chunk[start : at - 1]
            self.is_closed = True
        elif closes and self._depth == 1:
            self._element += chunk[start:at]
        elif mark == b"," and self._depth == 1:
            self._element += chunk[start : at - 1]
        else:
            return start
        if text := self.tail:
            found.append(SseEvent(data=text))
        self._element.clear()
        return at


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """One framing.

    Attributes:
        reader: Makes a reader.
        write: Makes the bytes of an event: data, name, how many stand before it.
        close: What ends a whole stream.
        codec: How a tail is written as bytes.
        is_whole: Whether a tail is a whole event that only nothing follows.
        opened: The value of an event as it is kept, of the one on the wire.
        closed: The other way round.
    """

    reader: Callable[[], Reader]
    write: Callable[[str, str | None, int], bytes]
    close: bytes = b""
    codec: str = "utf-8"
    is_whole: Callable[[str], bool] = lambda _: False
    opened: Callable[[Json], Json] = lambda value: value
    closed: Callable[[Json], Json] = lambda value: value

    def write_tail(self, tail: str, before: int) -> bytes:
        """Return the bytes of an event that never ended, behind `before` whole ones."""
        return self.write(tail, None, before) if self.close else tail.encode(self.codec, "replace")

    def write_end(self, before: int) -> bytes:
        """Return what ends a whole stream of `before` events."""
        if before or not self.close:
            return self.close
        return self.write("", None, 0) + self.close


def _is_object(text: str) -> bool:
    """Whether a line without a line end is one: half a number would be a number too."""
    try:
        return isinstance(loads(text), dict)
    except JsonError:
        return False


_FRAMINGS = {
    SSE: Framing(reader=SseReader, write=lambda data, name, _: encode_event(data, event=name)),
    **dict.fromkeys(
        (
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
            "application/x-jsonlines",
            "application/stream+json",
        ),
        Framing(
            reader=LinesReader,
            write=lambda data, _name, _before: f"{data}\n".encode(),
            is_whole=_is_object,
        ),
    ),
    "application/vnd.amazon.eventstream": Framing(
        reader=FrameReader,
        write=lambda data, name, _: encode_frame(data, name),
        codec=eventstream.CODEC,
        opened=eventstream.opened,
        closed=eventstream.closed,
    ),
    _ARRAY: Framing(
        reader=ArrayReader,
        write=lambda data, _, before: (",\r\n" if before else "[").encode() + data.encode(),
        close=b"]",
    ),
}


def framing_of(media_type: str, *, has_arrays: bool) -> Framing | None:
    """Return the framing of an answer, or None where it is one body.

    Args:
        media_type: Media type of the answer.
        has_arrays: Whether a JSON array is a stream.
    """
    return None if media_type == _ARRAY and not has_arrays else _FRAMINGS.get(media_type)


def recorded_framing(media_type: str) -> Framing:
    """Return the framing in which a recorded stream goes out; by default server-sent events."""
    return _FRAMINGS.get(media_type, _FRAMINGS[SSE])

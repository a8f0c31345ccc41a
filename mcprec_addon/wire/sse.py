"""Event-stream framing, whole or cut: bytes <-> events.

Lines may end in CR, LF or CRLF and chunks may cut them anywhere, inside a character too.

Source: WHATWG HTML, 9.2.6 "Interpreting an event stream".
"""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class SseEvent:
    r"""One block of a stream, or one comment line.

    Attributes:
        data: The data lines joined by ``\n``; None where the block has none.
        event: The event's name, or None.
        id: The event's id, or None.
        retry: The reconnection time as written, or None.
        comment: The text of a comment line, which stands alone, or None.
    """

    data: str | None = None
    event: str | None = None
    id: str | None = None
    retry: str | None = None
    comment: str | None = None


class SseReader:
    """Reads a stream in chunks of any size."""

    is_closed = False  # the framing has no end of its own

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._block: list[bytes] = []
        self._fields: dict[str, list[str]] = {}
        self._skip_lf = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Return the events that `chunk` completes, in order."""
        if self._skip_lf and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_lf = False
        if b"\n" not in chunk and b"\r" not in chunk:
            self._pending.append(chunk)
            return []
        lines = b"".join([*self._pending, chunk]).splitlines(keepends=True)
        self._pending = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        self._skip_lf = not self._pending and lines[-1].endswith(b"\r")
        return [event for line in lines for event in self._line(line)]

    @property
    def tail(self) -> str:
        """The text of an event that has begun and not ended; empty where there is none."""
        return b"".join([*self._block, *self._pending]).decode("utf-8", "replace")

    def _line(self, raw: bytes) -> list[SseEvent]:
        if self._at_start:
            raw = raw.removeprefix(_BOM)
            self._at_start = False
        line = raw.rstrip(b"\r\n").decode("utf-8", "replace")
        if not line:
            return self._dispatch()
        if line.startswith(":"):
            return [SseEvent(comment=line[1:].removeprefix(" "))]
        self._block.append(raw)
        name, _, value = line.partition(":")
        self._fields.setdefault(name, []).append(value.removeprefix(" "))
        return []

    def _dispatch(self) -> list[SseEvent]:
        fields, self._fields, self._block = self._fields, {}, []
        if not fields.keys() & {"data", "event", "id", "retry"}:
            return []
        last = {name: values[-1] for name, values in fields.items()}
        data = "\n".join(fields["data"]) if "data" in fields else None
        return [
            SseEvent(
                data=data,
                event=last.get("event"),
                id=last.get("id"),
                retry=last.get("retry"),
            )
        ]


def encode_event(data: str, *, event: str | None = None) -> bytes:
    """Return one event as bytes, its lines ended by LF."""
    head = f"event: {event}\n" if event is not None else ""
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (head + "".join(f"data: {line}\n" for line in lines) + "\n").encode()


def encode_comment(text: str) -> bytes:
    """Return one comment line, and the blank line that servers put behind it."""
    return f": {text}\n\n".encode()

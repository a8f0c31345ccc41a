"""A cassette as bytes: JSON Lines, one record a line, format version 1.

Order: header, MCP records by seq, a section line, model records by seq with their parts just
before the first use. A reader stops at the first bad line and names it; only the torn tail of
a journal is dropped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, cast

from mcprec_addon.cassette.blobs import BlobReader, Read, no_blobs
from mcprec_addon.cassette.damage import LineDamageError
from mcprec_addon.cassette.exact import unescaped, without_raw
from mcprec_addon.cassette.fields import Fields, RecordProblemError
from mcprec_addon.cassette.header import VERSION, read_header
from mcprec_addon.cassette.lines import Group, Line, parsed, reaches_into_events
from mcprec_addon.cassette.long_streams import long_mcp_events, long_stream_events
from mcprec_addon.cassette.parts import PartReader
from mcprec_addon.cassette.records import (
    VIAS,
    read_mcp,
    read_message,
    read_model,
    read_noise,
)
from mcprec_addon.errors import CassetteFormatError
from mcprec_addon.exchange import (
    Cassette,
    Header,
    Json,
    McpExchange,
    Message,
    ModelExchange,
    Noise,
    Via,
)
from mcprec_addon.jsonvalue import dumps

_BOM: Final = b"\xef\xbb\xbf"
_KINDS: Final = "message, model, noise, part and section"
_LONE_LABEL: Final = "server"  # of a cassette whose header names no server


def read_cassette(data: bytes, *, path: str) -> Cassette:
    """Return the cassette in `data`.

    Args:
        data: The whole file.
        path: The file, as messages name it.

    Raises:
        CassetteFormatError: A line is not a record of format 1; nothing else is raised.
    """
    return read_lines(_lines(data), path=path, is_journal=False)


def read_lines(
    lines: Iterable[Line], *, path: str, is_journal: bool, read_blob: Read = no_blobs
) -> Cassette:
    """Return the cassette, or what a journal holds, in lines that are taken one by one.

    Args:
        lines: Blank ones too, so that they count.
        path: The file, as messages name it.
        is_journal: It is a journal: its header may be missing and its last line torn.
        read_blob: Returns the blobs beside it.

    Raises:
        CassetteFormatError: A line is not a record of format 1; nothing else is raised.
    """
    return _Reader(path, is_journal=is_journal, read_blob=read_blob).read(lines)


def _lines(data: bytes) -> Iterator[Line]:
    *ended, last = data.split(b"\n")
    yield from (Line(text=text) for text in ended)
    if last:
        yield Line(text=last, is_ended=False)


def read_journal(data: bytes, *, path: str) -> Cassette:
    """Return what a journal holds, its torn tail dropped with a warning.

    Raises:
        CassetteFormatError: A line before the last is not a record of format 1.
    """
    return read_lines(_lines(data), path=path, is_journal=True)


class _Reader:
    """Reads records in the order of the file; its life is one file."""

    def __init__(self, path: str, *, is_journal: bool, read_blob: Read) -> None:
        self._path = path
        self._is_journal = is_journal
        self._number = 1
        self._header: Header | None = None
        self._server: str | None = _LONE_LABEL
        self._mcp: list[McpExchange] = []
        self._model: list[ModelExchange] = []
        self._messages: list[Message] = []
        self._noise: list[Noise] = []
        self._model_via: Via | None = None
        self._lines_of: dict[int, int] = {}
        self._warnings: list[str] = []
        self._parts = PartReader()
        self._read_blob = read_blob
        self._blobs = BlobReader(read_blob)
        self._groups: tuple[Group, ...] = ()  # of the line that is read
        self._early: dict[int, list[Group]] = {}  # of streams whose exchange is still to come
        self._kinds = {
            "events": self._add_events,
            "message": self._add_message,
            "model": self._add_model,
            "noise": self._add_noise,
            "part": self._add_part,
            "section": self._add_section,
        }

    def read(self, lines: Iterable[Line]) -> Cassette:
        held: tuple[int, Line] | None = None  # only the last may be torn
        try:
            for number, line in enumerate(lines, 1):
                text = line.text.removeprefix(_BOM) if number == 1 else line.text
                if text.strip():
                    self._take(held, is_last=False)
                    held = number, replace(line, text=text.rstrip(b"\r"))
            self._take(held, is_last=True)
        except RecordProblemError as error:
            raise CassetteFormatError(self._path, self._number, str(error)) from error
        if held is None and not self._is_journal:
            message = 'the file is empty; a cassette starts with {"mcprec":1}'
            raise CassetteFormatError(self._path, self._number, message)
        return self._cassette()

    def _take(self, held: tuple[int, Line] | None, *, is_last: bool) -> None:
        if held is not None:
            self._number, line = held
            self._read_line(line, torn=is_last and not line.is_ended, is_last=is_last)

    def _cassette(self) -> Cassette:
        for seq in sorted(self._early):
            text = f"{self._path}: #{seq} broke off in the middle of its stream and is left out"
            self._warnings.append(text)
        return Cassette(
            header=self._header or Header(),
            exchanges=(*self._mcp, *self._model),
            messages=tuple(self._messages),
            noise=tuple(self._noise),
            model_via=self._model_via,
            warnings=tuple(self._warnings),
        )

    def _warn(self, text: str) -> None:
        self._warnings.append(f"{self._path}:{self._number}: {text}")

    def _read_line(self, line: Line, *, torn: bool, is_last: bool) -> None:
        try:
            value, spelled = parsed(line.text, torn=torn)
        except LineDamageError as error:
            if self._header is None and not self._is_journal and line.text[:1] != b"{":
                message = f'{error}; is it a cassette? one starts with {{"mcprec":1}}'
                raise RecordProblemError(message) from error
            if not (self._is_journal and is_last):
                raise
            self._warn("the last line was cut off and is left out")
            return
        if not isinstance(value, dict):
            message = "the line is no object, or has a doubled key; a record is one object"
            raise RecordProblemError(message)
        if line.groups and (value.get("events") != [] or reaches_into_events(value)):
            self._read_line(Line(text=line.whole()), torn=torn, is_last=is_last)
            return
        self._groups = line.groups
        self._read_record(self._payload(value, spelled))

    def _payload(self, value: dict[str, Json], spelled: bytes) -> dict[str, Json]:
        """Return a record with everything in its place that the file has elsewhere."""
        has_raw = "raw" in value
        if b'"$blob"' in spelled:
            value = self._with_blobs(value)
        if has_raw:
            value = without_raw(value)
        if has_raw or b'"$' in spelled:  # a pointer of raw may bring in a key that is escaped
            value = self._without_markers(value)
        return value

    def _with_blobs(self, record: dict[str, Json]) -> dict[str, Json]:
        try:
            return cast("dict[str, Json]", self._blobs.whole(record))
        except RecordProblemError as error:
            named = f"#{record['seq']}: " if "seq" in record else ""
            message = f"{named}{error}"
            raise RecordProblemError(message) from error

    def _without_markers(self, record: dict[str, Json]) -> dict[str, Json]:
        if record.get("kind") != "model":
            return cast("dict[str, Json]", unescaped(record))
        request = record.pop("request", None)
        rest = cast("dict[str, Json]", unescaped(record))
        return rest if request is None else rest | {"request": self._parts.whole(request)}

    def _read_record(self, record: dict[str, Json]) -> None:
        if self._header is None:
            self._read_first(record)
            return
        if "mcprec" in record:
            message = "a second header; a cassette has one: keep one recording, or delete this line"
            raise RecordProblemError(message)
        kind = record.pop("kind", None)
        read = self._kinds.get(kind if isinstance(kind, str) else "")
        if kind is None:
            self._add_mcp(Fields(record))
        elif read is None:
            shown = dumps(kind).decode()
            message = f"record kind {shown} is unknown; format {VERSION} has {_KINDS}"
            raise RecordProblemError(message)
        else:
            read(Fields(record))

    def _read_first(self, record: dict[str, Json]) -> None:
        if "mcprec" in record:
            self._header = read_header(Fields(record))
            labels = [*self._header.servers] or [_LONE_LABEL]
            self._server = labels[0] if len(labels) == 1 else None
            return
        if not self._is_journal:
            message = 'the first line is no header; a cassette starts with {"mcprec":1}'
            raise RecordProblemError(message)
        self._header = Header()
        self._read_record(record)

    def _add_mcp(self, fields: Fields) -> None:
        exchange = read_mcp(fields, self._server, is_long=bool(self._groups))
        self._note_seq(exchange.seq)
        groups = self._groups_of(exchange.seq)
        if groups:
            events = long_mcp_events(groups, exchange.answer.events, self._read_blob)
            exchange = replace(exchange, answer=replace(exchange.answer, events=events))
        self._mcp.append(exchange)

    def _add_model(self, fields: Fields) -> None:
        exchange = read_model(fields)
        self._note_seq(exchange.seq)
        self._parts.add_request(exchange.seq, exchange.call.request)
        groups = self._groups_of(exchange.seq)
        if groups:
            events, tail = long_stream_events(groups, exchange.answer.events, self._read_blob)
            tail = exchange.answer.tail or tail
            exchange = replace(exchange, answer=replace(exchange.answer, events=events, tail=tail))
        self._model.append(exchange)

    def _groups_of(self, seq: int) -> tuple[Group, ...]:
        return (*self._early.pop(seq, ()), *self._groups)

    def _add_events(self, fields: Fields) -> None:
        if not self._is_journal:
            message = f'record kind "events" stands in journals only; format {VERSION} has {_KINDS}'
            raise RecordProblemError(message)
        groups = self._early.setdefault(fields.whole("seq") or 0, [])
        groups += self._groups
        at_hand = fields.elements("events")
        if at_hand:
            groups.append(lambda: dumps(at_hand)[1:-1])

    def _note_seq(self, seq: int) -> None:
        earlier = self._lines_of.setdefault(seq, self._number)
        if earlier != self._number:
            self._warn(f"seq {seq} stands on line {earlier} too; both are kept, in file order")

    def _add_message(self, fields: Fields) -> None:
        self._messages.append(read_message(fields, self._server))

    def _add_noise(self, fields: Fields) -> None:
        self._noise.append(read_noise(fields, self._server))

    def _add_part(self, fields: Fields) -> None:
        name = fields.needed_text("part")
        if not fields.has("value"):
            message = 'the part has no "value"; give it one'
            raise RecordProblemError(message)
        self._parts.add_part(name, fields.value("value"))

    def _add_section(self, fields: Fields) -> None:
        section = fields.needed_text("section")
        if section != "model":
            message = f'section "{section}" is unknown; format {VERSION} has model'
            raise RecordProblemError(message)
        via: Via | None = fields.choice("via", VIAS)
        if self._model_via not in (None, via):
            message = f"an earlier section line has another via, {self._model_via}; keep one"
            raise RecordProblemError(message)
        self._model_via = via

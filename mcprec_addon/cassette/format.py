"""A cassette as bytes: JSON Lines, one record a line, format version 1.

Order: header, MCP records by seq, a section line, model records by seq with their parts just
before the first use. A reader stops at the first bad line and names it; only the torn tail of
a journal is dropped.
"""

import re
from typing import Final, cast

import orjson

from mcprec_addon.cassette.damage import LineDamageError, second_reading
from mcprec_addon.cassette.exact import escaped, unescaped, with_raw, without_raw
from mcprec_addon.cassette.fields import Fields, RecordProblemError
from mcprec_addon.cassette.header import VERSION, header_record, read_header
from mcprec_addon.cassette.parts import PartReader, PartWriter
from mcprec_addon.cassette.records import (
    VIAS,
    mcp_record,
    message_record,
    model_record,
    noise_record,
    read_mcp,
    read_message,
    read_model,
    read_noise,
)
from mcprec_addon.errors import CassetteFormatError
from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Header,
    Json,
    McpExchange,
    Message,
    ModelExchange,
    Noise,
    Server,
    Via,
)
from mcprec_addon.jsonvalue import dumps, loads

_BOM: Final = b"\xef\xbb\xbf"
_KINDS: Final = "message, model, noise, part and section"
_LONE_LABEL: Final = "server"  # of a cassette whose header names no server
# Numbers that may not equal their double: every one with fewer digits or a larger exponent does.
_LONG_NUMBER: Final = re.compile(rb"[\d.]{17}|[eE]-\d{3}")


def write_header(header: Header) -> bytes:
    """Return the header as a line, its end included."""
    return _line(_escaped(header_record(header)))


def write_record(record: Exchange | Message | Noise) -> bytes:
    """Return one record as a line of a journal, its end included; nothing is shared."""
    match record:
        case McpExchange():
            return _line(_escaped(mcp_record(record, era=None, via=None)))
        case ModelExchange():
            return _line(_escaped(model_record(record, via=None)))
        case Message():
            return _line(_escaped(message_record(record)))
        case Noise():
            return _line(_escaped(noise_record(record)))


def write_cassette(cassette: Cassette) -> bytes:
    """Return a whole cassette as bytes."""
    lines = [write_header(cassette.header), *_mcp_lines(cassette)]
    models = [exchange for exchange in cassette.exchanges if isinstance(exchange, ModelExchange)]
    if models or cassette.model_via is not None:
        section: dict[str, Json] = {"kind": "section", "section": "model"}
        lines.append(_line(section | _present("via", cassette.model_via)))
    writer = PartWriter()
    for exchange in sorted(models, key=lambda exchange: exchange.seq):
        lines.extend(_model_lines(exchange, cassette.model_via, writer))
    return b"".join(lines)


def _present(name: str, value: Json) -> dict[str, Json]:
    return {} if value is None else {name: value}


def _mcp_lines(cassette: Cassette) -> list[bytes]:
    """Return the MCP records in order: what has no seq stands behind the exchange before it."""
    placed: list[tuple[tuple[int, int], dict[str, Json]]] = []
    for exchange in cassette.exchanges:
        if isinstance(exchange, McpExchange):
            server = cassette.header.servers.get(exchange.call.server, Server())
            record = mcp_record(exchange, era=server.era, via=server.via)
            placed.append(((exchange.seq, 0), record))
    placed.extend(((each.after, 1), message_record(each)) for each in cassette.messages)
    placed.extend(((each.after, 2), noise_record(each)) for each in cassette.noise)
    return [_line(_escaped(record)) for _, record in sorted(placed, key=lambda place: place[0])]


def _model_lines(exchange: ModelExchange, via: Via | None, writer: PartWriter) -> list[bytes]:
    record = model_record(exchange, via=via)
    shared = writer.shared(exchange.seq, record.pop("request", None))
    rest = _escaped(record)
    if exchange.call.request is not None:
        # A place early in the line: what was asked is read before what came back.
        rest = _inserted(rest, "request", shared.request, before="status")
    return [*map(_line, shared.parts), _line(rest)]


def _inserted(record: dict[str, Json], name: str, value: Json, *, before: str) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, member in record.items():
        if key == before:
            result[name] = value
        result[key] = member
    return result


def _escaped(record: dict[str, Json]) -> dict[str, Json]:
    return cast("dict[str, Json]", escaped(record))


def _line(record: dict[str, Json]) -> bytes:
    return dumps(with_raw(record)) + b"\n"


def read_cassette(data: bytes, *, path: str) -> Cassette:
    """Return the cassette in `data`.

    Args:
        data: The whole file.
        path: The file, as messages name it.

    Raises:
        CassetteFormatError: A line is not a record of format 1; nothing else is raised.
    """
    return _Reader(path, is_journal=False).read(data)


def read_journal(data: bytes, *, path: str) -> Cassette:
    """Return what a journal holds, its torn tail dropped with a warning.

    Raises:
        CassetteFormatError: A line before the last is not a record of format 1.
    """
    return _Reader(path, is_journal=True).read(data)


class _Reader:
    """Reads records in the order of the file; its life is one file."""

    def __init__(self, path: str, *, is_journal: bool) -> None:
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
        self._kinds = {
            "message": self._add_message,
            "model": self._add_model,
            "noise": self._add_noise,
            "part": self._add_part,
            "section": self._add_section,
        }

    def read(self, data: bytes) -> Cassette:
        lines = [
            (number, line.rstrip(b"\r"))
            for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1)
            if line.strip()
        ]
        if not lines and not self._is_journal:
            message = 'the file is empty; a cassette starts with {"mcprec":1}'
            raise CassetteFormatError(self._path, self._number, message)
        is_torn = not data.endswith(b"\n")
        last = lines[-1][0] if lines else 0
        try:
            for self._number, line in lines:
                is_last = self._number == last
                self._read_line(line, torn=is_torn and is_last, is_last=is_last)
        except RecordProblemError as error:
            raise CassetteFormatError(self._path, self._number, str(error)) from error
        return self._cassette()

    def _cassette(self) -> Cassette:
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

    def _read_line(self, line: bytes, *, torn: bool, is_last: bool) -> None:
        try:
            value, spelled = _parse(line, torn=torn)
        except LineDamageError as error:
            if self._header is None and not self._is_journal and line[:1] != b"{":
                message = f'{error}; is it a cassette? one starts with {{"mcprec":1}}'
                raise RecordProblemError(message) from error
            if not (self._is_journal and is_last):
                raise
            self._warn("the last line was cut off and is left out")
            return
        if not isinstance(value, dict):
            message = "the line is no object, or has a doubled key; a record is one object"
            raise RecordProblemError(message)
        has_raw = "raw" in value
        if has_raw:
            value = without_raw(value)
        if has_raw or b'"$' in spelled:  # a pointer of raw may bring in a key that is escaped
            value = self._without_markers(value)
        self._read_record(value)

    def _without_markers(self, record: dict[str, Json]) -> dict[str, Json]:
        if record.get("kind") != "model":
            return cast("dict[str, Json]", unescaped(record))
        request = record.pop("request", None)
        rest = cast("dict[str, Json]", unescaped(record))
        return rest | _present("request", self._parts.whole(request))

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
        exchange = read_mcp(fields, self._server)
        self._note_seq(exchange.seq)
        self._mcp.append(exchange)

    def _add_model(self, fields: Fields) -> None:
        exchange = read_model(fields)
        self._note_seq(exchange.seq)
        self._parts.add_request(exchange.seq, exchange.call.request)
        self._model.append(exchange)

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


def _parse(line: bytes, *, torn: bool) -> tuple[Json, bytes]:
    """Return the value of a line and its compact spelling."""
    try:
        value = cast("Json", orjson.loads(line))
    except orjson.JSONDecodeError as error:
        return second_reading(line, str(error), torn=torn), line
    try:
        spelled = orjson.dumps(value)
    except TypeError as error:
        message = "the record is nested more than 250 deep; flatten it"
        raise RecordProblemError(message) from error
    if spelled != line and _LONG_NUMBER.search(line):
        value = loads(line)
    return value, spelled

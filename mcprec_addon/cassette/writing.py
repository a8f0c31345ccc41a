"""A cassette as it is written: JSON Lines, one record a line, or piece by piece.

Order: header, MCP records by seq, a section line, model records by seq with their parts just
before the first use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

from mcprec_addon.cassette.blobs import LEAST, BlobWriter
from mcprec_addon.cassette.events import event_records, mcp_event_records
from mcprec_addon.cassette.exact import escaped, with_raw
from mcprec_addon.cassette.header import header_record
from mcprec_addon.cassette.lines import Piece, long_pieces, plain_piece
from mcprec_addon.cassette.parts import PartWriter
from mcprec_addon.cassette.records import mcp_record, message_record, model_record, noise_record
from mcprec_addon.exchange import (
    Cassette,
    EventGroup,
    Exchange,
    Header,
    Json,
    McpEvent,
    McpExchange,
    Message,
    ModelExchange,
    Noise,
    Server,
    StreamEvent,
    Via,
)
from mcprec_addon.jsonvalue import dumps
from mcprec_addon.long_events import LongEvents


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


def write_events(group: EventGroup) -> bytes:
    """Return some events of a running stream as a line of a journal, its end included."""
    record: dict[str, Json] = {"kind": "events", "seq": group.seq, "half": group.half, "events": []}
    return b"".join(piece.data for piece in long_pieces(record, [_escaped_events(group.events)]))


def write_cassette(cassette: Cassette) -> bytes:
    """Return a whole cassette as bytes, large content in its place."""
    return b"".join(piece.data for piece in cassette_pieces(cassette))


def cassette_pieces(cassette: Cassette, *, has_blobs: bool = False) -> Iterator[Piece]:
    """Return a cassette piece by piece: a line, or a part of one that is too long to be held.

    Args:
        cassette: The cassette.
        has_blobs: Large content is taken out of the lines and comes beside the pieces.
    """
    return _Writer(has_blobs=has_blobs).pieces(cassette)


class _Writer:
    """Writes one cassette."""

    def __init__(self, *, has_blobs: bool) -> None:
        self._blobs = BlobWriter() if has_blobs else None
        self._parts = PartWriter()

    def pieces(self, cassette: Cassette) -> Iterator[Piece]:
        yield _piece(write_header(cassette.header))
        yield from self._mcp(cassette)
        models = [each for each in cassette.exchanges if isinstance(each, ModelExchange)]
        if models or cassette.model_via is not None:
            section: dict[str, Json] = {"kind": "section", "section": "model"}
            yield _piece(_line(section | _present("via", cassette.model_via)))
        for exchange in sorted(models, key=lambda exchange: exchange.seq):
            yield from self._model(exchange, cassette.model_via)

    def _mcp(self, cassette: Cassette) -> Iterator[Piece]:
        """Yield the MCP records in order: what has no seq stands behind the exchange before it."""
        placed: list[tuple[tuple[int, int], McpExchange | Message | Noise]] = []
        exchanges = (each for each in cassette.exchanges if isinstance(each, McpExchange))
        placed.extend(((each.seq, 0), each) for each in exchanges)
        placed.extend(((each.after, 1), each) for each in cassette.messages)
        placed.extend(((each.after, 2), each) for each in cassette.noise)
        for _, unit in sorted(placed, key=lambda place: place[0]):
            match unit:
                case McpExchange():
                    server = cassette.header.servers.get(unit.call.server, Server())
                    record = _escaped(mcp_record(unit, era=server.era, via=server.via))
                    yield from self._exchange(record, unit)
                case Message():
                    yield self._line(_escaped(message_record(unit)))
                case Noise():
                    yield self._line(_escaped(noise_record(unit)))

    def _model(self, exchange: ModelExchange, via: Via | None) -> Iterator[Piece]:
        record = model_record(exchange, via=via)
        shared = self._parts.shared(exchange.seq, record.pop("request", None))
        rest = _escaped(record)
        if exchange.call.request is not None:
            # A place early in the line: what was asked is read before what came back.
            rest = _inserted(rest, "request", shared.request, before="status")
        yield from map(self._line, shared.parts)
        yield from self._exchange(rest, exchange)

    def _exchange(self, record: dict[str, Json], exchange: Exchange) -> Iterator[Piece]:
        events = exchange.answer.events
        if not isinstance(events, LongEvents):
            yield self._line(record)
            return
        tail = exchange.answer.tail if isinstance(exchange, ModelExchange) else None
        last: list[list[Json]] = [[{"tail": tail}]] if tail is not None else []
        groups = chain(map(_escaped_events, events.groups()), last)
        yield from long_pieces(record, groups, make=self._piece)

    def _line(self, record: dict[str, Json]) -> Piece:
        piece = self._piece(with_raw(record), {})
        return replace(piece, data=piece.data + b"\n")

    def _piece(self, record: dict[str, Json], beside: dict[str, Json]) -> Piece:
        """Return some members of a record; they are looked through with all content in them."""
        piece = plain_piece(record, beside)
        if self._blobs is None or len(piece.data) < LEAST:
            return piece
        data = dumps(self._blobs.referenced(record))
        return replace(piece, data=data, blobs=self._blobs.take_new())


def _piece(line: bytes) -> Piece:
    return Piece(line, line)


def _present(name: str, value: Json) -> dict[str, Json]:
    return {} if value is None else {name: value}


def _escaped_events(events: Sequence[McpEvent | StreamEvent]) -> list[Json]:
    mcp = [event for event in events if isinstance(event, McpEvent)]
    streamed = [event for event in events if isinstance(event, StreamEvent)]
    records = [*mcp_event_records(mcp), *event_records(streamed, None)]
    return cast("list[Json]", escaped(records))


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

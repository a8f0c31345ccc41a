r"""One line of a cassette: parsed, and where its stream is too long to be held, by its groups.

A raw tab never stands inside a JSON string, so it marks where one may stop reading:
``"events":[\tGROUP,\tGROUP\t]``, each group some elements of the list. To any other reader it is
a blank.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, cast

import orjson

from mcprec_addon.cassette.damage import second_reading
from mcprec_addon.cassette.exact import with_raw
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import dumps, loads

_OPEN: Final = b'"events":[\t'
# Numbers that may not equal their double: every one with fewer digits or a larger exponent does.
_LONG_NUMBER: Final = re.compile(rb"[\d.]{17}|[eE]-\d{3}")


type Group = Callable[[], bytes]
"""Reads some elements of a list as they stand in a line, a comma behind them or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a file as it is read.

    Attributes:
        text: The line without its end; of a long one without its groups.
        groups: Its groups, each to be read whenever it is needed.
        is_ended: It had a line end.
    """

    text: bytes
    groups: tuple[Group, ...] = ()
    is_ended: bool = True

    def whole(self) -> bytes:
        """Return the line with its groups in it."""
        if not self.groups:
            return self.text
        head, _, tail = self.text.partition(_OPEN)
        return b"".join([head, _OPEN, *(read() for read in self.groups), tail])


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file as it is written.

    Attributes:
        data: The bytes.
        record: A whole record with all the values in them, to be looked through.
        blobs: What the bytes refer to that no piece before did, by the name of its file.
    """

    data: bytes
    record: bytes
    blobs: tuple[tuple[str, bytes], ...] = ()


type Make = Callable[[dict[str, Json], dict[str, Json]], Piece]
"""Makes a piece of some members of a record; those beside them are only looked through."""


def plain_piece(record: dict[str, Json], beside: dict[str, Json]) -> Piece:
    """Return some members of a record as they are."""
    return Piece(dumps(record), dumps(beside | record))


def long_line(head: bytes, groups: tuple[Group, ...], tail: bytes) -> Line | None:
    """Return a line as a long one, or None where it is none.

    Args:
        head: What stands up to the first tab, with it.
        groups: What stands between two tabs.
        tail: What stands behind the last.
    """
    if not groups or not head.endswith(_OPEN) or not tail.startswith(b"]"):
        return None
    return Line(text=head + tail, groups=groups)


def reaches_into_events(record: dict[str, Json]) -> bool:
    """Whether a record has something in `raw` that belongs into one of its events."""
    return any(pointer.startswith("/events/") for pointer in _raw_of(record))


def group_elements(text: bytes) -> bytes:
    """Return a group, as it stands in a long line, as a list of its own."""
    return b"[" + text.rstrip(b", ") + b"]"


def long_pieces(
    record: dict[str, Json], groups: Iterable[list[Json]], *, make: Make = plain_piece
) -> Iterator[Piece]:
    """Return a record with a stream in pieces, its line end included.

    Args:
        record: The record, `events` empty in it.
        groups: The elements of `events`, in order.
        make: Makes the piece of a record, or of a group of events in one.
    """
    names = [*record]
    at = names.index("events")
    head = {name: record[name] for name in names[:at]}
    tail = {name: record[name] for name in names[at + 1 :]}
    plain = with_raw(head | tail)
    kind: dict[str, Json] = {"kind": record["kind"]} if "kind" in record else {}
    writer = _GroupWriter(kind=kind, raw=dict(_raw_of(plain)), make=make)
    ahead = make({name: plain[name] for name in head if name in plain}, {})
    comma = b"," if len(ahead.data) > len(b"{}") else b""
    yield replace(ahead, data=ahead.data[:-1] + comma + _OPEN)
    yield from writer.pieces(groups)
    rest = {name: plain[name] for name in tail if name in plain}
    if writer.raw:
        rest["raw"] = writer.raw
    behind = make(rest, kind)
    yield replace(behind, data=b"\t]" + (b"," if rest else b"") + behind.data[1:] + b"\n")


def _raw_of(record: dict[str, Json]) -> dict[str, Json]:
    raw = record.get("raw")
    return raw if isinstance(raw, dict) else {}


@dataclass(slots=True, kw_only=True)
class _GroupWriter:
    """Writes groups, and keeps what JSON would not carry of them."""

    kind: dict[str, Json]
    raw: dict[str, Json]
    make: "Make"

    def pieces(self, groups: Iterable[list[Json]]) -> Iterator[Piece]:
        before = 0
        for elements in filter(None, groups):
            plain = with_raw({"events": elements})
            for pointer, text in _raw_of(plain).items():
                _, _, index, *rest = pointer.split("/")
                self.raw["/".join(["", "events", str(int(index) + before), *rest])] = text
            piece = self.make({"events": plain.get("events")}, self.kind)
            kept = piece.data.removeprefix(b'{"events":[').removesuffix(b"]}")
            yield replace(piece, data=(b",\t" if before else b"") + kept)
            before += len(elements)


def parsed(line: bytes, *, torn: bool) -> tuple[Json, bytes]:
    """Return the value of a line, or of a group as a list, and its compact spelling.

    Args:
        line: The line without its end.
        torn: It was cut off.

    Raises:
        LineDamageError: It is no JSON.
        RecordProblemError: It is nested too deep.
    """
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

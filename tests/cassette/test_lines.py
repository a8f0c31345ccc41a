"""One line of a cassette, and the groups of a long one."""

from collections.abc import Iterable

import pytest

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.cassette.lines import Line, group_elements, long_line, long_pieces, parsed
from mcprec_addon.exchange import Json, McpExchange, Number

HEADER = b'{"mcprec":1,"servers":{"s":{}}}\n'


def written(record: dict[str, Json], groups: Iterable[list[Json]]) -> bytes:
    return b"".join(piece.data for piece in long_pieces(record, groups))


def record(**more: Json) -> dict[str, Json]:
    plain: dict[str, Json] = {"seq": 1, "server": "s", "method": "m", "events": [], "result": {}}
    return plain | more


def event(text: Json) -> Json:
    return {"at": 1, "message": {"method": "n", "params": {"data": text}}}


def test_a_long_line_is_a_line_like_any_other() -> None:
    """Whoever reads a cassette without knowing of groups reads the same."""
    line = written(record(), [[event("a"), event("b")], [], [event("c\t")]])

    cassette = read_cassette(HEADER + line, path="a.mcp")

    assert line.count(b"\n") == 1
    exchange = cassette.exchanges[0]
    assert isinstance(exchange, McpExchange)
    assert [each.message["params"] for each in exchange.answer.events] == [
        {"data": "a"},
        {"data": "b"},
        {"data": "c\t"},
    ]


def test_what_json_does_not_carry_keeps_its_place() -> None:
    """A pointer of raw counts events over all groups."""
    line = written(record(), [[event("a")], [event(Number("1e400"))]])

    exchange = read_cassette(HEADER + line, path="a.mcp").exchanges[0]

    assert isinstance(exchange, McpExchange)
    assert exchange.answer.events[1].message["params"] == {"data": Number("1e400")}
    assert b'"raw":{"/events/1' in line


def test_every_piece_comes_with_a_record_to_look_through() -> None:
    """The last gate looks at what is written before it is written."""
    pieces = [*long_pieces({"kind": "model", **record()}, [[event("secret-1")], [event("b")]])]

    whole = b"".join(piece.record for piece in pieces)
    assert b"secret-1" in pieces[1].record
    assert all(parsed(piece.record, torn=False)[0] for piece in pieces)
    assert whole.count(b'"kind":"model"') == len(pieces)


def test_tabs_elsewhere_make_no_long_line() -> None:
    """A hand may have put blanks anywhere."""
    assert long_line(b'{"mcprec":1,\t', (lambda: b'"a":1,',), b"}") is None
    assert long_line(b'{"events":[\t', (), b"]}") is None
    assert long_line(b'{"events":[\t', (lambda: b"1",), b"}") is None


def test_a_long_line_can_be_had_whole() -> None:
    """Where something reaches into its groups, it is read like a short one."""
    line = long_line(b'{"events":[\t', (lambda: b"1,", lambda: b"2"), b"]}")

    assert line is not None
    assert parsed(line.whole(), torn=False)[0] == {"events": [1, 2]}
    assert Line(text=b"{}").whole() == b"{}"


@pytest.mark.parametrize("text", [b"1,2", b"1,2,", b"1,2, "])
def test_a_group_is_a_list(text: bytes) -> None:
    """The comma behind a group belongs to the line."""
    assert parsed(group_elements(text), torn=False)[0] == [1, 2]

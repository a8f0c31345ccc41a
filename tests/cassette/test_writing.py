"""A cassette is written piece by piece, and each piece can be looked through."""

from base64 import b64encode

from mcprec_addon.cassette.format import read_cassette, read_journal
from mcprec_addon.cassette.writing import (
    cassette_pieces,
    write_cassette,
    write_events,
    write_header,
    write_record,
)
from mcprec_addon.exchange import (
    Cassette,
    EventGroup,
    Header,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Server,
    StreamEvent,
)
from mcprec_addon.long_events import LongEvents

HEADER = Header(servers={"s": Server(transport="stdio")})
GROUPS = [
    [StreamEvent(at_ms=1, kind="json", value={"delta": text}) for text in ("a", "b", "c")],
    [StreamEvent(at_ms=2, kind="text", value="[DONE]")],
]


def chat(answer: ModelAnswer) -> ModelExchange:
    call = ModelCall(provider="openai", path="/v1/responses", request={"input": "x" * 2000})
    return ModelExchange(seq=2, call=call, answer=answer)


def test_pieces_are_the_lines_of_the_cassette() -> None:
    """What the last gate looks through is what is written."""
    made = Cassette(header=HEADER, exchanges=(chat(ModelAnswer(kind="body", value={})),))

    pieces = [*cassette_pieces(made)]

    assert b"".join(piece.data for piece in pieces) == write_cassette(made)
    assert all(piece.record.strip() == piece.data.strip() for piece in pieces)


def test_what_goes_to_a_blob_is_looked_through_as_well() -> None:
    """A secret that is known at the end may stand in text that is large and packed."""
    packed = b64encode(b"the secret is tt-4410 " * 800).decode()
    stream = LongEvents(
        lambda: iter([[StreamEvent(at_ms=1, kind="json", value={"b64_json": packed})]])
    )
    made = Cassette(
        header=HEADER,
        exchanges=(
            chat(ModelAnswer(kind="body", value={"b64_json": packed})),
            chat(ModelAnswer(kind="events", events=stream)),
        ),
    )

    pieces = [*cassette_pieces(made, has_blobs=True)]

    assert packed.encode() not in b"".join(piece.data for piece in pieces)
    assert sum(packed.encode() in piece.record for piece in pieces) == 2
    assert [len(piece.blobs) for piece in pieces if piece.blobs] == [1]


def test_a_long_stream_is_written_by_its_groups() -> None:
    """Its tail ends the last; like events in a row are one run within a group."""
    stream = LongEvents(lambda: iter(GROUPS))
    made = Cassette(
        header=HEADER, exchanges=(chat(ModelAnswer(kind="events", events=stream, tail="da")),)
    )

    data = write_cassette(made)

    exchange = read_cassette(data, path="a.mcp").exchanges[0]
    assert exchange.answer == ModelAnswer(kind="events", events=(*GROUPS[0], *GROUPS[1]), tail="da")
    last = data.splitlines()[-1]
    assert last.count(b"\t") == 4
    assert last.count(b'"run"') == 1


def test_a_journal_has_the_first_groups_ahead_of_the_exchange() -> None:
    """Where a running stream stands is known from its number."""
    call = McpCall(server="s", method="tools/call", name="t")
    told = [McpEvent(at_ms=at, message={"method": "n", "params": {"n": at}}) for at in range(3)]
    exchange = McpExchange(
        seq=1, call=call, answer=McpAnswer(kind="result", value={}, events=told[2:])
    )
    lines = [
        write_header(HEADER),
        write_events(EventGroup(seq=1, half="mcp", events=told[:1])),
        write_events(EventGroup(seq=1, half="mcp", events=told[1:2])),
        write_record(exchange),
    ]

    found = read_journal(b"".join(lines), path="j")

    assert found.exchanges[0].answer.events == told

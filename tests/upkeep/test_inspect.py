"""One exchange readable, and where the placeholders stand."""

from mcprec_addon.exchange import (
    Cassette,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Opaque,
    Redaction,
    Server,
    StreamEvent,
)
from mcprec_addon.upkeep.inspect import exchange_json, exchange_text, placeholders, summary


def tool_call(args: Json, result: Json, *, seq: int = 2) -> McpExchange:
    return McpExchange(
        seq=seq,
        ms=412,
        call=McpCall(
            server="tracker", method="tools/call", name="search", args=args, meta={"logLevel": "x"}
        ),
        answer=McpAnswer(
            kind="result",
            value=result,
            events=(
                McpEvent(at_ms=7, message={"method": "notifications/progress", "params": {"n": 1}}),
                McpEvent(at_ms=9, message={"method": "roots/list"}, answer={"roots": []}),
            ),
        ),
    )


TRACKER = Cassette(
    header=Header(servers={"tracker": Server(transport="http", era="classic", via="proxy")})
)


def test_tool_call_readable() -> None:
    """A person checks an exchange without reading a line of JSON Lines."""
    text = exchange_text(tool_call({"q": "bug"}, {"content": [{"text": "one\ntwo"}]}), TRACKER)

    assert text.splitlines() == [
        "#2 tools/call search (server tracker)",
        "  http, classic era, via proxy",
        "",
        "call",
        '  {"args":{"q":"bug"},"meta":{"logLevel":"x"}}',
        "",
        "answer: result, status 200, 2 events from 7 to 9 ms, 412 ms in all",
        '  7 ms: notifications/progress {"n":1}',
        "  9 ms: roots/list {}",
        '    answered {"roots":[]}',
        "  {",
        '    "content": [',
        "      {",
        '        "text":',
        "          | one",
        "          | two",
        "      }",
        "    ]",
        "  }",
        "end: complete",
    ]


def test_stream_readable() -> None:
    """A stream of a thousand deltas is one text to a person."""
    deltas = ["The", "ree", " open"]
    exchange = ModelExchange(
        seq=1,
        note="checked by hand",
        pin=True,
        call=ModelCall(provider="openai", path="/v1/chat/completions", request={"model": "m"}),
        answer=ModelAnswer(
            kind="events",
            events=tuple(
                StreamEvent(
                    at_ms=300 + at,
                    kind="json",
                    value={"choices": [{"index": 0, "delta": {"content": delta}}]},
                )
                for at, delta in enumerate(deltas)
            ),
            tail='data: {"cho',
            headers={"retry-after": "1"},
            end="cut",
        ),
    )

    text = exchange_text(exchange, Cassette(model_via="base-url"))

    assert text.splitlines() == [
        "#1 model call /v1/chat/completions (provider openai)",
        "  via base-url",
        '  note: "checked by hand"',
        "  pinned: never overwritten by an update",
        "",
        "call",
        '  {"model":"m"}',
        "",
        "answer: a stream, status 200, 3 events from 300 to 302 ms",
        "  retry-after: 1",
        "  text:",
        "    | Theree open",
        "  unfinished last event:",
        '    | data: {"cho',
        "end: cut: closed without its end marker",
    ]


def test_upload_and_download_readable() -> None:
    """A person sees which file went where, not a page of base64."""
    parts: Json = [
        {"name": "model", "text": "whisper-1"},
        {"name": "notes", "filename": "a.txt", "text": "one\ntwo"},
        {"name": "file", "filename": "a.wav", "mime": "audio/wav", "base64": "/wA="},
    ]
    exchange = ModelExchange(
        seq=3,
        call=ModelCall(provider="openai", path="/v1/audio/transcriptions", request=parts),
        answer=ModelAnswer(kind="body", value=Opaque(b"\xff\x00"), headers={"content-type": "x/y"}),
    )

    lines = exchange_text(exchange, Cassette()).splitlines()

    assert lines[2:-2] == [
        "call",
        '  model: "whisper-1"',
        "  notes: a.txt, 7 bytes",
        "    | one",
        "    | two",
        "  file: a.wav, audio/wav, 2 bytes",
        "",
        "answer: a body, status 200",
        "  content-type: x/y",
    ]
    assert lines[-2].startswith("  2 bytes, sha256 ")
    assert exchange_json(exchange)["body"] == {"base64": "/wA="}


def test_answer_without_a_body_is_readable() -> None:
    """An exchange may have nothing but its name and its end."""
    exchange = McpExchange(
        seq=3,
        call=McpCall(server="x", method="", http_method="GET"),
        answer=McpAnswer(kind="none", status=405, end="left"),
    )

    text = exchange_text(exchange, Cassette())

    assert "#3 GET stream (server x)" in text
    assert "  nothing but its name" in text
    assert "answer: nothing, status 405" in text
    assert text.endswith("end: left: the client hung up")


def test_no_control_character_is_printed() -> None:
    """A cassette is text of strangers."""
    text = exchange_text(tool_call({"q": "\x1b[2J"}, {"text": "\x9b\u202e\nx"}), TRACKER)

    assert all(line.isprintable() for line in text.splitlines())


def test_placeholders_are_found_with_their_places() -> None:
    """Before a cassette is committed one wants to see what was hidden, and where."""
    cassette = Cassette(
        header=Header(
            redaction=Redaction(
                placeholders={"email": 2, "api-key": 1, "key": 1, "card": 2},
                sources={"api-key-1": ["env:TRACKER_TOKEN"]},
            )
        ),
        exchanges=(
            tool_call({"to": "email-1@mcprec.example"}, {"email-2@mcprec.example": "x"}),
            tool_call(
                {
                    "auth": "Bearer api-key-1",
                    "other": "my-email-1 email-x",
                    "n": 4000009900000012,
                    "text": "is 4000 0099 0000 0020",
                },
                {},
                seq=5,
            ),
        ),
    )

    found = {each.cls: each for each in placeholders(cassette)}

    assert found["email"].places == ("#2 /args/to", "#2 /result/email-2@mcprec.example")
    assert found["api-key"].places == ("#5 /args/auth",)
    assert found["key"].found == 0
    assert found["card"].places == ("#5 /args/n", "#5 /args/text")
    assert found["api-key"].lines() == [
        "api-key: 1, found in 1 text",
        "  api-key-1 from env:TRACKER_TOKEN",
        "  #5 /args/auth",
    ]


def test_many_places_are_counted() -> None:
    """A secret that stands everywhere fills no page."""
    cassette = Cassette(
        header=Header(redaction=Redaction(placeholders={"email": 1})),
        exchanges=tuple(tool_call({"to": "email-1"}, {}, seq=seq) for seq in range(1, 10)),
    )

    (found,) = placeholders(cassette)

    assert (found.found, len(found.places)) == (9, 5)
    assert found.lines()[-1] == "  and 4 more"


def test_streamed_placeholders_are_found() -> None:
    """Events are part of the record too."""
    cassette = Cassette(
        header=Header(redaction=Redaction(placeholders={"email": 1})),
        exchanges=(
            ModelExchange(
                seq=1,
                call=ModelCall(provider="openai", path="/x"),
                answer=ModelAnswer(
                    kind="events",
                    events=(StreamEvent(at_ms=1, kind="json", value={"delta": "email-1"}),),
                ),
            ),
        ),
    )

    assert placeholders(cassette)[0].places == ("#1 /events/0/json/delta",)


def test_cassette_without_placeholders_has_none() -> None:
    """A hand-written cassette has no redaction at all."""
    assert placeholders(Cassette()) == []


def test_summary_of_an_empty_cassette() -> None:
    """A minimal header is a cassette."""
    assert summary(Cassette(), name="a.mcp", size_bytes=13).text().splitlines() == [
        "a.mcp: 13 bytes",
        "0 exchanges: 0 mcp, 0 model",
    ]

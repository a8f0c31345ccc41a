"""What a cassette holds, in short."""

from mcprec_addon.exchange import (
    Cassette,
    Header,
    Matching,
    McpAnswer,
    McpCall,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    ModelUse,
    Noise,
    Redaction,
    Server,
)
from mcprec_addon.upkeep.summary import Summary


def tool(seq: int, name: str) -> McpExchange:
    call = McpCall(server="tracker", method="tools/call", name=name)
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value={}))


TRIAGE = Cassette(
    header=Header(
        recorder="mcprec 0.1.0",
        recorded="2026-11-30T10:02:11Z",
        protocol=["2026-07-28"],
        servers={
            "tracker": Server(
                transport="http",
                era="stateless",
                url="https://mcp.acme.example/mcp",
                name="acme-tracker",
                version="3.2.0",
            ),
            "files": Server(transport="stdio", command="npx"),
        },
        model=[ModelUse(provider="openai", name="gpt-5", temperature=0.5)],
        redaction=Redaction(
            placeholders={"email": 2, "api-key": 1},
            sources={"api-key-1": ["env:TRACKER_TOKEN"]},
            inside=["/result/nextCursor"],
        ),
        match=Matching(ignore=["/args/since"], normalize=["date"]),
        config=["mcp.json"],
    ),
    exchanges=(
        tool(2, "search"),
        tool(3, "search"),
        McpExchange(
            seq=4,
            call=McpCall(server="files", method="resources/read", name="file:///a"),
            answer=McpAnswer(kind="none", end="reset"),
        ),
        ModelExchange(
            seq=1,
            call=ModelCall(
                provider="openai", path="/v1/chat/completions", request={"model": "gpt-5"}
            ),
            answer=ModelAnswer(kind="events"),
        ),
    ),
    messages=(Message(server="tracker", sender="client", method="notifications/initialized"),),
    noise=(Noise(server="files", text="banner"),),
    model_via="base-url",
    warnings=("triage.mcp:9: seq 3 is doubled",),
)


def test_summary_in_full() -> None:
    """The first thing one does with somebody else's cassette."""
    text = Summary(cassette=TRIAGE, name="triage.mcp", size_bytes=12_700).text()

    assert text.splitlines() == [
        "triage.mcp: 12.4 KiB, recorded 2026-11-30T10:02:11Z by mcprec 0.1.0",
        "4 exchanges: 3 mcp, 1 model; 1 message; 1 piece of noise",
        "protocol 2026-07-28",
        "config mcp.json",
        "",
        "servers",
        "  tracker  2 calls  http   stateless  acme-tracker 3.2.0  https://mcp.acme.example/mcp",
        "    tools/call search  2",
        "  files    1 call   stdio                                 npx",
        "    resources/read  1",
        "",
        "model",
        "  openai  gpt-5  1 call  1 streamed  temperature 0.5",
        "  via base-url",
        "",
        "placeholders",
        "  email    2",
        "  api-key  1",
        "  api-key-1 from env:TRACKER_TOKEN",
        "  1 known value left inside fields that are never touched",
        "",
        "not complete",
        "  #4  reset  resources/read file:///a (server files)",
        "",
        "rules",
        "  ignore /args/since",
        "  normalize date",
        "",
        "warnings",
        "  triage.mcp:9: seq 3 is doubled",
    ]


def test_no_line_is_wider_than_a_page() -> None:
    """Names come from strangers and may be as long as they like."""
    server = Server(transport="http", name="n" * 300, url="https://x.example/" + "u" * 300)
    cassette = Cassette(
        header=Header(servers={"tracker": server}, recovered=True),
        exchanges=(tool(1, "t" * 300),),
        warnings=("w" * 300,),
    )

    text = Summary(cassette=cassette, name="a" * 300, size_bytes=5 << 20).text()

    assert max(map(len, text.splitlines())) == 100
    assert "recovered from a journal" in text


def test_summary_for_a_program() -> None:
    """The same facts under stable names."""
    found = Summary(cassette=TRIAGE, name="triage.mcp", size_bytes=1).as_json()

    assert found["exchanges"] == {"mcp": 3, "model": 1}
    assert found["ends"] == [{"seq": 4, "end": "reset"}]
    assert found["models"] == [{"provider": "openai", "name": "gpt-5", "calls": 1, "streamed": 1}]
    assert isinstance(found["servers"], dict)
    tracker = found["servers"]["tracker"]
    assert isinstance(tracker, dict)
    assert tracker["calls"] == {"tools/call search": 2}

"""What is still in a cassette is found where it stands, never shown, and can be taken out."""

from hypothesis import given

from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Noise,
    Redaction,
    StreamEvent,
)
from mcprec_addon.redact.placeholders import masked
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.upkeep.scan import Finding, Scan, cleaned, scan
from tests.test_jsonvalue import json_values

KEY = "sk-proj-" + "k9Zq" * 6
RULES = default_rules()


def tool(seq: int, args: Json, result: Json) -> McpExchange:
    call = McpCall(server="s", method="tools/call", name="t", args=args)
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value=result))


def cassette(*exchanges: Exchange, emails: int = 0, **more: object) -> Cassette:
    redaction = Redaction(placeholders={"email": emails} if emails else {})
    return Cassette(header=Header(redaction=redaction), exchanges=exchanges, **more)  # type: ignore[arg-type]


def split_key(seq: int) -> ModelExchange:
    """Return a streamed answer that says a key in three pieces."""
    pieces = (f"it is {KEY[:9]}", KEY[9:20], KEY[20:])
    events = [
        StreamEvent(
            at_ms=at,
            kind="json",
            value={"choices": [{"index": 0, "delta": {"content": piece}}]},
        )
        for at, piece in enumerate(pieces)
    ]
    call = ModelCall(provider="openai", path="/v1/chat/completions", request={"messages": []})
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="events", events=events))


def test_a_secret_is_named_where_it_stands() -> None:
    """With its rule, and a sample that says which it is to whom knows it."""
    made = cassette(
        tool(3, {"password": "correct-horse-9", "q": "bug"}, {"content": [f"key {KEY}"]}),
        split_key(4),
        messages=(Message(server="s", sender="server", method="n", params={"to": "ana@corp.com"}),),
        noise=(Noise(server="s", text=f"started with {KEY}"),),
    )

    found = scan(made, RULES)

    assert [(each.seq, each.pointer, each.rule) for each in found] == [
        (3, "/args/password", "password"),
        (3, "/result/content/0", "openai-key"),
        (4, "/events/0/json/choices/0/delta/content", "openai-key"),
        (0, "/params/to", "email"),
        (0, "/text", "openai-key"),
    ]
    assert found[1].sample == "sk…Zq"
    assert not any(KEY[at : at + 5] in str(found) for at in range(4, len(KEY) - 4))


def test_a_key_of_an_object_is_not_shown_in_its_pointer() -> None:
    """A report goes to a log."""
    (found,) = scan(cassette(tool(1, {KEY: 1}, {})), RULES)

    assert found.pointer == "/args/…openai-key…"


def test_placeholders_are_no_secrets() -> None:
    """What a recording has cleaned is clean."""
    made = cassette(tool(1, {"to": "email-1@mcprec.example"}, {"token": "token-9"}), emails=1)

    assert scan(made, RULES) == ()
    assert cleaned(made, RULES) == (made, {})


def test_new_placeholders_stand_behind_those_that_are_there() -> None:
    """One number is one person, before and after."""
    old: Json = {"to": "email-1@mcprec.example", "cc": "ben@corp.com"}
    made = cassette(tool(1, old, {"bcc": "ana@corp.com", "again": "ben@corp.com"}), emails=2)

    clean, new = cleaned(made, RULES)

    assert new == {"email": 2}
    (exchange,) = clean.exchanges
    assert isinstance(exchange, McpExchange)
    assert exchange.call.args == {"to": "email-1@mcprec.example", "cc": "email-3@mcprec.example"}
    assert exchange.answer.value == {
        "bcc": "email-4@mcprec.example",
        "again": "email-3@mcprec.example",
    }
    assert clean.header.redaction.placeholders == {"email": 4}
    assert scan(clean, RULES) == ()


@given(json_values)
def test_cleaning_twice_is_cleaning_once(value: Json) -> None:
    """Whatever is in it."""
    once, _ = cleaned(cassette(tool(1, {"a": value}, {"b": value})), RULES)

    assert cleaned(once, RULES) == (once, {})


def test_short_secrets_have_no_sample() -> None:
    """Four characters of eight are half of it."""
    assert masked("hunter22") == "…"
    assert masked("correct-horse") == "co…se"


def test_a_scan_is_printed_three_ways() -> None:
    """For a person, for a program, and for code scanning."""
    finding = Finding(seq=3, pointer="/args/q", rule="email", sample="an…om")
    found = Scan(name="a.mcp", findings=(finding,), lines={3: 7})

    assert found.text().splitlines() == [
        "a.mcp:7: #3 /args/q: email, an…om",
        "a.mcp: 1 secret found",
    ]
    assert found.as_json()["findings"] == [
        {"seq": 3, "line": 7, "pointer": "/args/q", "rule": "email", "sample": "an…om"}
    ]
    assert found.sarif()["version"] == "2.1.0"
    assert '"startLine": 7' in str(found.sarif()).replace("'", '"')
    assert Scan(name="a.mcp", findings=(), lines={}).text() == "a.mcp: no secrets found"


def test_what_no_rule_knows_is_listed_where_it_is_asked_for() -> None:
    """Once, masked, not where it may not be touched, and it is no finding that fails a hook."""
    key = "x9Kq2vTz8LmP4wRb7NcY"
    said: Json = {"content": [{"type": "text", "text": f"use {key}, I said {key}"}]}
    made = cassette(tool(1, {"note": key, "to": "ana@corp.com"}, said), split_key(2))

    found = scan(made, RULES, with_suspicious=True)

    assert [(each.seq, each.pointer, each.rule) for each in found] == [
        (1, "/args/to", "email"),
        (1, "/args/note", "suspicious"),
        (2, "/events/0/json/choices/0/delta/content", "openai-key"),
    ]
    assert found[1].sample == "x9…cY"
    shown = Scan(name="a.mcp", findings=found, lines={})
    assert shown.text().endswith("2 secrets found, 1 text that may be one")
    assert [each.rule for each in shown.secrets] == ["email", "openai-key"]
    assert scan(made, RULES) == shown.secrets


def test_a_state_and_a_signature_are_not_suspicious() -> None:
    """They are opaque by design, and nobody could do anything about them."""
    sealed = "x9Kq2vTz8LmP4wRb7NcY"
    made = cassette(tool(1, {}, {"requestState": sealed, "nextCursor": sealed}))

    assert scan(made, RULES, with_suspicious=True) == ()

"""Secrets split over the deltas of a stream."""

from collections.abc import Callable, Sequence

import pytest

from mcprec_addon.exchange import Json, McpEvent, StreamEvent
from mcprec_addon.redact.hits import Edit
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.redact.streams import MCP, spread, stream_channels
from mcprec_addon.wire.deltas import Channel, Delta, deltas
from mcprec_addon.wire.providers import PROVIDERS

SECRET = "gh" + "p_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
TEXT = f'say {{"to":"\\nana@example.test","key":"{SECRET}"}} twice {SECRET}.'


def chat(text: str) -> Json:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}}]}


def chat_arguments(text: str) -> Json:
    call: Json = {"index": 1, "function": {"arguments": text}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def response(text: str) -> Json:
    return {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": text}


def block(text: str) -> Json:
    return {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "text_delta", "text": text},
    }


def block_json(text: str) -> Json:
    return {
        "type": "content_block_delta",
        "index": 3,
        "delta": {"type": "input_json_delta", "partial_json": text},
    }


def deltas_of(value: Json, provider: str) -> list[Delta]:
    return deltas(value, stream_channels(provider))


FORMATS = {
    "chat": ("openai", chat),
    "arguments": ("openai", chat_arguments),
    "responses": ("openai", response),
    "text": ("anthropic", block),
    "json": ("anthropic", block_json),
}


def joined(events: Sequence[StreamEvent], provider: str) -> str:
    return "".join(delta.text for event in events for delta in deltas_of(event.value, provider))


@pytest.mark.parametrize("name", FORMATS)
def test_a_secret_split_anywhere_is_gone(name: str) -> None:
    """Tokens come a few characters at a time; no piece of them may stay."""
    provider, make = FORMATS[name]
    whole = Redactor(default_rules(), nonce="0a1b2c3d").text(TEXT)

    for first in range(len(TEXT)):
        for size in (0, 1, 7):
            cuts = [TEXT[:first], TEXT[first : first + size], TEXT[first + size :]]
            events = tuple(
                StreamEvent(at_ms=at, kind="json", value=make(cut), event="e")
                for at, cut in enumerate(cuts)
            )
            redactor = Redactor(default_rules(), nonce="0a1b2c3d")
            clean = redactor.events(events, provider)

            assert joined(clean, provider) == whole
            assert [event.at_ms for event in clean] == [0, 1, 2]
            assert redactor.events(clean, provider) == clean
            text = str(clean)
            assert not any(SECRET[at : at + 10] in text for at in range(len(SECRET) - 9))


def event_of(channel: Channel, text: str) -> Json:
    """Return an event that has this text in a channel, and nothing else."""
    beside: dict[str, Json] = dict([channel.beside]) if channel.beside else {}
    made: Json = {**beside, channel.delta[-1]: text}
    for step in reversed(channel.delta[:-1]):
        made = [made] if step == "*" else {step: made}
    assert isinstance(made, dict)
    for by in channel.by:
        around = made
        for step in by[:-1]:
            inner = around.setdefault(step, {})
            assert isinstance(inner, dict)
            around = inner
        around[by[-1]] = f"x.{channel.suffix}" if by == ("type",) else 0
    return made


CHANNELS = [
    pytest.param(name, channel, id=f"{name}-{place}-{channel.suffix or channel.delta[-1]}")
    for name, row in PROVIDERS.items()
    for place, channel in enumerate(row.channels)
]


@pytest.mark.parametrize(("provider", "channel"), CHANNELS)
def test_a_secret_split_over_any_channel_of_any_row_is_gone(
    provider: str, channel: Channel
) -> None:
    """A channel that a row names is a text, wherever its pieces stand and end."""
    for first in range(0, len(SECRET), 3):
        cuts = [f"key {SECRET[:first]}", SECRET[first : first + 7], SECRET[first + 7 :]]
        events = tuple(
            StreamEvent(at_ms=at, kind="json", value=event_of(channel, cut))
            for at, cut in enumerate(cuts)
        )

        clean = Redactor(default_rules(), nonce="0a1b2c3d").events(events, provider)

        assert joined(events, provider) == f"key {SECRET}"
        assert joined(clean, provider) == "key mcprec-0a1b2c3d-github-token-1-x"


def test_what_a_model_thinks_is_no_part_of_what_it_says() -> None:
    """Gemini has both in the same place, told apart by a member beside."""
    parts: list[Json] = [{"text": SECRET[:9], "thought": True}, {"text": SECRET[9:]}]
    events = tuple(
        StreamEvent(at_ms=0, kind="json", value={"candidates": [{"content": {"parts": [part]}}]})
        for part in parts
    )

    assert Redactor(default_rules(), nonce="0a1b2c3d").events(events, "gemini") == events


def test_channels_are_not_mixed() -> None:
    """Two choices that stream at once are two texts."""
    values: list[Json] = [
        {"choices": [{"index": index, "delta": {"content": piece}}]}
        for piece in ("ana@exam", "ple.test")
        for index in (1, 0)
    ]
    events = tuple(StreamEvent(at_ms=0, kind="json", value=value) for value in values)

    clean = Redactor(default_rules(), nonce="0a1b2c3d").events(events, "openai")

    texts = [delta.text for event in clean for delta in deltas_of(event.value, "openai")]
    assert texts == ["mcprec-0a1b2c3d-email-1-x@mcprec.example"] * 2 + ["", ""]


def test_untouched_events_are_the_same() -> None:
    """Only what holds a secret changes; audio is never scanned."""
    audio: Json = {"type": "response.audio.delta", "item_id": "m", "delta": SECRET}
    events = (
        StreamEvent(at_ms=0, kind="json", value=response("hello")),
        StreamEvent(at_ms=1, kind="json", value=audio),
        StreamEvent(at_ms=2, kind="text", value="[DONE]"),
    )

    clean = Redactor(default_rules(), nonce="0a1b2c3d").events(events, "openai")

    assert all(new is old for new, old in zip(clean, events, strict=True))


def test_the_text_repeated_at_the_end_has_the_same_placeholder() -> None:
    """Closing events carry the full text once more."""
    done: Json = {"type": "response.output_text.done", "text": f"x {SECRET}"}
    events = tuple(
        StreamEvent(at_ms=0, kind="json", value=value)
        for value in (response(f"x {SECRET[:9]}"), response(SECRET[9:]), done)
    )

    clean = Redactor(default_rules(), nonce="0a1b2c3d").events(events, "openai")

    placeholder = "mcprec-0a1b2c3d-github-token-1-x"
    assert str(clean[0].value).count(placeholder) == 1
    assert clean[2].value == {"type": "response.output_text.done", "text": f"x {placeholder}"}


def progress(text: str) -> dict[str, Json]:
    return {"method": "notifications/progress", "params": {"progress": 1, "message": text}}


def log(text: str) -> dict[str, Json]:
    params: dict[str, Json] = {"level": "info", "logger": "l", "data": text}
    return {"method": "notifications/message", "params": params}


def delta(text: str) -> dict[str, Json]:
    params: dict[str, Json] = {"level": "info", "data": {"delta": text}}
    return {"method": "notifications/message", "params": params}


def messages(*told: dict[str, Json]) -> tuple[McpEvent, ...]:
    return tuple(McpEvent(at_ms=at, message=each) for at, each in enumerate(told))


def texts(events: Sequence[McpEvent]) -> list[str]:
    return [found.text for event in events for found in deltas_of(event.message, MCP)]


@pytest.mark.parametrize("make", [progress, log, delta])
@pytest.mark.parametrize("first", range(len(SECRET) + 1))
def test_a_secret_split_over_messages_of_a_server_is_gone(
    make: Callable[[str], dict[str, Json]], first: int
) -> None:
    """Some servers stream a text as the messages of their progress, or as log messages."""
    for size in (1, 7):
        cuts = [f"key {SECRET[:first]}", SECRET[first : first + size], SECRET[first + size :]]
        redactor = Redactor(default_rules(), nonce="0a1b2c3d")

        clean = redactor.mcp_events(messages(*map(make, cuts)))

        assert "".join(texts(clean)) == "key mcprec-0a1b2c3d-github-token-1-x"
        assert [event.at_ms for event in clean] == [0, 1, 2]
        assert redactor.mcp_events(clean) == clean


@pytest.mark.parametrize(
    "lines",
    [
        ["reading ana@corp.test", "reading bo@corp.test", "done"],
        ["logged in", "ana@corp.test", "logged out"],
        ["4242424242424242", "1", "2"],
        ["+49305550101", "22 rows"],
        [f"as {SECRET}", " and on"],
        ["see", SECRET],
    ],
)
def test_whole_lines_are_not_joined(lines: list[str]) -> None:
    """What ends one message and begins the next is no address."""
    made = Redactor(default_rules(), nonce="0a1b2c3d")

    clean = made.mcp_events(messages(*map(progress, lines)))

    assert texts(clean) == [made.text(line) for line in lines]


def test_an_address_is_joined_where_no_message_has_it_whole() -> None:
    """The pieces of a streamed text."""
    made = Redactor(default_rules(), nonce="0a1b2c3d")

    pieces = ["ask ana", "@corp", ".test, ", "+49 30 ", "5550101"]
    clean = made.mcp_events(messages(*map(log, pieces)))

    email, phone = "mcprec-0a1b2c3d-email-1-x@mcprec.example", "mcprec-0a1b2c3d-phone-1-x"
    assert texts(clean) == [f"ask {email}", "", ", ", phone, ""]


def test_loggers_are_channels_of_their_own() -> None:
    """Two that log at once are two texts."""
    told: list[dict[str, Json]] = [
        {"method": "notifications/message", "params": {"logger": name, "data": piece}}
        for piece in (SECRET[:9], SECRET[9:])
        for name in ("a", "b")
    ]

    clean = Redactor(default_rules(), nonce="0a1b2c3d").mcp_events(messages(*told))

    assert texts(clean) == ["mcprec-0a1b2c3d-github-token-1-x"] * 2 + ["", ""]


def test_an_edit_goes_into_the_piece_where_it_starts() -> None:
    """Empty pieces stay empty, and the number of pieces stays."""
    assert spread(["ab", "", "cd", "ef"], [Edit(2, 5, "X")]) == ["ab", "", "X", "f"]
    assert spread(["ab", "cd"], [Edit(0, 1, "X"), Edit(1, 4, "Y")]) == ["XY", ""]


def test_blocks_of_a_stream_are_texts_of_their_own() -> None:
    """What begins the next block is no more of a secret that ends the one before."""
    secret = "gh" + "p_" + "a1B2" * 9
    pieces = [(0, f"use {secret[:20]}"), (1, "Meanwhile"), (0, secret[20:]), (1, "elsewhere")]
    events = [
        StreamEvent(
            at_ms=0,
            kind="json",
            value={
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "text_delta", "text": text},
            },
        )
        for index, text in pieces
    ]

    changed = Redactor(default_rules(), nonce="0a1b2c3d").events(events, "anthropic")

    texts = [each.text for event in changed for each in deltas_of(event.value, "anthropic")]
    assert texts == ["use mcprec-0a1b2c3d-github-token-1-x", "Meanwhile", "", "elsewhere"]

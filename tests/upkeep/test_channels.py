"""The texts of streamed answers, joined per channel."""

from mcprec_addon.exchange import Json, StreamEvent
from mcprec_addon.upkeep.channels import joined_texts
from mcprec_addon.wire.providers import PROVIDERS


def stream(*values: Json) -> list[StreamEvent]:
    return [StreamEvent(at_ms=at, kind="json", value=value) for at, value in enumerate(values)]


def chat(delta: Json, index: int = 0) -> Json:
    return {"choices": [{"index": index, "delta": delta}]}


def test_chat_text_and_tool_calls() -> None:
    """Deltas of several calls come mixed; each is one text."""

    def call(index: int, name: str | None, arguments: str) -> Json:
        return {"index": index, "function": {"name": name, "arguments": arguments}}

    events = stream(
        chat({"role": "assistant", "content": ""}),
        chat({"content": "Let me "}),
        chat({"content": "look."}),
        chat({"tool_calls": [call(0, "find", "")]}),
        chat({"tool_calls": [call(1, "read", ""), call(0, None, '{"q":')]}),
        chat({"tool_calls": [call(1, None, "{}"), call(0, None, "1}")]}),
        {"choices": [], "usage": {}},
    )

    assert joined_texts(events, "openai") == [
        ("text", "Let me look."),
        ("tool call 0.0 find", '{"q":1}'),
        ("tool call 0.1 read", "{}"),
    ]


def test_chat_with_several_choices() -> None:
    """Each choice is a text of its own."""
    events = stream(chat({"content": "a"}), chat({"content": "b"}, 1), chat({"content": "c"}))

    assert joined_texts(events, "openai") == [("text 0", "ac"), ("text 1", "b")]


def test_responses_stream() -> None:
    """Responses names its channels by event type and its calls by item."""
    events = stream(
        {"type": "response.created", "response": {}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm"},
        {"type": "response.output_item.added", "output_index": 1, "item": {"name": "find"}},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"q"'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}"},
        {"type": "response.output_item.added", "output_index": 2, "item": {"type": "message"}},
        {"type": "response.output_text.delta", "output_index": 2, "delta": "Done"},
        {"type": "response.completed", "response": {}},
    )

    assert joined_texts(events, "openai") == [
        ("reasoning summary", "Hm"),
        ("tool call find", '{"q":1}'),
        ("text", "Done"),
    ]


def test_anthropic_stream() -> None:
    """Blocks of one message are told apart by their index."""

    def delta(index: int, **fields: Json) -> Json:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    events = stream(
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        delta(0, type="thinking_delta", thinking="Hm"),
        delta(0, type="signature_delta", signature="zzz"),
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        delta(1, type="text_delta", text="Let "),
        delta(1, type="text_delta", text="me"),
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "name": "find"},
        },
        delta(2, type="input_json_delta", partial_json='{"q":1}'),
        {"type": "message_stop"},
    )

    assert joined_texts(events, "anthropic") == [
        ("thinking", "Hm"),
        ("text", "Let me"),
        ("tool call find", '{"q":1}'),
    ]


def test_call_without_arguments_is_still_named() -> None:
    """A tool without arguments streams no delta."""
    events = stream(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "name": "now"},
        }
    )

    assert joined_texts(events, "anthropic") == [("tool call now", "")]


def test_gemini_stream() -> None:
    """Calls come whole and have no number; thoughts stand where the text does."""

    def parts(*found: Json) -> Json:
        return {"candidates": [{"index": 0, "content": {"parts": list(found)}}]}

    events = stream(
        parts({"text": "Hm", "thought": True}),
        parts({"text": "Let me "}),
        parts({"text": "look."}, {"functionCall": {"name": "find", "args": {"q": 1}}}),
        parts({"functionCall": {"name": "now"}}),
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {}},
    )

    assert joined_texts(events, "gemini") == [
        ("thinking", "Hm"),
        ("text", "Let me look."),
        ("tool call 0 find", '{"q":1}'),
        ("tool call 1 now", "{}"),
    ]


def test_bedrock_stream() -> None:
    """Converse numbers its blocks; an invoked model speaks in its own shape within."""
    converse = stream(
        {"contentBlockIndex": 0, "delta": {"text": "Let me"}},
        {"contentBlockIndex": 1, "start": {"toolUse": {"name": "find", "toolUseId": "t"}}},
        {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"q":1}'}}},
    )
    said: Json = {"type": "content_block_delta", "index": 0, "delta": {"text": "Hi"}}
    invoked = stream({"bytes": said})

    assert joined_texts(converse, "bedrock") == [
        ("text", "Let me"),
        ("tool call find", '{"q":1}'),
    ]
    assert joined_texts(invoked, "bedrock") == [("text", "Hi")]


def test_unknown_events_are_passed_over() -> None:
    """Other shapes, comments and text say nothing here, and break nothing."""
    events = [
        *stream(1, [], {}, {"choices": 3}, {"choices": [3]}, {"type": "new"}, {"type": 3}),
        StreamEvent(at_ms=9, kind="text", value="[DONE]"),
        StreamEvent(at_ms=9, kind="comment", value="keep-alive"),
    ]

    assert [joined_texts(events, name) for name in (*PROVIDERS, "unheard-of")] == [
        [] for _ in (*PROVIDERS, "")
    ]

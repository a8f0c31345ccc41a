"""Which call a message of a server belongs to."""

from mcprec_addon.exchange import Json
from mcprec_addon.record.conversation import Conversation
from mcprec_addon.record.recorder import Recorder
from mcprec_addon.record.taps import McpTap
from mcprec_addon.wire import mcp
from mcprec_addon.wire.jsonrpc import Request, Response
from tests.record.test_intake import Kept

QUESTION: dict[str, Json] = {"id": 9, "method": "roots/list"}
LOG: dict[str, Json] = {"method": "notifications/message"}
PROGRESS: dict[str, Json] = {
    "method": "notifications/progress", "params": {"progressToken": "b"},
}  # fmt: skip


def called(conversation: Conversation, recorder: Recorder, request_id: str) -> McpTap:
    params: Json = {"name": "t", "_meta": {"progressToken": request_id}}
    request = Request(request_id, "tools/call", params)
    call = mcp.call_of(request, conversation.label)
    pending = recorder.begin(call, at_ms=0, via=None)
    return McpTap(conversation, recorder, [request], [pending])


def test_a_listening_stream_brings_questions_and_what_names_its_call() -> None:
    """What else comes there its server chose not to send with a call."""
    recorder, conversation = Recorder(Kept().append), Conversation("s")
    first, second = (called(conversation, recorder, each) for each in "ab")

    assert conversation.call_of(QUESTION) is first
    assert conversation.call_of(PROGRESS) is second
    assert conversation.call_of(LOG) is None


def test_a_shared_stream_brings_everything() -> None:
    """But what servers send unasked is no part of a call."""
    recorder, conversation = Recorder(Kept().append), Conversation("s", is_shared=True)
    first = called(conversation, recorder, "a")

    assert conversation.call_of(LOG) is first
    assert conversation.call_of({"method": "notifications/tools/list_changed"}) is None


def test_a_call_that_may_be_given_up_comes_last() -> None:
    """A stream that was cut waits for its client, who may never come."""
    recorder, conversation = Recorder(Kept().append), Conversation("s")
    cut, whole = (called(conversation, recorder, each) for each in "ab")
    cut.head(200, [("content-type", "text/event-stream")])
    cut.data(b"id: 1\ndata:\n\n", 1)
    cut.finish("complete", 2)

    assert conversation.call_of(QUESTION) is whole
    assert conversation.answered(Response("b", "result", {}), 3)
    assert conversation.call_of(QUESTION) is cut
    assert conversation.resumed("1") is cut
    assert not conversation.answered(Response("z", "result", {}), 3)

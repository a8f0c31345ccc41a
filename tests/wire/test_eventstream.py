"""Binary event streams are read as AWS frames them, and written so that its clients take them."""

from base64 import b64encode

import pytest
from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]  # it brings no types

from mcprec_addon.exchange import Json
from mcprec_addon.wire.eventstream import CODEC, FrameReader, closed, encode_frame, opened
from mcprec_addon.wire.sse import SseEvent


def test_a_client_of_aws_reads_what_we_write() -> None:
    """It checks both sums of every frame."""
    buffer = EventStreamBuffer()
    buffer.add_data(encode_frame('{"a":"ö"}', "messageStart"))
    buffer.add_data(encode_frame('{"message":"slow"}', "throttlingException"))

    event, exception = list(buffer)

    assert event.payload == '{"a":"ö"}'.encode()
    assert event.headers[":event-type"] == "messageStart"
    assert event.headers[":message-type"] == "event"
    assert exception.headers[":exception-type"] == "throttlingException"
    assert exception.headers[":message-type"] == "exception"


def test_names_come_back() -> None:
    """An exception in a stream is told from an event by its name."""
    frames = encode_frame("{}", "contentBlockDelta") + encode_frame("{}", "validationException")

    assert FrameReader().feed(frames) == [
        SseEvent(data="{}", event="contentBlockDelta"),
        SseEvent(data="{}", event="validationException"),
    ]


def test_what_is_no_frame_ends_the_reading() -> None:
    """What follows it cannot be told apart, and all of it is kept."""
    frame = encode_frame("{}", "a")
    reader = FrameReader()

    assert len(reader.feed(frame + b"\xff" * 40)) == 1
    assert reader.feed(frame) == []
    assert reader.tail.encode(CODEC) == b"\xff" * 40 + frame


def test_an_error_that_is_no_exception_comes_back() -> None:
    """Its text stands in a header, and botocore makes an error of that."""
    frame = encode_frame('{"message":"out of order"}', "error:InternalFailure")
    buffer = EventStreamBuffer()
    buffer.add_data(frame)

    (error,) = list(buffer)

    assert error.headers == {
        ":error-code": "InternalFailure",
        ":error-message": "out of order",
        ":message-type": "error",
    }
    assert FrameReader().feed(frame) == [
        SseEvent(data='{"message":"out of order"}', event="error:InternalFailure")
    ]
    assert FrameReader().feed(encode_frame("plain", "error:X"))[0].data == "plain"


@pytest.mark.parametrize(
    "value",
    [
        {"bytes": "bm8ganNvbg=="},
        {"bytes": "WzFd"},
        {"bytes": "!"},
        {"bytes": b64encode(b'{"a":1,"a":2}').decode()},
        {"other": "e30="},
        [1],
        None,
    ],
)
def test_only_json_objects_are_opened(value: Json) -> None:
    """What would not come back the same stays closed."""
    assert opened(value) == value
    assert closed(value) == value

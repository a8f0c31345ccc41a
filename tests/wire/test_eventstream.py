"""Binary event streams are read as AWS frames them, and written so that its clients take them."""

from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]  # it brings no types

from mcprec_addon.wire.eventstream import FrameReader, encode_frame
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
    """A damaged stream gives what came whole, and no more."""
    frame = encode_frame("{}", "a")
    reader = FrameReader()

    assert len(reader.feed(frame + b"\xff" * 40)) == 1
    assert reader.feed(frame) == []

"""Replays one recorded server on a pair of pipes; stdout belongs to the protocol."""

from contextlib import suppress
from typing import BinaryIO

from mcprec_addon.replay.line_responder import LineResponder


def serve_lines(responder: LineResponder, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer line by line until the client closes its end or a recorded answer ends us.

    Args:
        responder: Answers the lines.
        source: The client's lines.
        sink: Where answers go, flushed after each line that was answered.
    """

    def send(data: bytes, _at_ms: int = 0) -> None:
        sink.write(data)
        sink.flush()

    def stay() -> None:
        """Do nothing: a stream ends, the pipe does not."""

    with suppress(BrokenPipeError):  # the client is gone, and nobody else listens
        responder.stream.open(send, stay)
        for line in source:
            reply = responder.respond(line.rstrip(b"\r\n"))
            if reply.lines:
                send(b"".join(piece.data + b"\n" for piece in reply.lines))
            for step in reply.sent:
                step()
            for stream in reply.streams:
                stream.open(send, stay)
            if reply.ends:
                return

"""Replays one recorded server on a pair of pipes; stdout belongs to the protocol."""

from typing import BinaryIO

from mcprec_addon.replay.line_responder import LineResponder


def serve_lines(responder: LineResponder, source: BinaryIO, sink: BinaryIO) -> None:
    """Answer line by line until the client closes its end or a recorded answer ends us.

    Args:
        responder: Answers the lines.
        source: The client's lines.
        sink: Where answers go, flushed after each line that was answered.
    """
    for line in source:
        reply = responder.respond(line.rstrip(b"\r\n"))
        if reply.lines:
            try:
                sink.write(b"".join(piece.data + b"\n" for piece in reply.lines))
                sink.flush()
            except BrokenPipeError:  # the client is gone, and nobody else listens
                return
        if reply.ends:
            return

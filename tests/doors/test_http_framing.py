"""A reply on the wire has one length or one framing, and a head that nothing can break."""

import pytest

from mcprec_addon.doors.http_framing import Turn, blocks, chunk, closes, frames, head_bytes
from mcprec_addon.wire.http import HttpRequest, Piece, Reply

pytestmark = pytest.mark.door


def turn(method: str = "POST", *, chunked: bool = True, keep_alive: bool = True) -> Turn:
    request = HttpRequest(method=method, url="http://127.0.0.1/x")
    return Turn(request=request, arrived=0, keep_alive=keep_alive, chunked=chunked)


PIECES = (Piece(0, b"one"), Piece(20, b"two"))


def test_a_whole_reply_has_its_length_and_a_stream_has_chunks() -> None:
    """A client of HTTP/1.0 knows no chunks, and reads to the end."""
    whole, stream = Reply(status=200, pieces=PIECES[:1]), Reply(status=200, pieces=PIECES)

    assert b"content-length: 3\r\n" in head_bytes(turn(), whole)
    assert b"transfer-encoding: chunked\r\n" in head_bytes(turn(), stream)
    assert b"chunked" not in head_bytes(turn(chunked=False), stream)
    assert [data for _, data in frames(turn(), stream)] == [
        b"3\r\none\r\n",
        b"3\r\ntwo\r\n",
        b"0\r\n\r\n",
    ]
    assert chunk(turn(chunked=False), b"x") == b"x"


def test_nothing_is_behind_the_head_where_nothing_may_be() -> None:
    """A body there would be read as the next reply."""
    assert list(frames(turn("HEAD"), Reply(status=200, pieces=PIECES))) == []
    assert list(frames(turn(), Reply(status=204, pieces=PIECES))) == []


def test_a_header_with_a_line_break_is_refused() -> None:
    """It would be a header of somebody else's choice."""
    with pytest.raises(ValueError, match="line break"):
        head_bytes(turn(), Reply(status=200, headers=(("x", "a\r\nb: c"),)))


def test_blocks_are_those_of_one_moment_where_time_counts() -> None:
    """Else as few as may be."""
    reply = Reply(status=200, pieces=PIECES)

    assert [at_ms for at_ms, _ in blocks(turn(), reply, b"head", timed=True)] == [0, 20]
    assert len(list(blocks(turn(), reply, b"head", timed=False))) == 1


def test_a_reply_closes_its_connection_where_it_says_so() -> None:
    """Then the client must not send the next request on it."""
    assert closes(Reply(status=200, headers=(("connection", "Close"),)))
    assert b"connection: close" in head_bytes(turn(keep_alive=False), Reply(status=200))

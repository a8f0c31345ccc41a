"""Requests and replies as values."""

from mcprec_addon.exchange import Opaque
from mcprec_addon.wire.http import HttpRequest, Piece, Reply, body_bytes, text_or_bytes


def test_a_request_knows_its_parts() -> None:
    """Doors hand on absolute URLs; the core asks for path and origin."""
    request = HttpRequest(method="GET", url="https://h:8/a?b=1", headers=(("x", "1"), ("x", "2")))

    assert (request.path, request.origin) == ("/a?b=1", "https://h:8")
    assert (request.header("x"), request.header("y")) == ("1", None)


def test_only_an_unbroken_single_piece_is_whole() -> None:
    """A whole reply goes out with its length, any other piece by piece."""
    piece = Piece(0, b"x")

    assert Reply(status=200, pieces=(piece,)).whole
    assert not Reply(status=200, pieces=(piece, piece)).whole
    assert not Reply(status=200, pieces=(piece,), end="reset").whole
    assert not Reply(status=200, pieces=(piece,), streamed=True).whole


def test_a_body_that_is_no_json_comes_back_as_it_was() -> None:
    """Text stays text, bytes that are not UTF-8 stay bytes."""
    assert body_bytes(text_or_bytes("ß".encode())) == "ß".encode()
    assert text_or_bytes(b"\xff") == Opaque(b"\xff")
    assert body_bytes(text_or_bytes(b"\xff")) == b"\xff"

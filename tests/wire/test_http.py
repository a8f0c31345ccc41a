"""Requests and replies as values: what a door reads, and what it writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Json, Opaque
from mcprec_addon.wire.http import (
    HttpRequest,
    Piece,
    Reply,
    ReplyEnd,
    body_bytes,
    first_header,
    text_or_bytes,
)

PIECE = Piece(0, b"x")


def test_a_request_knows_its_parts() -> None:
    """Doors hand on absolute URLs; the core asks for path and origin."""
    request = HttpRequest(method="GET", url="https://h:8/a?b=1", headers=(("x", "1"), ("x", "2")))

    assert (request.path, request.origin) == ("/a?b=1", "https://h:8")
    assert (request.header("x"), request.header("y")) == ("1", None)


def test_a_bare_origin_has_the_root_as_its_path() -> None:
    """A request line cannot be empty."""
    assert HttpRequest(method="GET", url="http://h").path == "/"
    assert HttpRequest(method="GET", url="http://h?q=1").path == "/?q=1"


def test_the_first_of_repeated_headers_counts() -> None:
    """A second value must not replace the one that decided."""
    assert first_header([("a", "1"), ("b", "2"), ("b", "3")], "b") == "2"
    assert first_header([], "b") is None


@pytest.mark.parametrize("pieces", [(), (PIECE,)], ids=["empty", "one piece"])
def test_an_unbroken_body_of_one_piece_is_whole(pieces: tuple[Piece, ...]) -> None:
    """It goes out in one write, with its length."""
    assert Reply(status=200, pieces=pieces).whole


@pytest.mark.parametrize("end", ["reset", "rst", "hold"])
def test_a_reply_that_does_not_end_well_is_never_whole(end: ReplyEnd) -> None:
    """With a length and all its bytes the client would take it for complete."""
    assert not Reply(status=200, pieces=(PIECE,), end=end).whole


def test_a_stream_is_never_whole() -> None:
    """A client that waits for events gets chunks, be it but one."""
    assert not Reply(status=200, pieces=(PIECE, PIECE)).whole
    assert not Reply(status=200, pieces=(PIECE,), streamed=True).whole


def test_a_body_is_its_pieces_joined() -> None:
    """Where the cuts were is the sender's affair."""
    assert Reply(status=200, pieces=(Piece(0, b"ab"), Piece(9, b""), Piece(9, b"c"))).body == b"abc"


@given(body=st.binary() | st.text().map(str.encode))
def test_a_body_that_is_no_json_comes_back_as_it_was(body: bytes) -> None:
    """Replay gives back what came, not what we understood of it."""
    assert body_bytes(text_or_bytes(body)) == body


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ("ß", "ß".encode()),
        (Opaque("ß"), "ß".encode()),
        (Opaque(b"\xff"), b"\xff"),
        (None, b""),
    ],
    ids=["text", "opaque text", "opaque bytes", "none"],
)
def test_each_form_of_a_body_has_its_bytes(value: Json, body: bytes) -> None:
    """A cassette keeps text as text, so that it can be read in a review."""
    assert body_bytes(value) == body


def test_bytes_that_are_no_text_stay_bytes() -> None:
    """A replacement character in their place would be another body."""
    assert text_or_bytes(b"plain") == "plain"
    assert text_or_bytes(b"\xff") == Opaque(b"\xff")

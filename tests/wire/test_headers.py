"""A cassette keeps the headers of an answer that a client may act on."""

from mcprec_addon.wire.headers import header_lines, kept_headers, media_type


def test_headers_of_the_connection_are_dropped() -> None:
    """They describe how the answer travelled, not what it says."""
    lines = [("date", "now"), ("content-length", "3"), ("cf-ray", "x"), ("retry-after", "2")]

    assert kept_headers(lines, usual_type="application/json") == {"retry-after": "2"}


def test_a_repeated_header_stays_repeated() -> None:
    """Joined with a comma, two challenges or cookies become one wreck."""
    lines = [
        ("www-authenticate", "Bearer x"),
        ("www-authenticate", "Basic y"),
        ("x-empty", ""),
        ("set-cookie", "a=1"),
        ("set-cookie", "__cf_bm=z"),
    ]

    kept = kept_headers(lines, usual_type="application/json")

    assert kept == {
        "www-authenticate": ["Bearer x", "Basic y"],
        "x-empty": "",
        "set-cookie": "a=1",
    }
    assert header_lines(kept)[:3] == [lines[0], lines[1], lines[2]]


def test_the_usual_media_type_goes_without_saying() -> None:
    """Only an unusual one is worth a field."""
    plain = [("content-type", "Application/JSON; charset=utf-8")]

    assert kept_headers(plain, usual_type="application/json") == {}
    assert kept_headers(plain, usual_type="text/event-stream") == dict(plain)
    assert media_type(None) == ""

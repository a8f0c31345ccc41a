"""Content codings are undone as the bytes come, and a broken one is noticed."""

import gzip
import sys
import zlib

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from mcprec_addon.wire.coding import Decoder, decoded

PLAIN = b'{"output":"fertig"}' * 50
PACKED = {
    "gzip": gzip.compress(PLAIN),
    "deflate": zlib.compress(PLAIN),
    "br": brotli.compress(PLAIN),
    "zstd": zstandard.compress(PLAIN),
}


@pytest.mark.parametrize("coding", PACKED)
def test_a_coded_body_is_decoded_in_pieces(coding: str) -> None:
    """The cassette holds text that can be read and redacted."""
    decoder = Decoder(coding)
    packed = PACKED[coding]

    plain = b"".join(decoder.feed(packed[at : at + 7]) for at in range(0, len(packed), 7))

    assert plain == PLAIN
    assert not decoder.failed


def test_raw_deflate_is_understood() -> None:
    """Some servers send deflate without zlib's frame."""
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)

    assert decoded(raw.compress(PLAIN) + raw.flush(), "deflate") == PLAIN


@pytest.mark.parametrize("coding", [*PACKED, "unknown"])
def test_a_body_that_cannot_be_decoded_is_kept(coding: str) -> None:
    """The bytes stay at hand, so that nothing is lost."""
    decoder = Decoder(coding)

    assert decoder.feed(b"\x07 this is no such coding at all") == b""
    assert decoder.failed
    assert decoder.undecoded == b"\x07 this is no such coding at all"


def test_a_gzip_body_of_several_members_is_read_to_its_end() -> None:
    """Servers that compress piece by piece send one member each."""
    decoder = Decoder("gzip")
    packed = gzip.compress(PLAIN) + gzip.compress(b"more")

    plain = b"".join(decoder.feed(packed[at : at + 5]) for at in range(0, len(packed), 5))

    assert plain == PLAIN + b"more"


def test_a_missing_library_is_a_body_that_cannot_be_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A replay needs no extra, and a request may come packed all the same."""
    monkeypatch.setitem(sys.modules, "zstandard", None)

    assert decoded(PACKED["zstd"], "zstd") is None


@pytest.mark.parametrize("coding", [None, "", "identity"])
def test_a_plain_body_passes(coding: str | None) -> None:
    """Nothing to undo."""
    assert decoded(PLAIN, coding) == PLAIN


def test_codings_are_undone_last_first() -> None:
    """RFC 9110: codings are listed in the order they were applied."""
    assert decoded(brotli.compress(gzip.compress(PLAIN)), "gzip, br") == PLAIN

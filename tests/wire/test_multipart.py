"""Uploads are lists of parts, whatever boundary their client made up."""

from base64 import b64encode
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Json
from mcprec_addon.wire.multipart import is_binary, part_bytes, part_name, read_parts

WAV = b"RIFF\x24\x00\x00\x00WAVE\xff\x00\r\n--not-a-boundary\r\n"


def form(boundary: str, audio: bytes = WAV, model: str = "stt-1") -> bytes:
    """Return what a client uploads, as in RFC 7578."""
    mark = boundary.encode()
    return b"\r\n".join(
        [
            b"--" + mark,
            b'Content-Disposition: form-data; name="model"',
            b"",
            model.encode(),
            b"--" + mark,
            b'Content-Disposition: form-data; name="file"; filename="a.wav"',
            b"Content-Type: audio/wav",
            b"",
            audio,
            b"--" + mark + b"--",
            b"",
        ]
    )


def parts(body: bytes, boundary: str) -> list[Json] | None:
    return read_parts(body, f"multipart/form-data; boundary={boundary}")


def test_the_boundary_is_in_no_part() -> None:
    """Each run makes a new one; a key with it in would never hit."""
    assert form("b-1f0c") != form("b-77aa")
    assert parts(form("b-1f0c"), "b-1f0c") == parts(form("b-77aa"), "b-77aa")


def test_a_form_is_read_as_its_parts() -> None:
    """Names, file names, types and contents are what an upload says."""
    assert parts(form("b-1f0c"), "b-1f0c") == [
        {"name": "model", "text": "stt-1"},
        {
            "name": "file",
            "filename": "a.wav",
            "mime": "audio/wav",
            "base64": b64encode(WAV).decode(),
        },
    ]


@given(contents=st.lists(st.binary(max_size=40), min_size=1, max_size=4))
def test_contents_survive_to_the_byte(contents: list[bytes]) -> None:
    """A picture must not lose a byte because it ends in a line end, or holds hyphens."""
    body = b"".join(
        b'--zz\r\nContent-Disposition: form-data; name="f"\r\n\r\n' + each + b"\r\n"
        for each in contents
    )

    found = read_parts(body + b"--zz--\r\n", 'multipart/form-data; boundary="zz"')

    if not any(b"\r\n--zz" in b"\r\n" + each for each in contents):
        assert [part_bytes(cast("dict[str, Json]", part)) for part in found or []] == contents


@pytest.mark.parametrize("inner", [b"\r\n--zz2\r\n", b"-- zz", b"\r\n--zzz--", b"\r\n\r\n", b""])
def test_what_only_looks_like_the_boundary_is_content(inner: bytes) -> None:
    """A delimiter is a whole line."""
    body = b'--zz \t\r\nContent-Disposition: form-data; name="f"\r\n\r\n' + inner + b"\r\n--zz--"

    assert read_parts(body, "multipart/form-data; boundary=zz") == [
        {"name": "f", "text": inner.decode()}
    ]


def test_a_preamble_and_what_follows_the_end_are_nothing() -> None:
    """RFC 2046 allows text there, for readers that know no multipart."""
    body = b"ignore me\r\n--zz\r\n\r\nbare\r\n--zz--\r\nand me\r\n--zz\r\n"

    assert read_parts(body, "multipart/mixed; boundary=zz") == [{"text": "bare"}]


def test_names_are_read_in_every_spelling() -> None:
    """Clients write names beyond ASCII raw or as RFC 2231 says, and headers of their own."""
    body = (
        b'--zz\r\nContent-Disposition: form-data; name="a\\"b"; filename*=utf-8\'\'%C3%A4.txt\r\n'
        b"Content-Transfer-Encoding: binary\r\nX-Empty:\r\n\r\nx\r\n--zz\r\n"
        b'content-disposition: form-data; name="\xc3\xa4"; filename="\xe4"\r\n\r\ny\r\n--zz--'
    )

    assert read_parts(body, "multipart/form-data; boundary=zz") == [
        {
            "name": 'a"b',
            "filename": "ä.txt",
            "headers": {"content-transfer-encoding": "binary", "x-empty": ""},
            "text": "x",
        },
        {"name": "ä", "filename": "ä", "text": "y"},
    ]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (form("zz"), None),
        (form("zz"), "application/json"),
        (form("zz"), "multipart/form-data"),
        (form("zz"), "multipart/form-data; boundary=other"),
        (form("zz")[:-10], "multipart/form-data; boundary=zz"),
        (b"", "multipart/form-data; boundary=zz"),
    ],
)
def test_what_is_no_whole_form_is_left_alone(body: bytes, content_type: str | None) -> None:
    """A half read upload would be filed as another one."""
    assert read_parts(body, content_type) is None


@given(body=st.binary(max_size=60), content_type=st.text(max_size=20))
def test_no_bytes_break_the_reader(body: bytes, content_type: str) -> None:
    """An agent may send anything."""
    read_parts(b"--z\r\n" + body, "multipart/form-data; boundary=z")
    read_parts(body, f"multipart/form-data; {content_type}; boundary=z")


def test_what_is_no_text_is_binary() -> None:
    """Text in an old charset is still searched for secrets, sound is not."""
    assert is_binary(WAV)
    assert not is_binary("Grüße\tan\r\n".encode("latin-1"))
    assert not is_binary(b"")


def test_a_part_is_known_by_its_place() -> None:
    """A miss says which part differs, not only its number."""
    request: Json = [{"name": "model", "text": "a"}, {"text": "b"}]

    assert part_name(request, "0") == "model"
    assert part_name(request, "1") is None
    assert part_name(request, "7") is None
    assert part_name({"0": {"name": "x"}}, "0") is None

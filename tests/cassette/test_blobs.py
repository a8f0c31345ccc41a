"""Large content leaves the line, and comes back as it was."""

import hashlib
import random
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.cassette.blobs import (
    LEAST,
    NAME,
    BlobReader,
    BlobWriter,
    check_blob,
    no_blobs,
)
from mcprec_addon.cassette.exact import escaped, unescaped
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.exchange import Json, Pairs

BYTES = random.Random(7).randbytes(LEAST)  # noqa: S311 - a picture, no secret
PNG = b"\x89PNG\r\n\x1a\n" + BYTES[:-8]
CODE = b64encode(BYTES).decode()


class Folder:
    """Blobs in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self._writer = BlobWriter()

    def referenced(self, value: Json) -> Json:
        """Return a value with references in it, and keep what they refer to."""
        found = self._writer.referenced(value)
        self.kept |= dict(self._writer.take_new())
        return found

    def read(self, digest: str) -> bytes:
        """Return one."""
        (data,) = [data for name, data in self.kept.items() if name.startswith(digest)]
        return check_blob(data, digest, name=digest)

    def back(self, value: Json) -> Json:
        """Return a value with its content in it."""
        return BlobReader(self.read).whole(value)


@pytest.mark.parametrize(
    ("value", "mime", "suffix"),
    [
        ({"type": "image", "data": CODE, "mimeType": "image/png"}, "image/png", "png"),
        ({"uri": "a://b", "blob": CODE, "mimeType": "application/pdf"}, "application/pdf", "pdf"),
        ({"type": "base64", "media_type": "image/webp", "data": CODE}, "image/webp", "webp"),
        ({"b64_json": CODE}, "application/octet-stream", "bin"),
        ({"b64_json": b64encode(PNG).decode()}, "image/png", "png"),
        ({"anything": b64encode(PNG).decode()}, "image/png", "png"),
        ({"data": CODE, "mimeType": "x/y; odd"}, "x/y; odd", "bin"),
        ({"name": "file", "mime": "audio/wav; x=1", "base64": CODE}, "audio/wav; x=1", "wav"),
    ],
)
def test_media_is_a_file_of_its_kind(value: dict[str, Json], mime: str, suffix: str) -> None:
    """By what is said beside it, else by how it begins."""
    folder = Folder()

    found = folder.referenced(value)

    (name,) = folder.kept
    assert NAME.fullmatch(name)
    assert name == f"{hashlib.sha256(folder.kept[name]).hexdigest()}.{suffix}"
    reference: Json = {
        "$blob": f"sha256:{name.partition('.')[0]}",
        "bytes": len(folder.kept[name]),
        "mime": mime,
    }
    assert isinstance(found, dict)
    assert reference in found.values()
    assert folder.back(found) == value


def test_a_data_uri_keeps_its_prefix() -> None:
    """Models and icons have pictures in URIs."""
    folder = Folder()
    value: Json = {"image_url": {"url": f"data:image/jpeg;base64,{CODE}", "detail": "low"}}

    found = folder.referenced(value)

    assert [name.partition(".")[2] for name in folder.kept] == ["jpg"]
    assert '"prefix": "data:image/jpeg;base64,"' in str(found).replace("'", '"')
    assert folder.back(found) == value


def test_the_same_picture_twice_is_one_file() -> None:
    """Whatever it is called there, and however it is packed."""
    folder = Folder()
    value: Json = [
        {"data": CODE, "mimeType": "image/png"},
        {"data": CODE, "mimeType": "image/jpeg"},
        f"data:image/png;base64,{CODE}",
    ]

    found = folder.referenced(value)

    assert len(folder.kept) == 1
    assert folder.back(found) == value


@pytest.mark.parametrize(
    "text",
    [
        CODE[: LEAST - 4],
        CODE[:-1],
        CODE + "\n",
        CODE[:100] + "\n" + CODE[100:],
        urlsafe_b64encode(b"\xff" * LEAST).decode(),
        "A" * (LEAST + 1) + "===",
        "A" * LEAST + "AB==",
    ],
    ids=["short", "cut", "line end", "lines", "url-safe", "bad padding", "loose bits"],
)
def test_what_would_come_back_otherwise_stays(text: str) -> None:
    """Replay gives back what came, to the character."""
    folder = Folder()

    assert folder.referenced({"data": text}) == {"data": text}
    assert folder.kept == {}


def test_sealed_reasoning_stays() -> None:
    """It is nobody's picture, and is never looked into."""
    value: Json = {"type": "redacted_thinking", "data": CODE}

    assert Folder().referenced(value) == value


def test_text_that_only_looks_like_base64_stays() -> None:
    """Twenty thousand letters in a tool's answer are no picture."""
    value: Json = {"type": "text", "text": "abcd" * LEAST}

    assert Folder().referenced(value) == value


keys = st.sampled_from(["data", "$blob", "$$blob", "$part", "text", "mimeType", "url"])
texts = st.sampled_from(["", "a", CODE, f"data:image/png;base64,{CODE}", f"sha256:{'0' * 64}"])
values = st.recursive(
    texts | st.none() | st.integers(0, 9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.lists(st.tuples(keys, inner), max_size=3).map(lambda pairs: Pairs(tuple(pairs)))
    ),
    max_leaves=8,
)


@given(values)
def test_reading_what_was_written_gives_it_back(value: Json) -> None:
    """Also where somebody's data has a key that looks like a reference."""
    folder = Folder()

    stored = folder.referenced(escaped(value))

    assert unescaped(folder.back(stored)) == value


@pytest.mark.parametrize(
    "reference",
    [
        {"$blob": "../../etc/passwd"},
        {"$blob": "sha256:" + "g" * 64},
        {"$blob": f"sha256:{'0' * 64}/../x"},
        {"$blob": 7},
        {"$blob": f"sha256:{'0' * 64}", "prefix": 1},
    ],
)
def test_a_reference_that_is_none_is_refused(reference: Json) -> None:
    """It never becomes a path."""
    with pytest.raises(RecordProblemError, match="64 hex digits"):
        Folder().back(reference)


def test_an_altered_blob_is_refused() -> None:
    """What is replayed is what was recorded."""
    digest = hashlib.sha256(b"one").hexdigest()

    assert check_blob(b"one", digest, name="x") == b"one"
    with pytest.raises(RecordProblemError, match="blob x was altered; restore it"):
        check_blob(b"two", digest, name="x")
    with pytest.raises(RecordProblemError, match="git lfs pull"):
        check_blob(b"version https://git-lfs.github.com/spec/v1", digest, name="x")
    with pytest.raises(RecordProblemError, match="no folder beside"):
        no_blobs(digest)

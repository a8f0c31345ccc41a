"""Large base64 content <-> references to files beside the cassette, named by their SHA-256.

A string of base64 of 16 KiB and more becomes ``{"$blob":"sha256:…","bytes":n,"mime":…}`` where
media stands, by the name of its member, or where it begins like a known kind of file; with
``prefix``, what precedes it in a data URI. Only where decoding and encoding gives the same text.
"""

import hashlib
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Final

from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.exchange import Json, Pairs
from mcprec_addon.wire.headers import media_type

LEAST: Final = 16384
"""Characters of base64 from which content is a blob."""

type Read = Callable[[str], bytes]
"""Returns the blob of a SHA-256 in hex; raises `RecordProblemError` where there is none."""

NAME: Final = re.compile(r"([0-9a-f]{64})\.[a-z0-9]{1,8}")
"""What a blob's file is called."""

_DATA_URI: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,200};base64,")
_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")
# Members that hold media: of MCP, and of the model APIs.
_MEDIA: Final = frozenset(
    {"data", "blob", "src", "b64_json", "partial_image_b64", "file_data", "image_url", "url"}
    | {"audio", "image", "bytes", "result", "base64"}
)
_MIMES: Final = ("mimeType", "mime_type", "media_type", "mime")
# The same on every machine: the standard library's table depends on what is installed.
_SUFFIXES: Final[dict[str, str]] = {
    "application/gzip": "gz",
    "application/json": "json",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tif",
    "image/webp": "webp",
    "text/csv": "csv",
    "text/html": "html",
    "text/plain": "txt",
    "video/mp4": "mp4",
    "video/webm": "webm",
}
# How files of a kind begin, in base64: whole groups of it only.
_BEGINNINGS: Final[dict[str, str]] = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": "application/pdf",
    "UEsDB": "application/zip",
    "H4sI": "application/gzip",
    "SUQz": "audio/mpeg",
    "T2dnU": "audio/ogg",
    "ZkxhQ": "audio/flac",
}
_BODY: Final = "/body"  # what `raw` calls the body of an answer
_UNKNOWN: Final = "application/octet-stream"


class BlobWriter:
    """Takes large content out of records; its life is the writing of one cassette."""

    def __init__(self) -> None:
        """Start with nothing taken."""
        self._taken: set[str] = set()
        self._new: list[tuple[str, bytes]] = []
        self._body_type: Json = None  # of the answer in the record at hand

    def take_new(self) -> tuple[tuple[str, bytes], ...]:
        """Return, once, the blobs referred to since the last time: file name and bytes."""
        new, self._new = tuple(self._new), []
        return new

    def referenced(self, value: Json) -> Json:
        """Return a value of the file with references in it; the value itself is left alone."""
        match value:
            case {"headers": {"content-type": body_type}}:
                self._body_type = body_type
            case _:
                self._body_type = None
        return self._value(value, "", {})

    def _value(self, value: Json, name: str, beside: dict[str, Json]) -> Json:
        match value:
            case str() if len(value) >= LEAST:
                return self._reference(value, name, beside)
            case {"base64": str(code)} if name == _BODY and len(code) >= LEAST:
                return {"base64": self._reference(code, "base64", {"mime": self._body_type})}
            case dict():
                return {key: self._value(member, key, value) for key, member in value.items()}
            case list():
                return [self._value(member, name, beside) for member in value]
            case Pairs():
                return Pairs(
                    tuple((key, self._value(each, key, {})) for key, each in value.members)
                )
            case _:
                return value

    def _reference(self, text: str, name: str, beside: dict[str, Json]) -> Json:
        uri = _DATA_URI.match(text)
        prefix = uri.group() if uri is not None else ""
        code = text.removeprefix(prefix)
        sniffed = next((mime for head, mime in _BEGINNINGS.items() if code.startswith(head)), None)
        is_sealed = beside.get("type") == "redacted_thinking"  # opaque, and no picture
        if is_sealed or (uri is None and name not in _MEDIA and sniffed is None):
            return text
        data = _decoded(code)
        if data is None or len(code) < LEAST:
            return text
        told = next((beside[key] for key in _MIMES if isinstance(beside.get(key), str)), None)
        mime = (uri[1] if uri is not None else None) or told or sniffed or _UNKNOWN
        kind = media_type(str(mime))
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._taken:
            self._taken.add(digest)
            self._new.append((f"{digest}.{_SUFFIXES.get(kind, 'bin')}", data))
        found: dict[str, Json] = {"$blob": f"sha256:{digest}", "bytes": len(data), "mime": mime}
        return found | {"prefix": prefix} if prefix else found


def _decoded(code: str) -> bytes | None:
    """Return what base64 stands for, or None where encoding it would give another text."""
    if len(code) % 4:
        return None
    try:
        data = b64decode(code, validate=True)
    except (Base64Error, ValueError):
        return None
    return data if b64encode(data).decode() == code else None


class BlobReader:
    """Puts large content back; its life is the reading of one cassette.

    What a cassette refers to several times is one string in memory.
    """

    def __init__(self, read: Read) -> None:
        """Start with nothing read."""
        self._read = read
        self._texts: dict[tuple[str, str], str] = {}

    def whole(self, value: Json) -> Json:
        """Return a value of the file with content in place of references.

        Raises:
            RecordProblemError: A reference is none, or its blob is missing or altered.
        """
        match value:
            case dict() if "$blob" in value:
                return self._content(value)
            case dict():
                return {key: self.whole(member) for key, member in value.items()}
            case list():
                return [self.whole(member) for member in value]
            case Pairs():
                return Pairs(tuple((key, self.whole(each)) for key, each in value.members))
            case _:
                return value

    def _content(self, reference: dict[str, Json]) -> str:
        name, prefix = reference["$blob"], reference.get("prefix", "")
        match = _DIGEST.fullmatch(name) if isinstance(name, str) else None
        if match is None or not isinstance(prefix, str):
            message = '"$blob" must be sha256: and 64 hex digits, and its "prefix" a string'
            raise RecordProblemError(message)
        key = match[1], prefix
        if key not in self._texts:
            self._texts[key] = prefix + b64encode(self._read(match[1])).decode()
        return self._texts[key]


def no_blobs(digest: str) -> bytes:
    """Refuse to read a blob: a cassette that is no file has no folder beside it."""
    message = f"blob {digest} cannot be read: there is no folder beside this cassette"
    raise RecordProblemError(message)


def check_blob(data: bytes, digest: str, *, name: str) -> bytes:
    """Return the bytes of a blob's file.

    Args:
        data: What is in the file.
        digest: What it must be, as SHA-256 in hex.
        name: The file, as messages name it.

    Raises:
        RecordProblemError: It holds something else.
    """
    if hashlib.sha256(data).hexdigest() == digest:
        return data
    if data.startswith(b"version https://git-lfs"):
        message = f"blob {name} is a Git LFS pointer, not the content; fetch it with git lfs pull"
    else:
        message = f"blob {name} was altered; restore it, or record again"
    raise RecordProblemError(message)

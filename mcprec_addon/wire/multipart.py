"""Multipart bodies as lists of parts, so that their random boundary is nowhere.

A part is an object: its ``name`` and ``filename``, its content type as ``mime``, other headers of
its own as ``headers``, each only where it was given, then ``text``, or ``base64`` for what is no
text. A list of parts is plain JSON, so all that holds for a request holds for an upload.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from typing import Final

from mcprec_addon.exchange import Json
from mcprec_addon.jsonvalue import one_line, shown
from mcprec_addon.wire.headers import media_type

_CRLF: Final = b"\r\n"
_LONGEST_BOUNDARY: Final = 200  # RFC 2046 allows 70
_OWN: Final = frozenset({"content-disposition", "content-type", "content-length"})
_ONE_BYTE: Final = frozenset({"iso-8859-1", "ISO-8859-1", "latin-1", "us-ascii"})
# C0 characters that texts have; a text with any other is shown and searched as bytes.
_TEXT_CONTROLS: Final = b"\t\n\r\x0b\x0c\x1b"
_BINARY: Final = bytes(set(range(32)) - set(_TEXT_CONTROLS))


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text in any charset of one byte: they hold control characters."""
    return len(data) != len(data.translate(None, _BINARY))


def read_parts(body: bytes, content_type: str | None) -> list[Json] | None:
    """Return the parts of a multipart body, or None where it is none, or broken.

    Args:
        body: The body, content coding undone.
        content_type: Value of its Content-Type header.

    Source: RFC 2046, 5.1.1: a delimiter is CRLF, two hyphens and the boundary, at the start of a
    line; RFC 7578 for the names of parts.
    """
    if not media_type(content_type).startswith("multipart/"):
        return None
    boundary = _parameter(_message(f"Content-Type: {content_type}"), "content-type", "boundary")
    if not boundary or len(boundary) > _LONGEST_BOUNDARY:
        return None
    pieces = list(_pieces(_CRLF + body, b"\r\n--" + boundary.encode("latin-1", "replace")))
    if not pieces or pieces[-1] is not None:
        return None
    return [_part(piece) for piece in pieces if piece is not None]


def _pieces(body: bytes, delimiter: bytes) -> Iterator[bytes | None]:
    """Yield what stands between delimiters, and None for the closing one."""
    begin: int | None = None
    at = body.find(delimiter)
    while at >= 0:
        line_end = body.find(_CRLF, at + len(delimiter))
        line_end = len(body) if line_end < 0 else line_end
        rest = body[at + len(delimiter) : line_end].rstrip(b" \t")
        if rest in (b"", b"--"):  # else it only begins like the delimiter
            if begin is not None:
                yield body[begin:at]
            if rest:
                yield None
                return
            begin = line_end
        at = body.find(delimiter, max(line_end, at + 1) if rest == b"" else at + 1)


def _part(piece: bytes) -> dict[str, Json]:
    """Return a part, given what follows its delimiter: a line end, headers, a blank line."""
    head, _, content = piece.partition(b"\r\n\r\n")
    headers = _message(head.decode("latin-1").lstrip("\r\n"))
    mime = headers.get("content-type")
    named = {
        "name": _parameter(headers, "content-disposition", "name"),
        "filename": _parameter(headers, "content-disposition", "filename"),
        "mime": None if mime is None else _sound(str(mime)),
    }
    part: dict[str, Json] = {key: value for key, value in named.items() if value is not None}
    others: dict[str, Json] = {
        key.lower(): _sound(str(value)) for key, value in headers.items() if key.lower() not in _OWN
    }
    if others:
        part["headers"] = others
    return part | _content(content)


def _content(content: bytes) -> dict[str, Json]:
    if not is_binary(content):
        try:
            return {"text": content.decode()}
        except UnicodeDecodeError:
            pass
    return {"base64": b64encode(content).decode()}


def _message(headers: str) -> Message:
    return HeaderParser().parsestr(headers, headersonly=True)


def _parameter(headers: Message, header: str, name: str) -> str | None:
    value = headers.get_param(name, header=header)
    match value:
        case str():
            return _sound(value)
        case (charset, _, text):  # RFC 2231: charset, language, text
            raw = text.encode("latin-1", "replace")
            return raw.decode("latin-1" if charset in _ONE_BYTE else "utf-8", "replace")
        case _:
            return None


def _sound(text: str) -> str:
    """Return what a header says that was read as Latin-1: UTF-8 where it is that."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def part_bytes(part: dict[str, Json]) -> bytes:
    """Return the content of a part as it was sent."""
    match part:
        case {"base64": str(code)}:
            return code_bytes(code)
        case {"text": str(text)}:
            return text.encode()
        case _:
            return b""


def code_bytes(code: str) -> bytes:
    """Return what base64 stands for; of what a person made of it, the text itself."""
    try:
        return b64decode(code, validate=True)
    except ValueError:
        return code.encode()


def part_line(part: Json) -> str:
    """Return a part in a few words, such as ``file: a.wav, audio/wav, 48213 bytes``."""
    if not isinstance(part, dict):
        return shown(part)
    name = part.get("name")
    said = [str(part[key]) for key in ("filename", "mime") if key in part]
    text = part.get("text")
    if isinstance(text, str) and "filename" not in part:
        said.append(shown(text))
    else:
        said.append(f"{len(part_bytes(part))} bytes")
    return one_line(f"{name if isinstance(name, str) else 'part'}: {', '.join(said)}")


def part_name(request: Json, step: str) -> str | None:
    """Return the name of the part of a request at a step of a pointer, where it has one."""
    if not isinstance(request, list) or not step.isdecimal() or int(step) >= len(request):
        return None
    part = request[int(step)]
    name = part.get("name") if isinstance(part, dict) else None
    return name if isinstance(name, str) else None

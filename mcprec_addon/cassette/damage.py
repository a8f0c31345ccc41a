"""What is wrong with a line that is no JSON, and what to do about it."""

import re
from collections.abc import Iterator

from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.exchange import Json, Number, Pairs
from mcprec_addon.jsonvalue import JsonError, loads

_CONFLICT_MARKERS = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
_NOT_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})


class LineDamageError(RecordProblemError):
    """A line is no JSON at all."""


def second_reading(line: bytes, complaint: str, *, torn: bool) -> Json:
    """Return the value of a line that plain parsing refused, where it is strict JSON after all.

    That is so for ``1e400`` and for the escape of a lone surrogate.

    Args:
        line: The line without its end.
        complaint: What plain parsing said.
        torn: The line is the file's last and has no end.

    Raises:
        LineDamageError: The line is no JSON; the message is the likely cause and the remedy.
    """
    cause = _cause(line, torn=torn)
    if cause is not None:
        raise LineDamageError(cause)
    try:
        value = loads(line)
    except JsonError as error:
        raise LineDamageError(_no_json(complaint, torn=torn)) from error
    bare = next((text for text in _numbers(value) if text in _NOT_NUMBERS), None)
    if bare is not None:
        message = f'a bare {bare} is no JSON; write it as a string, or the member as text in "raw"'
        raise LineDamageError(message)
    return value


def _cause(line: bytes, *, torn: bool) -> str | None:
    if line.startswith(_CONFLICT_MARKERS):
        return "a conflict marker is left from a merge; keep the lines that hold, delete the marker"
    if line.startswith(b"version https://git-lfs"):
        return "this is a Git LFS pointer, not the cassette; fetch it with git lfs pull"
    if b"\0" in line:
        count = line.count(b"\0")
        return f"{count} NUL bytes stand where text was lost; restore the file or record again"
    return _bad_utf8(line, torn=torn)


def _bad_utf8(line: bytes, *, torn: bool) -> str | None:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        if torn and error.end == len(line):
            return None
        return f"byte {error.start + 1} of the line is not UTF-8; save the file as UTF-8"
    return None


def _no_json(complaint: str, *, torn: bool) -> str:
    if torn:
        return "the last line is torn; restore the file, or delete the line, or record again"
    # The parser sees one line alone, its own line number says nothing.
    where = re.sub(r": line 1 column (\d+) \(char \d+\)$", r" at column \1", complaint)
    return f"the line is no JSON, {where}; restore it from version control"


def _numbers(value: Json) -> Iterator[str]:
    match value:
        case Number():
            yield value.text
        case dict():
            for member in value.values():
                yield from _numbers(member)
        case list():
            for member in value:
                yield from _numbers(member)
        case Pairs():
            for _, member in value.members:
                yield from _numbers(member)
        case _:
            pass

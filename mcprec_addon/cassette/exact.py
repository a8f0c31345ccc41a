r"""What a line of JSON cannot say plainly: exact leaves, and keys that look like markers.

Two rules. A member that JSON does not carry there and back stands in ``raw`` as its text, and
is read as if it stood in its place. A key of the payload that matches ``^\$+(part|turns|blob)$``
is written with one more ``$``, in ``raw`` too; readers strip one.
"""

import base64
import binascii
import re
from collections.abc import Callable

from mcprec_addon.cassette.fields import RecordProblemError, object_of
from mcprec_addon.exchange import Json, Opaque, Pairs
from mcprec_addon.jsonvalue import (
    JsonError,
    Pointer,
    dumps,
    is_plain,
    loads,
    parse_pointer,
    pointer_text,
)

_MARKER = re.compile(r"\$+(?:part|turns|blob)")
_ESCAPED_MARKER = re.compile(r"\${2,}(?:part|turns|blob)")
_INDEX_DIGITS = 9  # no list is longer; int() refuses thousands of digits


def escaped_key(key: str) -> str:
    """Return a key of the payload as it stands in the file."""
    return f"${key}" if key.startswith("$") and _MARKER.fullmatch(key) else key


def unescaped_key(key: str) -> str:
    """Return a key of the file as it stands in the payload."""
    return key[1:] if key.startswith("$$") and _ESCAPED_MARKER.fullmatch(key) else key


def escaped(value: Json) -> Json:
    """Return a value of the payload as it stands in the file; the value itself is left alone."""
    return _renamed(value, escaped_key) if b'"$' in dumps(value) else value


def unescaped(value: Json) -> Json:
    """Return a value of the file as it stands in the payload."""
    return _renamed(value, unescaped_key)


def _renamed(value: Json, rename: Callable[[str], str]) -> Json:
    match value:
        case dict():
            return {rename(key): _renamed(member, rename) for key, member in value.items()}
        case Pairs():
            return Pairs(
                tuple((rename(key), _renamed(each, rename)) for key, each in value.members)
            )
        case list():
            return [_renamed(member, rename) for member in value]
        case _:
            return value


def with_raw(record: dict[str, Json]) -> dict[str, Json]:
    """Return a record that JSON carries: members it would not carry are moved to ``raw``."""
    if is_plain(record):
        return record
    raw: dict[str, Json] = {}
    kept: dict[str, Json] = {}
    for name, member in record.items():
        _keep(kept, name, member, (name,), raw)
    kept["raw"] = raw
    return kept


def _keep(
    kept: dict[str, Json], name: str, member: Json, at: Pointer, raw: dict[str, Json]
) -> None:
    if is_plain({name: member}):
        kept[name] = member
    elif name == "events" and isinstance(member, list):
        events: dict[str, Json] = {}
        for index, event in enumerate(member):
            _keep(events, str(index), event, (*at, str(index)), raw)
        kept[name] = [events.get(str(index)) for index in range(len(member))]
    elif name == "http" and isinstance(member, dict):
        http: dict[str, Json] = {}
        for key, value in member.items():
            _keep(http, key, value, (*at, key), raw)
        kept[name] = http
    elif isinstance(member, Opaque):
        raw[pointer_text(at)] = _opaque_text(member)
    else:
        _keep_rest(kept, name, _without_opaque(member, at, raw), at, raw)


def _keep_rest(
    kept: dict[str, Json], name: str, member: Json, at: Pointer, raw: dict[str, Json]
) -> None:
    if is_plain({name: member}):
        kept[name] = member
    else:
        raw[pointer_text(at)] = dumps(member).decode()


def _without_opaque(value: Json, at: Pointer, raw: dict[str, Json]) -> Json:
    """Return `value` with null for every `Opaque` in it, such as the parts of a multipart body."""
    match value:
        case Opaque():
            raw[pointer_text(at)] = _opaque_text(value)
            return None
        case dict():
            return {key: _without_opaque(each, (*at, key), raw) for key, each in value.items()}
        case list():
            return [
                _without_opaque(each, (*at, str(index)), raw) for index, each in enumerate(value)
            ]
        case _:
            return value


def _opaque_text(value: Opaque) -> Json:
    content = value.content
    if isinstance(content, str) and is_plain(content):
        return {"text": content} if _is_json(content) else content
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return {"base64": base64.b64encode(data).decode()}


def _is_json(text: str) -> bool:
    """Whether a text that is no JSON to its sender, such as a file of one line, reads as JSON."""
    try:
        loads(text)
    except JsonError:
        return False
    return True


def without_raw(record: dict[str, Json]) -> dict[str, Json]:
    """Return `record`, changed in place, with the members of its ``raw`` in their places.

    Raises:
        RecordProblemError: ``raw`` is not an object of pointers, or names a place that cannot be.
    """
    raw = object_of(record.pop("raw"), "raw")
    members = [(_steps(pointer), _raw_value(text, pointer)) for pointer, text in raw.items()]
    for steps, value in sorted(members, key=lambda member: len(member[0])):
        _place(record, steps, value)
    return record


def _steps(pointer: str) -> Pointer:
    try:
        return parse_pointer(pointer)
    except ValueError as error:
        message = f'"raw": {error}'
        raise RecordProblemError(message) from error


def _raw_value(text: Json, pointer: str) -> Json:
    match text:
        case str():
            return _parsed(text)
        case {"base64": str(encoded), **others} if not others:
            return _decoded(encoded, pointer)
        case {"text": str(content), **others} if not others:
            return Opaque(content)
        case _:
            message = f'"raw" of {pointer} must be a string, {{"base64": …}} or {{"text": …}}'
            raise RecordProblemError(message)


def _parsed(text: str) -> Json:
    try:
        return loads(text)
    except JsonError:
        return Opaque(text)


def _decoded(encoded: str, pointer: str) -> Opaque:
    try:
        return Opaque(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError) as error:
        message = f'"raw" of {pointer} is no base64; restore it'
        raise RecordProblemError(message) from error


def _place(record: dict[str, Json], steps: Pointer, value: Json) -> None:
    place: Json = record
    for step in steps[:-1]:
        place = _inside(place, step, steps)
    match place:
        case dict():
            place[steps[-1]] = value
        case list() if is_index(steps[-1], place):
            place[int(steps[-1])] = value
        case _:
            raise RecordProblemError(_nowhere(steps))


def _inside(place: Json, step: str, steps: Pointer) -> Json:
    match place:
        case dict():
            return place.setdefault(step, {})
        case list() if is_index(step, place):
            return place[int(step)]
        case _:
            raise RecordProblemError(_nowhere(steps))


def is_index(step: str, elements: list[Json]) -> bool:
    """Whether a step of a pointer names an element of a list."""
    return step.isdecimal() and len(step) <= _INDEX_DIGITS and int(step) < len(elements)


def _nowhere(steps: Pointer) -> str:
    return f'"raw" names {pointer_text(steps)}, which this record has no place for'

"""Which members of traffic are never touched, and the walk that heeds them.

Exempt by name and place, before any pattern: request state, cursors, ids that a server minted,
encrypted reasoning, signatures, base64 media. A data member (a tool's arguments, structured
content) ends the exemption: there an ``id`` may be anything. In a JSON Schema names are names.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mcprec_addon.exchange import Json, Opaque, Pairs
from mcprec_addon.jsonvalue import Pointer, pointer_text
from mcprec_addon.redact.finder import Finder
from mcprec_addon.redact.hits import applied
from mcprec_addon.redact.walk import opaque
from mcprec_addon.wire.multipart import is_binary
from mcprec_addon.wire.providers import ID_MEMBERS, OPAQUE_MEMBERS

_ID = re.compile(r"[\w.:|/=+~-]{1,512}")
_BINARY_URI = re.compile(r"data:(?!text/|application/[a-z.+-]*(?:json|xml))[a-z]+/[^,]*;base64,")
_TEXT_TYPES = re.compile(r"text/|application/[a-z.+-]*(?:json|xml|javascript|yaml)")
_SCHEMA_SIGNS = frozenset({"type", "properties", "$ref", "$schema", "anyOf", "oneOf", "allOf"})
_TOOL_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What holds for the members of an object, and of those below it.

    Attributes:
        exempt: Names of members that are never touched.
        ids: Names of members that are not touched while they look like an id.
        data: Names of members whose values are anybody's data.
        schemas: Names of members whose values are a JSON Schema.
        has_blocks: Whether content blocks with media may stand here.
        has_names: Whether a member's name may say that its value is a secret.
        is_form: Whether the objects are parts of a form, each with its name in ``name``.
    """

    exempt: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    data: frozenset[str] = frozenset()
    schemas: frozenset[str] = frozenset()
    has_blocks: bool = False
    has_names: bool = True
    is_form: bool = False


_ARGS, _STATE = ("args",), ("input", "state")
DATA = Scope()
_NAMELESS = Scope(has_names=False)

MCP = Scope(
    exempt=frozenset({"requestState", "cursor", "nextCursor", "progressToken"}),
    ids=frozenset({"taskId", "requestId", "io.modelcontextprotocol/subscriptionId"}),
    data=frozenset({"arguments", "structuredContent"}),
    schemas=frozenset({"inputSchema", "outputSchema", "requestedSchema"}),
    has_blocks=True,
)

MODEL = Scope(
    exempt=OPAQUE_MEMBERS | {"base64"},
    ids=ID_MEMBERS
    | {
        "previous_response_id",
        "response_id",
        "file_id",
        "system_fingerprint",
        "request_id",
        "cachedContent",
    },
    data=frozenset({"arguments", "args", "metadata"}),
    schemas=frozenset({"input_schema", "parameters", "schema", "parametersJsonSchema"}),
    has_blocks=True,
)

FORM = Scope(exempt=frozenset({"base64"}), is_form=True)
"""The parts of an upload: their bytes stay, and a field's name is in its ``name``."""


class Fields:
    """Takes the secrets out of values, heeding what is never touched.

    Attributes:
        inside: Pointers of known values that were left in exempt members.
    """

    def __init__(self, finder: Finder) -> None:
        self.inside: dict[str, None] = {}
        self._finder = finder
        self._at: list[str] = []

    def redacted(
        self, value: Json, scope: Scope, root: str, *, untouched: Collection[str] = ()
    ) -> Json:
        """Return a value without its secrets; the same object where it has none.

        Args:
            value: The value.
            scope: What holds for its members.
            root: Member of the record at which it stands.
            untouched: Pointers, rooted at the value, of strings that are redacted already.
        """
        self._at = [root]
        skipped = {f"/{root}{pointer}" for pointer in untouched}
        return self._value(value, scope, skipped)

    def leaks(self, value: Json, scope: Scope) -> Iterator[str]:
        """Yield where known values stand in a finished record, exempt members aside."""
        for at, text in open_texts(value, scope, ()):
            if self._finder.knows(text):
                yield pointer_text(at)

    def exempt(self, value: Json, at: list[str]) -> None:
        """Note known values in something that stays as it is."""
        self._at = at
        self._note(value)

    def _value(self, value: Json, scope: Scope, skipped: set[str]) -> Json:
        match value:
            case str():
                is_done = skipped and pointer_text(tuple(self._at)) in skipped
                return value if is_done else self._finder.text(value)
            case dict():
                return self._object(value, scope, skipped)
            case list():
                return self._list(value, scope, skipped)
            case Pairs():
                singles = [{key: member} for key, member in value.members]
                changed = [self._object(single, scope, skipped) for single in singles]
                return Pairs(tuple(pair for single in changed for pair in single.items()))
            case int() if not isinstance(value, bool):
                return self._finder.number(value, None)
            case _:
                return self._opaque(value) if isinstance(value, Opaque) else value

    def _opaque(self, value: Opaque) -> Opaque:
        if isinstance(value.content, bytes) and is_binary(value.content):
            self._note(value.content.decode("utf-8", "surrogateescape"))
        return opaque(value, self._finder.text)

    def _list(self, value: list[Json], scope: Scope, skipped: set[str]) -> list[Json]:
        changed: list[Json] = []
        is_same = True
        for index, member in enumerate(value):
            self._at.append(str(index))
            new = self._value(member, scope, skipped)
            self._at.pop()
            is_same &= new is member
            changed.append(new)
        return value if is_same else changed

    def _object(self, value: dict[str, Json], scope: Scope, skipped: set[str]) -> dict[str, Json]:
        changed: dict[str, Json] = {}
        is_same = True
        for key, member in value.items():
            self._at.append(key)
            new = self._member(value, key, scope, skipped)
            self._at.pop()
            name = self._finder.text(key)
            is_same &= new is member and name is key
            changed[name if name == key or name not in changed else key] = new
        return value if is_same else changed

    def _member(self, value: dict[str, Json], key: str, scope: Scope, skipped: set[str]) -> Json:
        member = value[key]
        if _is_exempt(value, key, scope):
            self._note(member)
            return member
        if isinstance(member, str):
            if scope.has_blocks and key in ("blob", "data") and _is_text_code(value):
                return self._blob(member)
            name = _name_of(value, key, scope)
            cls = self._finder.rules.placed_class(name) if scope.has_names else None
            if cls is not None:
                edits = self._finder.placed(cls, member)
                return applied(member, edits) if edits else member
            return self._value(member, scope, skipped)
        if isinstance(member, int) and not isinstance(member, bool):
            return self._finder.number(member, key if scope.has_names else None)
        return self._value(member, _inner(value, key, scope), skipped)

    def _blob(self, code: str) -> str:
        try:
            data = b64decode(code, validate=True)
        except Base64Error:
            return self._finder.text(code)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            self._note(code)
            return code
        clean = self._finder.text(text)
        return code if clean is text else b64encode(clean.encode()).decode()

    def _note(self, value: Json) -> None:
        match value:
            case str():
                if self._finder.knows(value):
                    self.inside[pointer_text(tuple(self._at))] = None
            case dict():
                for member in value.values():
                    self._note(member)
            case list():
                for member in value:
                    self._note(member)
            case _:
                return


def _name_of(value: dict[str, Json], key: str, scope: Scope) -> str:
    """Return what tells what a member holds: its key, or the name of the form's field."""
    name = value.get("name") if scope.is_form and key == "text" else None
    return name if isinstance(name, str) else key


def open_texts(value: Json, scope: Scope, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    """Yield the strings and keys of a record that are not exempt."""
    match value:
        case str() | int() if not isinstance(value, bool):
            yield at, str(value)
        case dict():
            for key in value:
                yield at, key
                yield from _open_member(value, key, scope, at)
        case list():
            for index, member in enumerate(value):
                yield from open_texts(member, scope, (*at, str(index)))
        case Pairs():
            for key, member in value.members:
                yield from open_texts({key: member}, scope, at)
        case _:
            return


def _open_member(
    value: dict[str, Json], key: str, scope: Scope, at: Pointer
) -> Iterator[tuple[Pointer, str]]:
    here = (*at, key)
    if not _is_exempt(value, key, scope) and here != _STATE:
        inner = DATA if here == _ARGS else _inner(value, key, scope)
        yield from open_texts(value[key], inner, here)


def _inner(value: dict[str, Json], key: str, scope: Scope) -> Scope:
    member = value[key]
    if (
        key in scope.data
        or (key == "input" and _is_tool_use(value))
        or (key == "response" and "name" in value)
    ):
        return DATA
    if key in scope.schemas and isinstance(member, dict) and _SCHEMA_SIGNS & member.keys():
        return _NAMELESS
    if key == "logprobs":  # its ``token`` members are pieces of text
        return _NAMELESS
    return scope


def _is_tool_use(value: dict[str, Json]) -> bool:
    return value.get("type") in _TOOL_USES or "toolUseId" in value


def _is_exempt(value: dict[str, Json], key: str, scope: Scope) -> bool:
    member = value[key]
    if key in scope.exempt:
        return True
    if not isinstance(member, str):
        return False
    if key in scope.ids:
        return _ID.fullmatch(member) is not None
    return scope.has_blocks and _is_media(value, key, member)


def _is_media(value: dict[str, Json], key: str, member: str) -> bool:
    match key:
        case "data":
            return _is_media_block(value)
        case "blob":
            mime = value.get("mimeType")
            return isinstance(mime, str) and not _TEXT_TYPES.match(mime)
        case "url" | "image_url" | "file_data":
            return _BINARY_URI.match(member) is not None
        case "delta":
            return str(value.get("type")).endswith("audio.delta")
        case "result":
            return value.get("type") == "image_generation_call"
        case _:
            return False


def _is_media_block(value: dict[str, Json]) -> bool:
    mime = next(
        (value[name] for name in ("mimeType", "mime_type", "media_type") if name in value), None
    )
    if isinstance(mime, str):
        return _TEXT_TYPES.match(mime) is None
    is_audio = "format" in value or "transcript" in value
    return is_audio or value.get("type") in ("image", "audio", "redacted_thinking", "base64")


def _is_text_code(value: dict[str, Json]) -> bool:
    """Whether a block's data is base64 of text."""
    if "blob" in value:
        return "uri" in value or "mimeType" in value
    return any(name in value for name in ("mimeType", "mime_type")) or (
        value.get("type") == "base64" and "media_type" in value
    )

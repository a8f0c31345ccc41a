"""Values that several model requests share, written once, so that n turns cost O(n).

What becomes a part is decided by place and size, never by how many share it: the system
prompt or instructions, the tool lists, and any other member of a request, or element of its
conversation, over 1 KiB of canonical JSON. A conversation that starts like that of an earlier
exchange says so with `$turns`. Both exist in the file only.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from mcprec_addon.cassette.exact import escaped, escaped_key, unescaped_key
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.exchange import Json, Pairs
from mcprec_addon.jsonvalue import canonical, dumps

_PART_BYTES: Final = 1024  # a value of 1 KiB is about as long as a line that reads well
_NAME_DIGITS: Final = 16
_PART_REFERENCE_BYTES: Final = len('{"$part":"0123456789abcdef"}')
_CONVERSATIONS: Final = ("messages", "input", "contents")
_SHARED_BY_PLACE: Final = frozenset(
    {"instructions", "system", "systemInstruction", "system_instruction"}
    | {"tools", "functions", "toolConfig"}
)
_SYSTEM_ROLES: Final = ("system", "developer")
_START: Final = 0  # the node before the first element of any conversation


def _conversation_key(request: Json) -> str | None:
    if not isinstance(request, dict):
        return None
    return next((key for key in _CONVERSATIONS if isinstance(request.get(key), list)), None)


def _conversation(request: Json) -> list[Json] | None:
    key = _conversation_key(request)
    conversation = request[key] if key is not None and isinstance(request, dict) else None
    return conversation if isinstance(conversation, list) else None


@dataclass(frozen=True, slots=True)
class _Measure:
    """What sharing needs to know of a value.

    Attributes:
        name: SHA-256 of the canonical JSON, in hex.
        size: Bytes of canonical JSON.
        written: Bytes of the value as it would be written in full.
    """

    name: str
    size: int
    written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """A request as it stands in the file.

    Attributes:
        request: The request with references in it.
        parts: The part records to be written before it.
    """

    request: Json
    parts: list[dict[str, Json]]


class PartWriter:
    """Finds what the requests of one cassette share; its life is the writing of that cassette.

    The requests must outlive it: values are known by their identity.
    """

    def __init__(self) -> None:
        """Start with nothing to share."""
        self._written: set[str] = set()
        self._by_identity: dict[int, _Measure] = {}
        self._by_text: dict[bytes, _Measure] = {}
        # Conversations form a tree: a node and the next element lead to the next node.
        self._nodes: dict[tuple[int, str], int] = {}
        self._latest: dict[int, tuple[int, int]] = {}  # node to (seq, order) of its last exchange
        self._order_of: dict[int, int] = {}  # seq to the order of its last exchange
        self._order = 0

    def shared(self, seq: int, request: Json) -> Shared:
        """Return a request as it stands in the file; call it in the order of the file."""
        parts: list[dict[str, Json]] = []
        match request:
            case dict():
                result: Json = self._members(seq, request, parts)
            case list():
                result = [self._value(element, parts) for element in request]
            case _:
                result = escaped(request)
        self._order_of[seq] = self._order
        self._order += 1
        return Shared(request=result, parts=parts)

    def _members(
        self, seq: int, request: dict[str, Json], parts: list[dict[str, Json]]
    ) -> dict[str, Json]:
        conversation = _conversation_key(request)
        members: dict[str, Json] = {}
        for name, member in request.items():
            if name == conversation and isinstance(member, list):
                members[escaped_key(name)] = self._conversation(seq, member, parts)
            else:
                always = name in _SHARED_BY_PLACE
                members[escaped_key(name)] = self._value(member, parts, always=always)
        return members

    def _conversation(
        self, seq: int, elements: list[Json], parts: list[dict[str, Json]]
    ) -> list[Json]:
        measures = [self._measure(element) for element in elements]
        system = _first_system(elements)
        turns = self._turns(seq, measures, system)
        head: list[Json] = [] if turns is None else [{"$turns": [*turns]}]
        start = 0 if turns is None else turns[1]
        rest = [
            self._value(element, parts, always=index == system)
            for index, element in enumerate(elements[start:], start)
        ]
        return head + rest

    def _turns(
        self, seq: int, measures: list[_Measure], system: int | None
    ) -> tuple[int, int] | None:
        """Return exchange and length of the longest known start, and make this one known."""
        path = [_START]
        known = 0
        for measure in measures:
            step = (path[-1], measure.name)
            if step in self._nodes:
                known += 1
            path.append(self._nodes.setdefault(step, len(self._nodes) + 1))
        target = self._latest.get(path[known])
        self._latest.update(dict.fromkeys(path, (seq, self._order)))
        if target is None or known == 0 or self._order_of[target[0]] != target[1]:
            return None  # the number was given twice and would lead to the later exchange
        turns = (target[0], known)
        marker = len(dumps({"$turns": [*turns]}))
        return turns if _written_bytes(measures[:known], system, marker) > marker else None

    def _value(self, value: Json, parts: list[dict[str, Json]], *, always: bool = False) -> Json:
        measure = self._measure(value)
        is_empty = value in (None, "", [], {})
        if is_empty or not (always or measure.size > _PART_BYTES):
            return escaped(value)
        name = measure.name[:_NAME_DIGITS]
        if name not in self._written:
            self._written.add(name)
            parts.append({"kind": "part", "part": name, "value": escaped(value)})
        return {"$part": name}

    def _measure(self, value: Json) -> _Measure:
        known = self._by_identity.get(id(value))
        if known is None:
            text = dumps(value)
            digest = hashlib.sha256(text).digest()
            known = self._by_text.get(digest)
            if known is None:
                plain = canonical(value)
                name = hashlib.sha256(plain).hexdigest()
                known = _Measure(name=name, size=len(plain), written=len(text))
                self._by_text[digest] = known
            self._by_identity[id(value)] = known
        return known


def _first_system(elements: list[Json]) -> int | None:
    return next(
        (
            index
            for index, element in enumerate(elements)
            if isinstance(element, dict) and element.get("role") in _SYSTEM_ROLES
        ),
        None,
    )


def _written_bytes(measures: list[_Measure], system: int | None, enough: int) -> int:
    """Return what the elements would take in the file; counting ends when it is `enough`."""
    total = -1  # one comma less than elements
    for index, measure in enumerate(measures):
        is_part = index == system or measure.size > _PART_BYTES
        total += 1 + (_PART_REFERENCE_BYTES if is_part else measure.written)
        if total > enough:
            break
    return total


class PartReader:
    """Puts shared values back; its life is the reading of one cassette.

    What requests share in the file they share in memory too.
    """

    def __init__(self) -> None:
        """Start without parts and conversations."""
        self._parts: dict[str, Json] = {}
        self._conversations: dict[int, list[Json] | None] = {}

    def add_part(self, name: str, value: Json) -> None:
        """Keep a part for the requests below it."""
        self._parts[name] = value

    def add_request(self, seq: int, request: Json) -> None:
        """Keep the conversation of a model exchange for those below it."""
        self._conversations[seq] = _conversation(request)

    def whole(self, value: Json) -> Json:
        """Return a value of the file as it stands in the payload.

        Raises:
            RecordProblemError: It refers to a part or an exchange that is not above it.
        """
        match value:
            case {"$part": name, **others} if not others:
                return self._part(name)
            case {"$turns": _, **others} if not others:
                message = "$turns stands at the head of a list only; move it there"
                raise RecordProblemError(message)
            case dict():
                return {unescaped_key(key): self.whole(each) for key, each in value.items()}
            case Pairs():
                members = [(unescaped_key(key), self.whole(each)) for key, each in value.members]
                return Pairs(tuple(members))
            case list():
                return self._list(value)
            case _:
                return value

    def _list(self, elements: list[Json]) -> list[Json]:
        match elements:
            case [{"$turns": target, **others}, *rest] if not others:
                return [*self._turns(target), *(self.whole(element) for element in rest)]
            case _:
                return [self.whole(element) for element in elements]

    def _part(self, name: Json) -> Json:
        if isinstance(name, str) and name in self._parts:
            return self._parts[name]
        shown = f'"{name}"' if isinstance(name, str) else "without a name"
        message = f"part {shown} is not above this line; put its part line back"
        raise RecordProblemError(message)

    def _turns(self, target: Json) -> list[Json]:
        match target:
            case [int(seq), int(length)] if length >= 1 and bool not in map(type, target):
                conversation = self._conversations.get(seq)
            case _:
                message = "$turns must be [SEQ,k], two whole numbers, k from 1"
                raise RecordProblemError(message)
        if conversation is None:
            message = (
                f"$turns names #{seq}, no model exchange with a conversation above; restore it"
            )
            raise RecordProblemError(message)
        if length > len(conversation):
            message = (
                f"$turns takes {length} elements of #{seq}, which has {len(conversation)}; mend"
            )
            raise RecordProblemError(message)
        return conversation[:length]

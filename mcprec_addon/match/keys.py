"""What is in the match key of a call, and what is not.

In it: server, method, name, arguments, params and input of an MCP call; provider, path without
version segment and request of a model call. Never in it: request id, `_meta`, session ids,
headers, era, what the provider's row calls volatile, ids that the client made up (those count by
order of first appearance), and what the rules of a replay leave out.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from mcprec_addon.exchange import (
    Call,
    Exchange,
    Input,
    Json,
    McpCall,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)
from mcprec_addon.jsonvalue import Pointer, canonical, has, parse_pointer, without
from mcprec_addon.match.normal import NAMED, Normal, Pattern, Places, named
from mcprec_addon.match.paths import fixed_ids, key_path
from mcprec_addon.match.rules import Rule
from mcprec_addon.wire.provider import Api
from mcprec_addon.wire.providers import ID_MEMBERS, api_of, family_of


class Keys:
    """Builds match keys under the rules of one replay."""

    def __init__(
        self,
        *,
        ignore: Sequence[Pointer] = (),
        rules: Sequence[Rule] = (),
        places: Places = Places(),  # noqa: B008  # frozen and empty
        answer_ids: frozenset[str] = frozenset(),
    ) -> None:
        """Set the rules.

        Args:
            ignore: Pointers into the record, such as ``/args/since``, to leave out.
            rules: What else does not count, and for which calls.
            places: Paths of this replay, for the patterns that mean them.
            answer_ids: Ids that recorded answers minted: they must match themselves.
        """
        self._always = tuple(ignore)
        self._rules = tuple(rules)
        self._places = places
        self._applied: dict[tuple[Rule, ...], _Applied] = {}
        self._answer_ids = answer_ids

    def ignored(self, call: Call) -> tuple[Pointer, ...]:
        """Return the pointers that are left out of the key of a call."""
        applied = self._applied_to(call)
        return self._always if applied is None else applied.ignore

    def idle_rules(self) -> list[Rule]:
        """Return the rules that no call so far had anything for."""
        seen = {rule for applied in self._applied.values() for rule in applied.seen()}
        return [rule for rule in self._rules if rule not in seen]

    def _applied_to(self, call: Call) -> "_Applied | None":
        if not self._rules:
            return None
        governing = tuple(rule for rule in self._rules if rule.governs(call))
        if governing not in self._applied:
            self._applied[governing] = _applied(governing, self._always, self._places)
        return self._applied[governing]

    def compared(self, call: Call) -> Call:
        """Return a call as it is compared: what is volatile gone or in its normal form."""
        applied = self._applied_to(call)
        if applied is not None:
            applied.look_at(call)
        api = api_of(call.provider, call.path) if isinstance(call, ModelCall) else None
        if api is not None and isinstance(call, ModelCall):
            request = without(call.request, _request_pointers(api.volatile))
            request = without_texts(request, api)
            call = replace(call, request=_rename_ids(request, api, self._answer_ids))
        return call if applied is None or applied.normal is None else applied.normalized(call)

    def canonical(self, call: Call) -> bytes:
        """Return the canonical JSON of the key of a call as `compared` gave it."""
        fields = call.record()
        if isinstance(call, ModelCall):
            api = api_of(call.provider, call.path)
            path = api.key_path(call.path) if api is not None else None
            fields["provider"] = family_of(call.provider)
            fields["path"] = path or key_path(call, self._answer_ids) or call.path
        return canonical(without(fields, self.ignored(call)))


@dataclass(frozen=True, slots=True)
class _Applied:
    """The rules that govern one kind of calls, ready to be used."""

    ignore: tuple[Pointer, ...]
    normal: Normal | None
    patterns: tuple[Rule, ...]
    unseen: set[Rule]
    met: set[Rule]

    def look_at(self, call: Call) -> None:
        """Take note of which fields to ignore a call has."""
        if not self.unseen:
            return
        fields = call.record()
        found = {rule for rule in self.unseen if has(fields, rule.pointer)}
        self.unseen.difference_update(found)
        self.met.update(found)

    def seen(self) -> set[Rule]:
        """Return the rules that some call had something for."""
        found = self.normal.found if self.normal is not None else set[int]()
        return self.met | {self.patterns[place] for place in found}

    def normalized(self, call: Call) -> Call:
        """Return a call with its texts in their normal form."""
        if self.normal is None:
            return call
        value = self.normal.value
        if isinstance(call, ModelCall):
            return replace(call, request=value(call.request))
        said = call.input
        return replace(
            call,
            name=_normal_name(call, self.normal),
            args=value(call.args),
            params=value(call.params),
            input=said and Input(state=value(said.state), responses=value(said.responses)),
        )


def _normal_name(call: McpCall, normal: Normal) -> str | None:
    """Return what a call names, an address in its normal form; a tool's name is no text."""
    if call.name is None or call.method != "resources/read":
        return call.name
    form = normal.form(call.name)
    normal.found.update(form.found)
    return form.text


def _applied(governing: tuple[Rule, ...], always: tuple[Pointer, ...], places: Places) -> _Applied:
    ignoring = [rule for rule in governing if rule.kind == "ignore"]
    patterns = tuple(rule for rule in governing if rule.kind == "normalize")
    own = [rule.pattern for rule in patterns if rule.pattern not in NAMED]
    made = [
        named(rule.pattern, places)
        if rule.pattern in NAMED
        else Pattern(f"pattern {own.index(rule.pattern) + 1}", (rule.pattern,))
        for rule in patterns
    ]
    return _Applied(
        ignore=(*always, *(rule.pointer for rule in ignoring)),
        normal=Normal(made) if made else None,
        patterns=patterns,
        unseen={*ignoring},
        met=set(),
    )


def match_key(call: Call, *, ignore: Sequence[Pointer] = ()) -> str:
    """Return the key under which the recorded answer to `call` is filed.

    Everything that stays the same from run to run is in the key. The request id and `_meta`
    never reach a Call, so a retry or a newer agent framework keeps its key.

    Args:
        call: The call as parsed from the wire.
        ignore: Pointers into the record, such as ``/args/since``, to leave out. One that this
            call does not have is skipped.

    Returns:
        SHA-256 of the canonical JSON of the key's parts: 64 lowercase hex digits.

    Source: MCP 2026-07-28, basic/patterns/mrtr: request state and input responses are each
    optional, so both are parts of the key.
    """
    keys = Keys(ignore=ignore)
    return digest(keys.canonical(keys.compared(call)))


def digest(canonical_key: bytes) -> str:
    """Return SHA-256 in lowercase hex."""
    return hashlib.sha256(canonical_key).hexdigest()


@cache
def _request_pointers(pointers: tuple[str, ...]) -> tuple[Pointer, ...]:
    return tuple(parse_pointer(text)[1:] for text in pointers)


@cache
def _id_pointers(api: Api) -> tuple[Pointer, ...]:
    return tuple(parse_pointer(text) for text in api.ids)


def without_texts(request: Json, api: Api) -> Json:
    """Return a request without the elements whose texts count for nothing."""
    for member, begin in api.volatile_texts:
        found = request.get(member) if isinstance(request, dict) else None
        if isinstance(request, dict) and isinstance(found, list):
            kept = [each for each in found if not _begins(each, begin)]
            request = request if len(kept) == len(found) else {**request, member: kept}
    return request


def _begins(value: Json, begin: str) -> bool:
    text = value.get("text") if isinstance(value, dict) else value
    return isinstance(text, str) and text.startswith(begin)


def _rename_ids(request: Json, api: Api, answer_ids: frozenset[str]) -> Json:
    names: dict[str, str] = {}
    for found in _ids(request, api):
        if found not in answer_ids:
            names.setdefault(found, f"#{len(names) + 1}")
    if not names:
        return request
    for pointer in _id_pointers(api):
        request = _renamed(request, pointer, names)
    return request


def _ids(request: Json, api: Api) -> Iterator[str]:
    """Yield ids message by message, so that first appearance is by place in the conversation."""
    pointers = _id_pointers(api)
    if not isinstance(request, dict):
        return
    conversation = request.get(api.conversation)
    outside = [pointer for pointer in pointers if pointer[0] != api.conversation]
    inside = [pointer[2:] for pointer in pointers if pointer[0] == api.conversation]
    for pointer in outside:
        yield from _values_at(request, pointer)
    for message in conversation if isinstance(conversation, list) else []:
        for pointer in inside:
            yield from _values_at(message, pointer)


def _values_at(value: Json, pointer: Pointer) -> Iterator[str]:
    if not pointer:
        if isinstance(value, str):
            yield value
        return
    step, rest = pointer[0], pointer[1:]
    if isinstance(value, dict) and step in value:
        yield from _values_at(value[step], rest)
    elif isinstance(value, list) and step == "*":
        for member in value:
            yield from _values_at(member, rest)


def _renamed(value: Json, pointer: Pointer, names: dict[str, str]) -> Json:
    if not pointer:
        return names.get(value, value) if isinstance(value, str) else value
    step, rest = pointer[0], pointer[1:]
    if isinstance(value, dict) and step in value:
        return {**value, step: _renamed(value[step], rest, names)}
    if isinstance(value, list) and step == "*":
        return [_renamed(member, rest, names) for member in value]
    return value


def minted_ids(exchanges: Iterable[Exchange]) -> frozenset[str]:
    """Return the ids in recorded calls that must match themselves: answers minted them."""
    models = [exchange for exchange in exchanges if isinstance(exchange, ModelExchange)]
    in_paths = fixed_ids(models)
    sent = {found for exchange in models for found in _request_ids(exchange)}
    if not sent:
        return frozenset(in_paths)
    minted = (found for exchange in models for found in _answer_ids(exchange.answer))
    return frozenset(in_paths).union(found for found in minted if found in sent)


def _request_ids(exchange: ModelExchange) -> Iterator[str]:
    api = api_of(exchange.call.provider, exchange.call.path)
    if api is not None:
        yield from _ids(exchange.call.request, api)


def _answer_ids(answer: ModelAnswer) -> Iterator[str]:
    yield from _members_named(answer.value)
    for event in answer.events:
        yield from _members_named(event.value)


def _members_named(value: Json) -> Iterator[str]:
    match value:
        case dict():
            for key, member in value.items():
                if key in ID_MEMBERS and isinstance(member, str):
                    yield member
                elif isinstance(member, dict | list):
                    yield from _members_named(member)
        case list():
            for member in value:
                yield from _members_named(member)
        case _:
            return

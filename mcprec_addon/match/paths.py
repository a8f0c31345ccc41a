"""Ids in the paths of model calls, such as ``/responses/resp_1``, as match keys have them.

They are ids like those in bodies: one that a recorded answer minted must match itself, another
counts by order of first appearance. Where several that no answer minted were asked for at one
place they must match themselves too, or one would get what was asked of the other.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import parse_qsl, urlencode

from mcprec_addon.exchange import Json, ModelCall, ModelExchange
from mcprec_addon.jsonvalue import leaves
from mcprec_addon.wire.providers import resource_of

_LONGEST = 512  # characters of a text in which an id is looked for: an id, a name, an address
_UNTOLD = frozenset({"beta", "api-version"})  # they version the API, as a segment of the path does


def path_ids(call: ModelCall) -> list[str]:
    """Return the ids in the path of a call, in order."""
    resource = resource_of(call.provider, call.path)
    if resource is None:
        return []
    steps = resource.path.split("/")[1:]
    return [steps[index] for index in resource.ids]


def key_path(call: ModelCall, fixed: Collection[str]) -> str | None:
    """Return the path of a call in its match key, or None where it is no resource.

    Args:
        call: The call.
        fixed: Ids that must match themselves.
    """
    resource = resource_of(call.provider, call.path)
    if resource is None:
        return None
    steps = resource.path.split("/")[1:]
    names: dict[str, str] = {}
    for index in resource.ids:
        if steps[index] not in fixed:
            steps[index] = names.setdefault(steps[index], f"#{len(names) + 1}")
    pairs = parse_qsl(call.path.partition("?")[2], keep_blank_values=True)
    asked = urlencode(sorted(pair for pair in pairs if pair[0] not in _UNTOLD))
    return "/" + "/".join(steps) + (f"?{asked}" if asked else "")


def fixed_ids(exchanges: Sequence[ModelExchange]) -> set[str]:
    """Return the ids in recorded paths that must match themselves."""
    places: dict[str | None, set[str]] = defaultdict(set)
    for exchange in exchanges:
        if found := path_ids(exchange.call):
            places[key_path(exchange.call, ())].update(found)
    sent = set[str]().union(*places.values())
    fixed = {text for each in exchanges for text in _told(each) if text in sent} if sent else sent
    for ids in places.values():
        rest = ids - fixed
        fixed |= rest if len(rest) > 1 else set()
    return fixed


def _told(exchange: ModelExchange) -> Iterator[str]:
    """Yield what in an answer may be an id: whole texts, and the steps of names and addresses."""
    answer = exchange.answer
    yield from _steps(answer.value)
    for event in answer.events:
        yield from _steps(event.value)


def _steps(value: Json) -> Iterator[str]:
    for _, leaf in leaves(value):
        if isinstance(leaf, str) and len(leaf) <= _LONGEST:
            yield leaf
            yield from leaf.split("/")

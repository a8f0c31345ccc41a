"""Why a call has no recorded answer: the nearest recorded call, and the cause where it shows."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from mcprec_addon.exchange import Call, Era, Exchange, McpCall, McpExchange, Via
from mcprec_addon.jsonvalue import Pointer, canonical
from mcprec_addon.replay.causes import message_index
from mcprec_addon.replay.conversation import conversation_member
from mcprec_addon.replay.miss import Cause, Miss
from mcprec_addon.replay.nearest import asked_part, find_nearest, place


def find_miss(
    call: Call,
    recorded: Sequence[Exchange],
    *,
    ignore: Sequence[Pointer] = (),
    used_up: int = 0,
    asked: int = 0,
    via: Via | None = None,
) -> Miss:
    """Return what can be said of a call that has no recorded answer.

    Args:
        call: The call, redacted by the rules of the cassette.
        recorded: The exchanges of the cassette, in recorded order.
        ignore: Pointers into the record that are in no match key.
        used_up: How many answers were recorded for this very call, all handed out.
        asked: How often it was asked, this time included.
        via: The way it came in, where that is known.
    """
    near = find_nearest(call, recorded, ignore=ignore)
    if near is None:
        return _unnamed(call, recorded, ignore)
    miss = Miss(
        call=call,
        cause="differs",
        nearest=near.exchange,
        differences=near.differences,
        asked_times=asked,
        via=via,
    )
    if used_up or not near.differences:
        times = used_up or 1
        return replace(
            miss,
            cause="used up",
            differences=(),
            recorded_times=times,
            asked_times=asked or times + 1,
        )
    elsewhere = _equal_elsewhere(call, recorded, ignore)
    if elsewhere is not None:
        return replace(miss, cause="other server", other_server=elsewhere)
    if _is_other_way(call, recorded, via):
        return replace(miss, cause="other way in")
    index = message_index(call, near.differences)
    member = "request", conversation_member(call)
    is_talk = all(each.pointer[:2] == member for each in near.differences)
    cause: Cause = "diverged" if index is not None and is_talk else "differs"
    return replace(miss, cause=cause, message_index=index)


def era_miss(call: Call, recorded: McpExchange, era: Era) -> Miss:
    """Return the miss of a call that was recorded in the other era only.

    Args:
        call: The call, redacted.
        recorded: Its recording.
        era: The era of that recording.
    """
    nearest = replace(recorded, era=era)
    return Miss(call=call, cause="other era", nearest=nearest, recorded_times=1)


def _unnamed(call: Call, recorded: Sequence[Exchange], ignore: Sequence[Pointer]) -> Miss:
    """Return the miss of a call of whose method and name nothing was recorded."""
    miss = Miss(call=call, cause="never recorded")
    if not isinstance(call, McpCall):
        return miss
    others = [each.call for each in recorded if isinstance(each.call, McpCall)]
    same = [other for other in others if _without_server(other) == _without_server(call)]
    if same:
        server = _equal_elsewhere(call, recorded, ignore) or same[0].server
        return replace(miss, cause="other server", other_server=server)
    kin = [other for other in others if (other.server, other.method) == (call.server, call.method)]
    names = list(dict.fromkeys(other.name for other in kin if other.name is not None))
    close = get_close_matches(call.name or "", names, n=1, cutoff=0.0)
    return replace(miss, nearest_name=close[0] if close else None)


def _without_server(call: McpCall) -> tuple[str | None, ...]:
    kind, _, *rest = place(call)
    return kind, *rest


def _equal_elsewhere(
    call: Call, recorded: Sequence[Exchange], ignore: Sequence[Pointer]
) -> str | None:
    if not isinstance(call, McpCall):
        return None
    wanted = asked_part(call, ignore)
    for exchange in recorded:
        other = exchange.call
        if not isinstance(other, McpCall) or (other.method, other.name) != (call.method, call.name):
            continue
        if other.server == call.server:
            continue
        part = asked_part(other, ignore)
        if part == wanted and canonical(part) == canonical(wanted):  # == takes 1 for true
            return other.server
    return None


def _is_other_way(call: Call, recorded: Sequence[Exchange], via: Via | None) -> bool:
    if via is None:
        return False
    wanted = place(call)
    ways = {each.via for each in recorded if each.via and place(each.call) == wanted}
    return bool(ways) and via not in ways

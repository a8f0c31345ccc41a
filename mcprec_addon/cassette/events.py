"""The events of a stream as they stand in a record, like ones in a row as one run.

A run is two or more JSON events in a row that have the same name and the same shape, and
differ from the first in string or integer leaves at most.
"""

from collections.abc import Iterator, Sequence

from mcprec_addon.cassette.exact import is_index
from mcprec_addon.cassette.fields import Fields, RecordProblemError, object_of, whole_number
from mcprec_addon.exchange import Json, McpEvent, StreamEvent
from mcprec_addon.jsonvalue import Pointer, is_plain, parse_pointer, pointer_text

type _Leaf = tuple[Pointer, str | int]
type _Shape = list[tuple[object, ...]]


def mcp_event_records(events: Sequence[McpEvent]) -> list[Json]:
    """Return the messages before an MCP answer as they stand in a record."""
    return [_mcp_event_record(event) for event in events]


def _mcp_event_record(event: McpEvent) -> dict[str, Json]:
    record: dict[str, Json] = {"at": event.at_ms, "message": event.message}
    return record if event.answer is None else record | {"answer": event.answer}


def read_mcp_events(records: list[Json]) -> tuple[McpEvent, ...]:
    """Return the messages before an MCP answer.

    Raises:
        RecordProblemError: One is not an object with a ``message``.
    """
    return tuple(_read_mcp_event(object_of(record, "events")) for record in records)


def _read_mcp_event(record: dict[str, Json]) -> McpEvent:
    return McpEvent(
        at_ms=whole_number(record.get("at", 0), "at"),
        message=object_of(record.get("message"), "message"),
        answer=record.get("answer"),
    )


def event_records(events: Sequence[StreamEvent], tail: str | None) -> list[Json]:
    """Return the events of a stream as they stand in a record, runs packed.

    Args:
        events: The events, in order.
        tail: An unfinished last event, or None.
    """
    records: list[Json] = []
    for alike in _alike(events):
        leaves = [leaves for _, leaves in alike]
        packed = [event for event, _ in alike]
        records.append(_run(packed, leaves) if len(alike) > 1 else _event_record(packed[0]))
    return records if tail is None else [*records, {"tail": tail}]


def _alike(events: Sequence[StreamEvent]) -> Iterator[list[tuple[StreamEvent, list[_Leaf]]]]:
    """Yield events in groups: those of a run together, every other alone."""
    group: list[tuple[StreamEvent, list[_Leaf]]] = []
    group_shape: _Shape | None = None
    for event in events:
        leaves: list[_Leaf] = []
        shape = _shape(event, leaves)
        if group and (shape is None or shape != group_shape):
            yield group
            group = []
        group.append((event, leaves))
        group_shape = shape
    if group:
        yield group


def _shape(event: StreamEvent, leaves: list[_Leaf]) -> _Shape | None:
    """Return what events of one run have in common, and append the leaves that may differ."""
    if event.kind != "json" or not isinstance(event.value, dict | list):
        return None
    if not is_plain(event.value):
        return None
    shape: _Shape = [(event.event,)]
    _outline(event.value, (), shape, leaves)
    return shape


def _outline(value: Json, at: Pointer, shape: _Shape, leaves: list[_Leaf]) -> None:
    match value:
        case dict():
            shape.append(("object", *value))
            for key, member in value.items():
                _outline(member, (*at, key), shape, leaves)
        case list():
            shape.append(("list", len(value)))
            for index, member in enumerate(value):
                _outline(member, (*at, str(index)), shape, leaves)
        case bool() | None | float():
            shape.append(("same", repr(value)))
        case str() | int():
            shape.append((type(value),))
            leaves.append((at, value))
        case _:
            shape.append((value,))


def _run(events: list[StreamEvent], leaves: list[list[_Leaf]]) -> dict[str, Json]:
    columns = list(zip(*leaves, strict=True))  # per leaf, what it is in each event
    moving = [column for column in columns if any(leaf != column[0] for leaf in column)]
    of = _event_record(events[0])
    del of["at"]
    return {
        "run": [pointer_text(column[0][0]) for column in moving],
        "of": of,
        "values": [[leaf for _, leaf in column] for column in moving],
        "at": [event.at_ms for event in events],
    }


def _event_record(event: StreamEvent) -> dict[str, Json]:
    record: dict[str, Json] = {"at": event.at_ms}
    if event.event is not None:
        record["event"] = event.event
    record[event.kind] = event.value
    return record


def read_events(records: list[Json]) -> tuple[tuple[StreamEvent, ...], str | None]:
    """Return the events of a stream, runs unpacked, and its unfinished last event or None.

    Raises:
        RecordProblemError: A record is no event, or a run does not fit together.
    """
    events: list[StreamEvent] = []
    tail: str | None = None
    for record in records:
        if tail is not None:
            message = "an event follows the tail; the tail is the last"
            raise RecordProblemError(message)
        fields = Fields(object_of(record, "events"))
        if fields.has("tail"):
            tail = fields.needed_text("tail")
        elif fields.has("run"):
            events.extend(_read_run(fields))
        else:
            events.append(_read_event(fields, fields.whole("at") or 0))
    return tuple(events), tail


def _read_event(fields: Fields, at_ms: int) -> StreamEvent:
    event = fields.text("event")
    if fields.has("json"):
        return StreamEvent(at_ms=at_ms, kind="json", value=fields.value("json"), event=event)
    if fields.has("text"):
        text = fields.needed_text("text")
        return StreamEvent(at_ms=at_ms, kind="text", value=text, event=event)
    comment = fields.text("comment")
    if comment is None:
        message = 'an event has none of "json", "text", "comment" and "tail"; give it one'
        raise RecordProblemError(message)
    return StreamEvent(at_ms=at_ms, kind="comment", value=comment, event=event)


def _read_run(fields: Fields) -> Iterator[StreamEvent]:
    pointers = [_steps(text) for text in fields.texts("run")]
    first = _read_event(Fields(fields.members("of")), 0)
    columns = [_column(column) for column in fields.elements("values")]
    times = [whole_number(at, "at") for at in fields.elements("at")]
    if len(columns) != len(pointers) or any(len(column) != len(times) for column in columns):
        message = 'a run has a list of "values" per pointer, each as long as its "at"; mend it'
        raise RecordProblemError(message)
    for index, at_ms in enumerate(times):
        value = first.value
        for steps, column in zip(pointers, columns, strict=True):
            value = _with_leaf(value, steps, column[index])
        yield StreamEvent(at_ms=at_ms, kind=first.kind, value=value, event=first.event)


def _steps(text: str) -> Pointer:
    try:
        return parse_pointer(text)
    except ValueError as error:
        raise RecordProblemError(str(error)) from error


def _column(value: Json) -> list[Json]:
    if isinstance(value, list):
        return value
    message = '"values" of a run must be a list of lists'
    raise RecordProblemError(message)


def _with_leaf(value: Json, steps: Pointer, leaf: Json) -> Json:
    """Return `value` with another leaf at `steps`; what lies beside the way is shared."""
    if not steps:
        return leaf
    step, rest = steps[0], steps[1:]
    match value:
        case dict() if step in value:
            return value | {step: _with_leaf(value[step], rest, leaf)}
        case list() if is_index(step, value):
            index = int(step)
            return [*value[:index], _with_leaf(value[index], rest, leaf), *value[index + 1 :]]
        case _:
            message = f'a run names {pointer_text(steps)}, which its "of" does not have'
            raise RecordProblemError(message)

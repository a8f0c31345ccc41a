"""Exchanges and messages as records, field by field; nothing of sharing, raw or escaping."""

from collections.abc import Sequence
from typing import Final, Literal, cast

from mcprec_addon.cassette.events import (
    event_records,
    mcp_event_records,
    read_events,
    read_mcp_events,
)
from mcprec_addon.cassette.fields import Fields, RecordProblemError
from mcprec_addon.exchange import (
    End,
    Era,
    Exchange,
    Headers,
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Noise,
    Via,
)
from mcprec_addon.long_events import LongEvents

ERAS: Final[tuple[Era, ...]] = ("stateless", "classic")
VIAS: Final[tuple[Via, ...]] = ("base-url", "proxy")
_ENDS: Final[tuple[End, ...]] = ("cut", "reset", "left", "stopped")
_SENDERS: Final[tuple[Literal["client", "server"], ...]] = ("client", "server")
_USUAL_STATUS: Final = 200


def mcp_record(exchange: McpExchange, *, era: Era | None, via: Via | None) -> dict[str, Json]:
    """Return an MCP exchange as a record.

    Args:
        exchange: The exchange.
        era: The era that need not be written, because the header says it, or None.
        via: The way in that need not be written, likewise.
    """
    call, answer = exchange.call, exchange.answer
    record: dict[str, Json] = {"seq": exchange.seq} | call.record()
    if call.meta:
        record["meta"] = call.meta
    if answer.events:
        record["events"] = mcp_event_records(_at_hand(answer.events))
    if answer.kind == "result" or answer.kind == "error":  # noqa: PLR1714 - narrows the type
        record[answer.kind] = answer.value
    http = _http(answer, is_stream=call.http_method != "POST")
    if http:
        record["http"] = http
    if answer.end is not None:
        record["end"] = answer.end
    if exchange.era not in (None, era):
        record["era"] = exchange.era
    return record | _last_fields(exchange, via)


def _at_hand[E](events: Sequence[E]) -> Sequence[E]:
    """Return events that stand in their record; those of a long stream are written by groups."""
    return () if isinstance(events, LongEvents) else events


def _http(answer: McpAnswer, *, is_stream: bool) -> dict[str, Json]:
    http: dict[str, Json] = {}
    # Without any answer the status says that this one is complete.
    is_bare = answer.kind == "none" and not (answer.end or answer.events or is_stream)
    if answer.status != _USUAL_STATUS or is_bare:
        http["status"] = answer.status
    if answer.headers:
        http["headers"] = _header_record(answer.headers)
    if answer.kind == "body":
        http["body"] = answer.value
    return http


def _header_record(headers: Headers) -> dict[str, Json]:
    return {name: value if isinstance(value, str) else [*value] for name, value in headers.items()}


def _last_fields(exchange: Exchange, via: Via | None) -> dict[str, Json]:
    record: dict[str, Json] = {}
    if exchange.via not in (None, via):
        record["via"] = exchange.via
    if exchange.ms is not None:
        record["ms"] = exchange.ms
    if exchange.note is not None:
        record["note"] = exchange.note
    if exchange.pin:
        record["pin"] = True
    return record | exchange.extra


def model_record(exchange: ModelExchange, *, via: Via | None) -> dict[str, Json]:
    """Return a model exchange as a record, its request whole.

    Args:
        exchange: The exchange.
        via: The way in that need not be written, because the section line says it, or None.
    """
    answer = exchange.answer
    record: dict[str, Json] = {"kind": "model", "seq": exchange.seq}
    record |= exchange.call.record()
    record["status"] = answer.status
    if answer.headers:
        record["headers"] = _header_record(answer.headers)
    if answer.kind == "body":
        record["body"] = answer.value
    elif answer.kind == "events":
        is_long = isinstance(answer.events, LongEvents)
        tail = None if is_long else answer.tail
        record["events"] = event_records(_at_hand(answer.events), tail)
    if answer.end is not None:
        record["end"] = answer.end
    return record | _last_fields(exchange, via)


def message_record(message: Message) -> dict[str, Json]:
    """Return a message as a record."""
    record: dict[str, Json] = {
        "kind": "message",
        "server": message.server,
        "from": message.sender,
        "method": message.method,
    }
    if message.params not in (None, {}):
        record["params"] = message.params
    record["after"] = message.after
    if message.on is not None:
        record["on"] = message.on
    if message.at_ms is not None:
        record["at"] = message.at_ms
    if message.id is not None:
        record["id"] = message.id
    if message.answer is not None:
        record["answer"] = message.answer
    return record | message.extra


def noise_record(noise: Noise) -> dict[str, Json]:
    """Return a server's noise as a record."""
    record: dict[str, Json] = {"kind": "noise", "server": noise.server, "after": noise.after}
    return record | {"text": noise.text} | noise.extra


def read_mcp(fields: Fields, server: str | None, *, is_long: bool = False) -> McpExchange:
    """Return the MCP exchange of a record.

    Args:
        fields: Its fields.
        server: The label of a record that gives none, or None where it must give one.
        is_long: It has events beside those that stand in it.

    Raises:
        RecordProblemError: A field is missing, of the wrong type, or one too many.
    """
    seq = _seq(fields)
    call = McpCall(
        server=read_label(fields, server),
        http_method=fields.text("http_method") or "POST",
        method=fields.text("method") or "",
        name=fields.text("name"),
        args=fields.value("args"),
        params=fields.value("params") if fields.has("params") else {},
        input=_read_input(fields),
        meta=fields.members("meta"),
    )
    if not call.method and call.http_method == "POST":
        message = 'the record has no "method"; give it one'
        raise RecordProblemError(message)
    return McpExchange(
        seq=seq,
        call=call,
        answer=_read_mcp_answer(fields, is_stream=is_long or call.http_method != "POST"),
        era=fields.choice("era", ERAS),
        ms=fields.whole("ms"),
        via=fields.choice("via", VIAS),
        note=fields.value("note"),
        pin=fields.flag("pin"),
        extra=fields.rest,
    )


def _seq(fields: Fields) -> int:
    seq = fields.whole("seq")
    if not seq:
        message = 'the record has no "seq"; number the exchanges from 1'
        raise RecordProblemError(message)
    return seq


def read_label(fields: Fields, server: str | None) -> str:
    """Take the label of a record's server, `server` where it gives none.

    Raises:
        RecordProblemError: It gives none and `server` is None.
    """
    label = fields.text("server")
    if label is not None:
        return label
    if server is None:
        message = 'the record has no "server", and the header names several; give it one'
        raise RecordProblemError(message)
    return server


def _read_input(fields: Fields) -> Input | None:
    if not fields.has("input"):
        return None
    parts = fields.members("input")
    return Input(state=parts.get("state"), responses=parts.get("responses"))


def _read_mcp_answer(fields: Fields, *, is_stream: bool) -> McpAnswer:
    http = Fields(fields.members("http"))
    has_http = bool(http.rest)
    found = [
        (kind, field)
        for kind, field in (("result", fields), ("error", fields), ("body", http))
        if field.has(kind)
    ]
    if len(found) > 1:
        named = " and ".join(f'"{kind}"' for kind, _ in found)
        message = f"the record gives {named}; an exchange has one answer"
        raise RecordProblemError(message)
    kind = found[0][0] if found else "none"
    value = found[0][1].value(kind) if found else None
    status = http.whole("status")
    answer = McpAnswer(
        kind=cast("Literal['result', 'error', 'body', 'none']", kind),
        value=value,
        events=read_mcp_events(fields.elements("events")),
        status=_USUAL_STATUS if status is None else status,
        headers=http.headers(),
        end=fields.choice("end", _ENDS),
    )
    if kind == "none" and not (answer.end or answer.events or has_http or is_stream):
        message = 'the record has no answer; give it "result", "error", "http" or "end"'
        raise RecordProblemError(message)
    return answer


def read_model(fields: Fields) -> ModelExchange:
    """Return the model exchange of a record whose request is whole.

    Raises:
        RecordProblemError: A field is missing, of the wrong type, or one too many.
    """
    seq = _seq(fields)
    call = ModelCall(
        provider=fields.needed_text("provider"),
        path=fields.needed_text("path"),
        http_method=fields.text("http_method") or "POST",
        request=fields.value("request"),
    )
    return ModelExchange(
        seq=seq,
        call=call,
        answer=_read_model_answer(fields),
        ms=fields.whole("ms"),
        via=fields.choice("via", VIAS),
        note=fields.value("note"),
        pin=fields.flag("pin"),
        extra=fields.rest,
    )


def _read_model_answer(fields: Fields) -> ModelAnswer:
    kind: Literal["body", "events", "none"] = "body" if fields.has("body") else "none"
    if fields.has("events"):
        if kind == "body":
            message = 'the record gives "body" and "events"; an exchange has one answer'
            raise RecordProblemError(message)
        kind = "events"
    status = fields.whole("status")
    events, tail = read_events(fields.elements("events"))
    return ModelAnswer(
        kind=kind,
        value=fields.value("body"),
        events=events,
        tail=tail,
        status=_USUAL_STATUS if status is None else status,
        headers=fields.headers(),
        end=fields.choice("end", _ENDS),
    )


def read_message(fields: Fields, server: str | None) -> Message:
    """Return the message of a record; `server` as in `read_mcp`.

    Raises:
        RecordProblemError: A field is missing or of the wrong type.
    """
    sender: Literal["client", "server"] | None = fields.choice("from", _SENDERS)
    if sender is None:
        message = 'the record has no "from"; give it "client" or "server"'
        raise RecordProblemError(message)
    return Message(
        server=read_label(fields, server),
        sender=sender,
        method=fields.needed_text("method"),
        params=fields.value("params"),
        after=fields.whole("after") or 0,
        on=fields.whole("on"),
        at_ms=fields.whole("at"),
        id=fields.value("id"),
        answer=fields.value("answer"),
        extra=fields.rest,
    )


def read_noise(fields: Fields, server: str | None) -> Noise:
    """Return the noise of a record; `server` as in `read_mcp`.

    Raises:
        RecordProblemError: A field is missing or of the wrong type.
    """
    return Noise(
        server=read_label(fields, server),
        text=fields.needed_text("text"),
        after=fields.whole("after") or 0,
        extra=fields.rest,
    )

"""What a cassette holds: a summary, one exchange readable, where the placeholders stand."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Json,
    McpAnswer,
    McpEvent,
    McpExchange,
    ModelAnswer,
    ModelExchange,
    Opaque,
    Server,
)
from mcprec_addon.jsonvalue import one_line, pointer_text, shown
from mcprec_addon.redact.forms import Finals
from mcprec_addon.redact.personal import NUMERIC
from mcprec_addon.upkeep.channels import joined_texts
from mcprec_addon.upkeep.layout import count_text, cut, json_lines, text_lines
from mcprec_addon.upkeep.summary import Blobs, Summary
from mcprec_addon.wire.multipart import part_line
from mcprec_addon.wire.titles import call_title

_PLACES = 5  # places named for a class of placeholders
_ENDS = {
    None: "complete",
    "cut": "cut: closed without its end marker",
    "reset": "reset: the connection broke",
    "left": "left: the client hung up",
    "stopped": "stopped: the recorder ended first, so it is never handed out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholders:
    """One class of placeholders.

    Attributes:
        cls: The class, such as ``email``.
        count: How many different ones the header counts.
        found: How many texts of the exchanges hold one as it is (not base64 or URL-encoded).
        places: The first few of them, such as ``#2 /args/query``.
        sources: What held the secrets, by placeholder.
    """

    cls: str
    count: int
    found: int
    places: tuple[str, ...]
    sources: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def lines(self) -> list[str]:
        """Return the class for a person."""
        lines = [f"{self.cls}: {self.count}, found in {count_text(self.found, 'text')}"]
        lines += [f"  {name} from {', '.join(held)}" for name, held in self.sources.items()]
        lines += [f"  {place}" for place in self.places]
        if self.found > len(self.places):
            lines.append(f"  and {self.found - len(self.places)} more")
        return [cut(one_line(line)) for line in lines]

    def as_json(self) -> dict[str, Json]:
        """Return the class for a program."""
        return {
            "class": self.cls,
            "count": self.count,
            "found": self.found,
            "places": list[Json](self.places),
            "sources": {name: list[Json](held) for name, held in self.sources.items()},
        }


def summary(
    cassette: Cassette, *, name: str, size_bytes: int, blobs: Blobs | None = None
) -> Summary:
    """Return what a cassette holds.

    Args:
        cassette: The cassette.
        name: What the caller calls it.
        size_bytes: Size of its file.
        blobs: What stands beside it.
    """
    return Summary(cassette=cassette, name=name, size_bytes=size_bytes, blobs=blobs or Blobs())


def exchange_text(exchange: Exchange, cassette: Cassette) -> str:
    """Return one exchange for a person: its call, what came in between, its answer."""
    lines = [f"#{exchange.seq} {call_title(exchange.call)}", *_about(exchange, cassette)]
    lines += ["", "call", *_call_lines(exchange), "", _answer_head(exchange)]
    answer = exchange.answer
    lines += [one_line(f"  {name}: {value}") for name, value in sorted(answer.headers.items())]
    if isinstance(exchange, McpExchange):
        lines += [line for event in exchange.answer.events for line in _event_lines(event)]
        lines += [] if answer.kind == "none" else _value_lines(answer.value)
    else:
        lines += _model_answer_lines(exchange.answer, exchange.call.provider)
    return "\n".join([*lines, f"end: {_ENDS[answer.end]}"])


def exchange_json(exchange: Exchange) -> dict[str, Json]:
    """Return one exchange for a program: whole, by the names of the record, events spelled out."""
    answer = exchange.answer
    return {
        "seq": exchange.seq,
        **{name: _plain(member) for name, member in _record(exchange).items()},
        "status": answer.status,
        "end": answer.end,
        "ms": exchange.ms,
    }


def _plain(value: Json) -> Json:
    """Return a body that is no JSON as JSON."""
    if not isinstance(value, Opaque):
        return value
    content = value.content
    return content if isinstance(content, str) else {"base64": b64encode(content).decode()}


def placeholders(cassette: Cassette) -> list[Placeholders]:
    """Return where the placeholders of each class that the header names stand."""
    redaction = cassette.header.redaction
    classes = sorted(redaction.placeholders, key=len, reverse=True)
    if not classes:
        return []
    named = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, classes))})-\d+(?![\w-])")
    numbers = Finals(NUMERIC & redaction.placeholders.keys())
    places: dict[str, list[str]] = {cls: [] for cls in redaction.placeholders}
    for exchange in cassette.exchanges:
        for pointer, text in _texts(_record(exchange), ()):
            found = {match[1] for match in named.finditer(text)}
            found |= {written.cls for written in numbers.found(text)}
            for cls in sorted(found):
                places[cls].append(f"#{exchange.seq} {pointer_text(pointer)}")
    return [
        Placeholders(
            cls=cls,
            count=redaction.placeholders[cls],
            found=len(where),
            places=tuple(where[:_PLACES]),
            sources={
                name: held
                for name, held in redaction.sources.items()
                if name.rpartition("-")[0] == cls
            },
        )
        for cls, where in places.items()
    ]


def _record(exchange: Exchange) -> dict[str, Json]:
    """Return call and answer by the names of the record, events spelled out."""
    answer = exchange.answer
    record = exchange.call.record()
    record["headers"] = {
        name: value if isinstance(value, str) else list[Json](value)
        for name, value in answer.headers.items()
    }
    if isinstance(answer, McpAnswer):
        record["events"] = [
            {"message": event.message, "answer": event.answer} for event in answer.events
        ]
    else:
        record["events"] = [{event.kind: event.value} for event in answer.events]
    if answer.kind not in ("none", "events"):
        record[answer.kind] = answer.value
    return record


def _texts(value: Json, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    match value:
        case str() | int() if not isinstance(value, bool):
            yield at, str(value)
        case dict():
            for key, member in value.items():
                yield (*at, key), key
                yield from _texts(member, (*at, key))
        case list():
            for index, member in enumerate(value):
                yield from _texts(member, (*at, str(index)))
        case _:
            return


def _about(exchange: Exchange, cassette: Cassette) -> Iterator[str]:
    via = exchange.via or cassette.model_via
    if isinstance(exchange, McpExchange):
        server = cassette.header.servers.get(exchange.call.server, Server())
        era, via = exchange.era or server.era, exchange.via or server.via
        known = [server.transport, f"{era} era" if era else None, f"via {via}" if via else None]
    else:
        known = [f"via {via}" if via else None]
    if any(known):
        yield "  " + ", ".join(filter(None, known))
    if exchange.note is not None:
        yield f"  note: {shown(exchange.note)}"
    if exchange.pin:
        yield "  pinned: never overwritten by an update"


def _call_lines(exchange: Exchange) -> list[str]:
    record = exchange.call.record()
    for known in ("server", "method", "http_method", "name", "provider", "path"):
        record.pop(known, None)
    if isinstance(exchange, McpExchange) and exchange.call.meta:
        record["meta"] = exchange.call.meta
    value = record.get("request") if isinstance(exchange, ModelExchange) else record
    if isinstance(value, list):
        return list(_part_lines(value))
    if isinstance(value, Opaque):
        return _opaque_lines(value)
    return json_lines(value, indent=2) if value else ["  nothing but its name"]


def _part_lines(parts: list[Json]) -> Iterator[str]:
    for part in parts:
        yield cut(f"  {part_line(part)}")
        text = part.get("text") if isinstance(part, dict) and "filename" in part else None
        if isinstance(text, str):
            yield from text_lines(text, indent=4)


def _value_lines(value: Json) -> list[str]:
    return _opaque_lines(value) if isinstance(value, Opaque) else json_lines(value, indent=2)


def _opaque_lines(value: Opaque) -> list[str]:
    content = value.content
    if isinstance(content, str):
        return text_lines(content, indent=2)
    return [f"  {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}"]


def _answer_head(exchange: Exchange) -> str:
    answer = exchange.answer
    kind = {"none": "nothing", "body": "a body"}.get(answer.kind, answer.kind)
    parts = [kind if answer.kind != "events" else "a stream"]
    parts += [f"status {answer.status}"] if answer.status else ["no status"]
    if answer.events:
        first, last = answer.events[0].at_ms, answer.events[-1].at_ms
        parts.append(f"{count_text(len(answer.events), 'event')} from {first} to {last} ms")
    if exchange.ms is not None:
        parts.append(f"{exchange.ms} ms in all")
    return f"answer: {', '.join(parts)}"


def _event_lines(event: McpEvent) -> list[str]:
    message = dict(event.message)
    method = message.pop("method", None)
    what = method if isinstance(method, str) else "message"
    line = one_line(f"  {event.at_ms} ms: {what} {shown(message.get('params', message))}")
    if event.answer is None:
        return [cut(line)]
    return [cut(line), cut(f"    answered {shown(event.answer)}")]


def _model_answer_lines(answer: ModelAnswer, provider: str) -> Iterator[str]:
    if answer.kind == "body":
        yield from _value_lines(answer.value)
    for channel, text in joined_texts(answer.events, provider):
        yield one_line(f"  {channel}:")
        yield from text_lines(text, indent=4)
    if answer.tail:
        yield "  unfinished last event:"
        yield from text_lines(answer.tail, indent=4)

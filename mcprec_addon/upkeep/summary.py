"""What a cassette holds, in short: servers, models, placeholders, what is not complete."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Json,
    McpCall,
    McpExchange,
    ModelExchange,
    Server,
)
from mcprec_addon.jsonvalue import one_line, shown
from mcprec_addon.upkeep.layout import columns, count_text, cut
from mcprec_addon.wire.providers import model_name
from mcprec_addon.wire.titles import asked_of, call_title

_LONG_NAME = re.compile(r"([0-9a-f]{16})[0-9a-f]{48}")  # no page is wide enough for one


@dataclass(frozen=True, slots=True, kw_only=True)
class Blobs:
    """What stands beside a cassette.

    Attributes:
        count: Blobs that it refers to and that are whole.
        size_bytes: Their size together.
        problems: What is missing, altered or unreadable, a sentence each.
        orphans: Files that nothing refers to.
    """

    count: int = 0
    size_bytes: int = 0
    problems: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a cassette holds, in short."""

    cassette: Cassette
    name: str
    size_bytes: int
    blobs: Blobs = field(default_factory=Blobs)

    def text(self) -> str:
        """Return the summary for a person, no line wider than 100 characters."""
        sections = {
            "servers": list(_server_lines(self.cassette)),
            "model": _model_lines(self.cassette),
            "placeholders": _placeholder_lines(self.cassette),
            "blobs": _blob_lines(self.blobs),
            "not complete": _end_lines(self.cassette),
            "rules": _rule_lines(self.cassette),
            "warnings": [f"  {one_line(warning)}" for warning in self.cassette.warnings],
        }
        lines = list(self._head())
        for title, below in sections.items():
            lines += ["", title, *below] if below else []
        return "\n".join(cut(line) for line in lines)

    def _head(self) -> Iterator[str]:
        header = self.cassette.header
        made = f", recorded {header.recorded}" if header.recorded else ""
        made += f" by {header.recorder}" if header.recorder else ""
        yield one_line(f"{self.name}: {_size(self.size_bytes)}{made}")
        mcp, model = len(self.cassette.half("mcp")), len(self.cassette.half("model"))
        beside = [
            count_text(len(self.cassette.messages), "message"),
            count_text(len(self.cassette.noise), "piece of noise", "pieces of noise"),
        ]
        counted = f"{count_text(mcp + model, 'exchange')}: {mcp} mcp, {model} model"
        yield "; ".join([counted, *(each for each in beside if not each.startswith("0 "))])
        if header.protocol:
            yield one_line(f"protocol {', '.join(header.protocol)}")
        if header.config:
            yield one_line(f"config {', '.join(header.config)}")
        if header.recovered:
            yield "recovered from a journal: the recording ended early"

    def as_json(self) -> dict[str, Json]:
        """Return the summary for a program."""
        header = self.cassette.header
        return {
            "name": self.name,
            "size_bytes": self.size_bytes,
            "recorded": header.recorded,
            "recorder": header.recorder,
            "recovered": header.recovered,
            "protocol": list[Json](header.protocol),
            "config": list[Json](header.config),
            "exchanges": {
                "mcp": len(self.cassette.half("mcp")),
                "model": len(self.cassette.half("model")),
            },
            "messages": len(self.cassette.messages),
            "noise": len(self.cassette.noise),
            "servers": {
                label: _server_json(server, calls)
                for label, server, calls in _servers(self.cassette)
            },
            "models": [
                {"provider": provider, "name": name, "calls": calls, "streamed": streamed}
                for provider, name, calls, streamed in _models(self.cassette)
            ],
            "model_via": self.cassette.model_via,
            "placeholders": dict[str, Json](header.redaction.placeholders),
            "blobs": {
                "count": self.blobs.count,
                "size_bytes": self.blobs.size_bytes,
                "problems": list[Json](self.blobs.problems),
                "orphans": list[Json](self.blobs.orphans),
            },
            "ends": [{"seq": each.seq, "end": each.answer.end} for each in _ended(self.cassette)],
            "ignore": list[Json](header.match.ignore),
            "normalize": list[Json](header.match.normalize),
            "warnings": list[Json](self.cassette.warnings),
        }


def _servers(cassette: Cassette) -> Iterator[tuple[str, Server, Counter[str]]]:
    calls: dict[str, Counter[str]] = {label: Counter() for label in cassette.header.servers}
    for exchange in cassette.exchanges:
        if isinstance(exchange, McpExchange):
            counted = calls.setdefault(exchange.call.server, Counter())
            counted[_group(exchange.call)] += 1
    for label, counted in calls.items():
        yield label, cassette.header.servers.get(label, Server()), counted


def _group(call: McpCall) -> str:
    # Resources and tasks have a name each: counted one by one they would fill the page.
    return asked_of(call) if call.method in ("tools/call", "prompts/get") else call.method or "GET"


def _server_lines(cassette: Cassette) -> Iterator[str]:
    servers = list(_servers(cassette))
    heads = columns([_server_row(*each) for each in servers], indent=2)
    for head, (_, _, calls) in zip(heads, servers, strict=True):
        yield head
        ordered = sorted(calls.items(), key=lambda item: (-item[1], item[0]))
        yield from columns([(cut(one_line(what), 80), str(n)) for what, n in ordered], indent=4)


def _server_row(label: str, server: Server, calls: Counter[str]) -> list[str]:
    row = [
        label,
        count_text(calls.total(), "call"),
        server.transport or "",
        server.era or "",
        " ".join(filter(None, [server.name, server.version])),
        server.url or server.command or "",
    ]
    return [one_line(cell) for cell in row]


def _server_json(server: Server, calls: Counter[str]) -> dict[str, Json]:
    return {
        "transport": server.transport,
        "url": server.url,
        "command": server.command,
        "era": server.era,
        "via": server.via,
        "name": server.name,
        "version": server.version,
        "calls": dict[str, Json](calls),
    }


def _models(cassette: Cassette) -> list[tuple[str, str, int, int]]:
    """Return provider, model, number of calls and of streamed answers."""
    calls: Counter[tuple[str, str]] = Counter()
    streamed: Counter[tuple[str, str]] = Counter()
    for exchange in cassette.exchanges:
        if not isinstance(exchange, ModelExchange):
            continue
        key = exchange.call.provider, model_name(exchange.call) or ""
        calls[key] += 1
        streamed[key] += exchange.answer.kind == "events"
    for use in cassette.header.model:
        calls.setdefault((use.provider, use.name or ""), 0)
    return [(*key, number, streamed[key]) for key, number in calls.items()]


def _model_lines(cassette: Cassette) -> list[str]:
    sent = {(use.provider, use.name or ""): use.temperature for use in cassette.header.model}
    rows: list[list[str]] = []
    for provider, name, calls, streamed in _models(cassette):
        temperature = sent.get((provider, name))
        heat = "" if temperature is None else f"temperature {shown(temperature, limit=20)}"
        known = [provider, name or "(no model named)", count_text(calls, "call")]
        rows.append([one_line(cell) for cell in [*known, f"{streamed} streamed", heat]])
    lines = columns(rows, indent=2)
    return [*lines, f"  via {cassette.model_via}"] if lines and cassette.model_via else lines


def _placeholder_lines(cassette: Cassette) -> list[str]:
    redaction = cassette.header.redaction
    rows = [(cls, str(number)) for cls, number in redaction.placeholders.items()]
    lines = columns(rows, indent=2)
    for name, held in redaction.sources.items():
        lines.append(one_line(f"  {name} from {', '.join(held)}"))
    if redaction.inside:
        places = count_text(len(redaction.inside), "known value")
        lines.append(f"  {places} left inside fields that are never touched")
    return lines


def _blob_lines(blobs: Blobs) -> list[str]:
    counted = f"  {count_text(blobs.count, 'file')}, {_size(blobs.size_bytes)}"
    lines = [
        *([counted] if blobs.count else []),
        *(one_line(f"  {problem}") for problem in blobs.problems),
        *(one_line(f"  nothing refers to {name}") for name in blobs.orphans),
    ]
    return [_LONG_NAME.sub(r"\1…", line) for line in lines]


def _ended(cassette: Cassette) -> Iterable[Exchange]:
    return (each for each in cassette.exchanges if each.answer.end is not None)


def _end_lines(cassette: Cassette) -> list[str]:
    rows = [
        (f"#{each.seq}", str(each.answer.end), call_title(each.call)) for each in _ended(cassette)
    ]
    return columns(rows, indent=2)


def _rule_lines(cassette: Cassette) -> list[str]:
    rules = cassette.header.match
    named = [f"ignore {pointer}" for pointer in rules.ignore]
    named += [f"normalize {name}" for name in rules.normalize]
    return [f"  {one_line(rule)}" for rule in named]


def _size(size_bytes: int) -> str:
    if size_bytes < 1 << 10:
        return f"{size_bytes} bytes"
    if size_bytes < 1 << 20:
        return f"{size_bytes / (1 << 10):.1f} KiB"
    return f"{size_bytes / (1 << 20):.1f} MiB"

"""From bytes to bytes without a socket: requests recorded into a cassette's text, and replayed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.cassette.writing import write_cassette
from mcprec_addon.exchange import Cassette, Header, Json, McpExchange, ModelExchange
from mcprec_addon.jsonvalue import dumps, loads, pointer_text
from mcprec_addon.record.intake import Intake
from mcprec_addon.record.recorder import Item, Recorder
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.report import RunReport
from mcprec_addon.replay.responder import Responder
from mcprec_addon.replay.staging import present_halves, stage
from mcprec_addon.replay_end import Replayed, conclude_replay
from mcprec_addon.wire.http import HttpRequest

JSON = ("content-type", "application/json")


def rpc(label: str, text: str) -> HttpRequest:
    """Return a JSON-RPC request to an MCP server, its body to the character."""
    return HttpRequest(
        method="POST",
        url=f"http://127.0.0.1:9/{label}",
        headers=(JSON, ("accept", "application/json, text/event-stream")),
        body=text.encode(),
        label=label,
    )


def tool_call(label: str, name: str, args: Json, *, id_: Json = 1) -> HttpRequest:
    """Return the call of a tool."""
    params: Json = {"name": name, "arguments": args}
    asked: Json = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
    return rpc(label, dumps(asked).decode())


def result(text: str, *, id_: Json = 1) -> str:
    """Return an answer to such a call."""
    value: Json = {"content": [{"type": "text", "text": text}]}
    return dumps({"jsonrpc": "2.0", "id": id_, "result": value}).decode()


def post(path: str, body: Json) -> HttpRequest:
    """Return a request to a model API."""
    return HttpRequest(
        method="POST", url=f"http://127.0.0.1:9{path}", headers=(JSON,), body=dumps(body)
    )


def recorded(pairs: Sequence[tuple[HttpRequest, str]]) -> str:
    """Return the text of a cassette of requests and their answers."""
    kept: list[Item] = []
    recorder = Recorder(kept.append)
    served = [request.label for request, _ in pairs if request.label is not None]
    intake = Intake(recorder, {label: f"http://127.0.0.1:9/{label}" for label in served})
    for request, body in pairs:
        tap = intake.request(request, 0)
        assert tap is not None, request
        tap.head(200, [JSON])
        tap.data(body.encode(), 1)
        tap.finish("complete", 2)
    exchanges = tuple(each for each in kept if isinstance(each, McpExchange | ModelExchange))
    header = Header(servers=dict(recorder.seen.servers))
    return write_cassette(Cassette(header=header, exchanges=exchanges)).decode()


@dataclass(slots=True)
class World:
    """One replay of a cassette's text.

    Attributes:
        player: Which answers it hands out.
        misses: In order.
    """

    cassette: Cassette
    player: Player
    responder: Responder
    misses: list[Miss] = field(default_factory=list[Miss])

    def ask(self, request: HttpRequest) -> Json:
        """Return what comes back, as JSON."""
        return loads(self.responder.respond(request).body)

    def says(self, request: HttpRequest) -> str | None:
        """Return the text of a tool's answer, or None for a miss."""
        before = len(self.misses)
        answer = self.ask(request)
        if len(self.misses) > before:
            return None
        content = answer["result"]["content"]  # type: ignore[index,call-overload]
        return str(content[0]["text"])  # type: ignore[index,call-overload]

    def pointers(self) -> list[str]:
        """Return where the last miss differs."""
        return [pointer_text(each.pointer) for each in self.misses[-1].differences]

    def report(self, *, child: int = 0, all_used: bool = False) -> RunReport:
        """Return the report of a run whose command ended so."""
        halves = present_halves(self.cassette, frozenset(), path=Path("a.mcp"))
        replayed = Replayed(
            cassette=self.cassette,
            player=self.player,
            turned=self.responder.turned,
            halves=halves,
            allowed=(),
            child=child,
        )
        return conclude_replay(replayed, path=Path("a.mcp"), all_used=all_used)


def replayed(text: str, options: PlayOptions | None = None) -> World:
    """Return a replay of a cassette's text."""
    cassette = read_cassette(text.encode(), path="a.mcp")
    halves = present_halves(cassette, frozenset(), path=Path("a.mcp"))
    misses: list[Miss] = []
    chosen = replace(options or PlayOptions(), halves=halves)
    player, responder = stage(cassette, chosen, halves=halves, on_miss=misses.append)
    return World(cassette, player, responder, misses)


type Call = tuple[str, str, Json]
"""Server, tool and arguments."""


def record_of(*calls: tuple[Call, str]) -> str:
    """Return a cassette of tool calls and what they said."""
    return recorded([(tool_call(*call), result(said)) for call, said in calls])

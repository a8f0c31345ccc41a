"""Faults: answers of a replay that are broken on purpose, each the first time it is handed out.

``SEQ:cut@N``, ``SEQ:reset@N``, ``SEQ:rst@N``, ``SEQ:status=CODE``, ``SEQ:error=CODE`` and
``SEQ:hang``. N counts what still comes: events of a streamed answer, bytes of any other. A fault
uses nothing up, so a call that is tried again gets the answer whole.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Exchange, Half, McpExchange, ModelCall
from mcprec_addon.long_events import LongEvents
from mcprec_addon.wire import mcp, mcp_reply, model
from mcprec_addon.wire.http import Piece, Reply, ReplyEnd
from mcprec_addon.wire.jsonrpc import Request, error_bytes
from mcprec_addon.wire.titles import call_title

Kind = Literal["cut", "reset", "rst", "status", "error", "hang"]

_SPEC = re.compile(
    r"(?P<seq>\d{1,9}):(?:(?P<end>cut|reset|rst)@(?P<place>\d{1,12})"
    r"|status=(?P<status>[1-9]\d{2})|error=(?P<error>-?[\w.-]{1,100})|(?P<hang>hang))"
)
_ENDS: dict[Kind, ReplyEnd] = {"cut": "complete", "reset": "reset", "rst": "rst", "hang": "hang"}
_STATUSES = range(400, 600)
_INTERNAL_ERROR = -32603
_EXAMPLES = "14:cut@2, 14:reset@2, 14:rst@2, 3:status=429, 3:error=CODE or 5:hang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        text: As it was asked for.
        seq: The exchange that is broken.
        kind: How.
        place: How much of the answer still comes, for the first three kinds.
        code: Status or error code, for `status` and `error`.
    """

    text: str
    seq: int
    kind: Kind
    place: int = 0
    code: str = ""


def faults_of(given: Sequence[str], *, option: str = "--fault") -> tuple[Fault, ...]:
    """Return the faults that texts ask for.

    Raises:
        UsageError: One is of no known form.
    """
    return tuple(_fault_of(text, option) for text in given)


def _fault_of(text: str, option: str) -> Fault:
    match = _SPEC.fullmatch(text)
    if match is None:
        message = f"{option} {text!r}: write it as {_EXAMPLES}"
        raise UsageError(message)
    seq = int(match["seq"])
    match match.groupdict():
        case {"end": ("cut" | "reset" | "rst") as end, "place": str(place)}:
            return Fault(text=text, seq=seq, kind=end, place=int(place))
        case {"status": str(status)} if int(status) in _STATUSES:
            return Fault(text=text, seq=seq, kind="status", code=status)
        case {"status": str()}:
            message = f"{option} {text!r}: a status that breaks a call is one from 400 to 599"
            raise UsageError(message)
        case {"error": str(code)}:
            return Fault(text=text, seq=seq, kind="error", code=code)
        case _:
            return Fault(text=text, seq=seq, kind="hang")


def check_faults(
    faults: Sequence[Fault],
    cassette: Cassette,
    *,
    halves: frozenset[Half],
    option: str = "--fault",
) -> None:
    """Check, before anything starts, that each fault can happen.

    Raises:
        UsageError: Some cannot; the message has a line for each.
    """
    problems = [
        f"{option} {fault.text!r}: {problem}"
        for fault in faults
        if (problem := _problem(fault, faults, cassette, halves)) is not None
    ]
    if problems:
        raise UsageError("\n".join(problems))


def _problem(
    fault: Fault, faults: Sequence[Fault], cassette: Cassette, halves: frozenset[Half]
) -> str | None:
    found = [each for each in cassette.exchanges if each.seq == fault.seq]
    if not found:
        last = max((each.seq for each in cassette.exchanges), default=0)
        return f"the cassette has no #{fault.seq}; its last is #{last}"
    if len(found) > 1:
        return f"#{fault.seq} stands in the cassette {len(found)} times; number one of them anew"
    if Counter(each.seq for each in faults)[fault.seq] > 1:
        return f"#{fault.seq} is given two faults; one breaks it the first time, choose"
    exchange = found[0]
    if exchange.call.half not in halves:
        half = exchange.call.half
        return f"#{fault.seq} is of the {half} half, which is not replayed; drop it, or --half"
    return _misfit(fault, exchange, cassette)


def _misfit(fault: Fault, exchange: Exchange, cassette: Cassette) -> str | None:
    title = f"#{fault.seq} {call_title(exchange.call)}"
    if isinstance(exchange, McpExchange):
        if exchange.call.method in ("", mcp.LISTEN) and fault.kind != "hang":
            return f"{title} stays open and has no answer to break; only hang is possible"
        server = cassette.header.servers.get(exchange.call.server)
        if fault.kind == "status" and server is not None and server.transport == "stdio":
            return f"{title} was recorded on stdio, which knows no status; write error=CODE"
        if fault.kind == "error" and not re.fullmatch(r"-?\d{1,9}", fault.code):
            return "an error of MCP has a whole number for its code, such as -32000"
    if fault.kind in ("cut", "reset", "rst"):
        size, unit = _size(exchange)
        if fault.place >= size:
            places = f"0 to {size - 1}" if size > 1 else "0"
            return f"{title} has {size} {unit}{'' if size == 1 else 's'}; cut it at {places}"
    return None


def _size(exchange: Exchange) -> tuple[int, str]:
    """Return how many pieces an answer has, and what they are."""
    if isinstance(exchange, McpExchange):
        reply = mcp_reply.reply_of(exchange.answer, mcp.Caller(id=1, token=mcp.TOKEN))
    else:
        reply = model.reply_of(exchange.answer)
    return (len(reply.pieces), "event") if reply.streamed else (len(reply.body), "byte")


class Faults:
    """The faults of one replay."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._waiting = {fault.seq: fault for fault in faults}
        self.applied: list[Fault] = []

    def take(self, seq: int) -> Fault | None:
        """Return the fault of an exchange that is handed out for the first time, or None."""
        fault = self._waiting.pop(seq, None) if self._waiting else None
        if fault is not None:
            self.applied.append(fault)
        return fault

    @property
    def waiting(self) -> list[Fault]:
        """Those whose exchange was not asked for."""
        return [*self._waiting.values()]

    def lines(self) -> Iterator[str]:
        """Yield what became of each, a sentence each."""
        yield from (f"fault {each.text}: applied" for each in self.applied)
        for each in self.waiting:
            yield f"fault {each.text}: never reached, #{each.seq} was not asked for"


def broken_mcp(reply: Reply, fault: Fault, request: Request) -> Reply:
    """Return the reply to an MCP request with a fault in it."""
    match fault.kind:
        case "status":
            text = f"mcprec: fault {fault.text}\n".encode()
            plain = (("content-type", "text/plain; charset=utf-8"),)
            return Reply(status=int(fault.code), headers=plain, pieces=(Piece(0, text),))
        case "error":
            return mcp_reply.json_reply(200, _error(fault, request))
        case _:
            return _broken(reply, fault)


def broken_model(reply: Reply, fault: Fault, call: ModelCall) -> Reply:
    """Return the reply to a model call with a fault in it."""
    text = f"mcprec: fault {fault.text}"
    match fault.kind:
        case "status":
            return model.error_reply(call, text, status=int(fault.code))
        case "error":
            return model.error_reply(call, text, kind=fault.code)
        case _:
            return _broken(reply, fault)


def _broken(reply: Reply, fault: Fault) -> Reply:
    end = _ENDS[fault.kind]
    if end == "hang":
        return Reply(status=reply.status, end="hang")
    if reply.streamed:
        kept = _first(reply.pieces, fault.place)
    else:
        kept = (Piece(0, reply.body[: fault.place]),)
    # Without `streamed` a body that is cut would go out as whole, with a shorter length.
    return replace(reply, pieces=kept, end=end, hold_ms=None, streamed=True)


def _first(pieces: Sequence[Piece], count: int) -> Sequence[Piece]:
    return pieces[:count] if isinstance(pieces, LongEvents) else tuple(pieces)[:count]


def broken_lines(lines: Sequence[Piece], fault: Fault, request: Request) -> Sequence[Piece]:
    """Return the lines that a stdio server still says to a request with a fault in it.

    A place in the one line of a plain answer leaves nothing: half a line is none.
    """
    match fault.kind:
        case "status":
            text = f"mcprec: fault {fault.text}"
            return (Piece(0, error_bytes(request.id, _INTERNAL_ERROR, text)),)
        case "error":
            return (Piece(0, _error(fault, request)),)
        case "hang":
            return ()
        case _:
            return _first(lines, fault.place) if len(lines) > 1 else ()


def ends_server(fault: Fault) -> bool:
    """Whether a stdio server exits behind a fault."""
    return fault.kind in ("cut", "reset", "rst")


def _error(fault: Fault, request: Request) -> bytes:
    return error_bytes(request.id, int(fault.code), f"mcprec: fault {fault.text}")

"""The two directions of a stdio conversation -> the recorder.

Bytes come as they were read; lines end in LF, CRLF or the end. A request waits for the response
with its id, whatever comes in between; ids of the two directions are number spaces of their own.
"""

from dataclasses import dataclass, field
from typing import Literal

from mcprec_addon.exchange import End, Json, McpAnswer, McpEvent
from mcprec_addon.jsonvalue import JsonError, canonical, loads
from mcprec_addon.long_events import GROUP_BYTES
from mcprec_addon.record.questions import Questions
from mcprec_addon.record.recorder import Pending, Recorder
from mcprec_addon.wire import mcp
from mcprec_addon.wire.jsonrpc import Notification, Request, Response, message_of
from mcprec_addon.wire.mcp_answer import take_settled

type Side = Literal["client", "server"]

_MOST_NOISE = 200  # lines kept of what is no JSON-RPC; a server may print without end
_MOST_OF_A_LINE = 2000  # characters kept of one such line


@dataclass(slots=True, kw_only=True)
class _Call:
    """A request that waits for its response."""

    request: Request
    caller: mcp.Caller
    pending: Pending
    events: list[McpEvent] = field(default_factory=list[McpEvent])
    size: int = 0  # of the events at hand, in bytes


class LineSplitter:
    """Cuts what is read into lines."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that `chunk` completes, without their ends."""
        if b"\n" not in chunk:
            self._pending.append(chunk)
            return []
        *lines, rest = b"".join([*self._pending, chunk]).split(b"\n")
        self._pending = [rest]
        return [line.removesuffix(b"\r") for line in lines]

    def rest(self) -> list[bytes]:
        """Return the last line where it has no end."""
        last = b"".join(self._pending)
        self._pending = []
        return [last] if last else []


class LineIntake:
    """One process of one stdio server.

    Attributes:
        noise: Lines of the server that were no JSON-RPC, or answered nothing that was asked.
        answered: Responses of the server.
    """

    def __init__(self, recorder: Recorder, label: str) -> None:
        self._recorder = recorder
        self._label = label
        self._lines: dict[Side, LineSplitter] = {"client": LineSplitter(), "server": LineSplitter()}
        self._calls: dict[bytes, _Call] = {}
        self._questions = Questions(recorder)
        self.noise = 0
        self.answered = 0

    def feed(self, side: Side, chunk: bytes, at_ms: int) -> None:
        """Take bytes that one side sent."""
        for line in self._lines[side].feed(chunk):
            self._line(side, line, at_ms)

    def finish(self, ending: End, at_ms: int) -> None:
        """End what is still open: the server exited, or the recorder was ended."""
        for side, splitter in self._lines.items():
            for line in splitter.rest():
                self._line(side, line, at_ms)
        self._questions.close()
        for call in [*self._calls.values()]:
            end = None if call.request.method == mcp.LISTEN and ending == "left" else ending
            self._end(call, McpAnswer(kind="none", events=tuple(call.events), end=end), at_ms)

    def _line(self, side: Side, line: bytes, at_ms: int) -> None:
        if not line.strip():
            return
        try:
            value = loads(line)
        except JsonError:
            value = None
        members = value if isinstance(value, list) else [value]
        taken = [
            isinstance(member, dict) and self._message(side, member, at_ms, len(line))
            for member in members
        ]
        if side == "server" and not all(taken):
            self._noise(line)

    def _noise(self, line: bytes) -> None:
        self.noise += 1
        if self.noise <= _MOST_NOISE:
            text = line.decode("utf-8", "replace")[:_MOST_OF_A_LINE]
            self._recorder.noise(self._label, text)

    def _message(self, side: Side, value: dict[str, Json], at_ms: int, size: int) -> bool:
        """Take one message; return whether it is JSON-RPC."""
        message = message_of(value)
        match message:
            case None:
                return False
            case Request() if side == "client":
                self._asked(message, at_ms)
            case Response() if side == "server":
                return self._answered(message, at_ms)
            case Notification() if side == "client":
                self._client_said(message, at_ms)
            case Response():
                self._client_answered(message)
            case _:
                self._server_said(value, at_ms, size)
        return True

    def _asked(self, request: Request, at_ms: int) -> None:
        era = mcp.era_of(request, {})
        call = mcp.call_of(request, self._label)
        pending = self._recorder.begin(call, at_ms=at_ms, via=None, era=era)
        key = canonical(request.id)
        self._calls[key] = _Call(request=request, caller=mcp.caller_of(request), pending=pending)

    def _answered(self, response: Response, at_ms: int) -> bool:
        call = self._calls.get(canonical(response.id))
        if call is None:
            return False
        self.answered += 1
        value = mcp.constant_result(response.value, call.caller)
        answer = McpAnswer(kind=response.kind, value=value, events=tuple(call.events))
        self._learn(call, answer)
        self._end(call, answer, at_ms)
        return True

    def _end(self, call: _Call, answer: McpAnswer, at_ms: int) -> None:
        del self._calls[canonical(call.request.id)]
        self._recorder.finish(call.pending, answer, at_ms=at_ms)

    def _learn(self, call: _Call, answer: McpAnswer) -> None:
        if answer.kind != "result":
            return
        version = mcp.protocol_version(call.request, answer.value)
        if version is not None:
            self._recorder.spoke(version)
        if call.request.method in mcp.HANDSHAKES:
            name, number = mcp.identity(answer.value)
            self._recorder.handshake(self._label, name=name, version=number)

    def _client_said(self, note: Notification, at_ms: int) -> None:
        plain: dict[str, Json] = {"method": note.method, "params": note.params}
        cancelled = mcp.cancelled_id(note)
        call = self._calls.get(canonical(cancelled)) if cancelled is not None else None
        if call is None:
            self._recorder.message(self._label, "client", plain)
            return
        end: End | None = None if call.request.method == mcp.LISTEN else "left"
        self._end(call, McpAnswer(kind="none", events=tuple(call.events), end=end), at_ms)

    def _client_answered(self, response: Response) -> None:
        for call in self._calls.values():
            for index, event in enumerate(call.events):
                if mcp.is_question(event, response.id):
                    call.events[index] = mcp.with_answer(event, response.value)
                    return
        self._questions.answered(response.id, response.value)

    def _server_said(self, value: dict[str, Json], at_ms: int, size: int) -> None:
        call = self._call_of(value)
        if call is None:
            self._questions.take(self._recorder.question(self._label, value))
            return
        since = at_ms - call.pending.at_ms
        event = mcp.event_of(value, since, call.caller)
        if call.request.method == mcp.LISTEN:
            self._recorder.message(
                self._label, "server", event.message, on=call.pending, at_ms=since
            )
        else:
            call.events.append(event)
            call.size += size
            if call.size >= GROUP_BYTES:
                call.size = 0
                self._recorder.early(call.pending, take_settled(call.events))

    def _call_of(self, value: dict[str, Json]) -> _Call | None:
        """Return the call a message of the server belongs to: by token, by id, else the first."""
        for call in self._calls.values():
            if mcp.belongs_to(value, call.caller):
                return call
        others = [each for each in self._calls.values() if each.request.method != mcp.LISTEN]
        return others[0] if others and not mcp.is_unasked(value) else None

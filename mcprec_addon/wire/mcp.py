"""What an MCP request asks and what its answer says; the two protocol eras.

Source: MCP 2026-07-28 (stateless era); 2025-03-26, 2025-06-18 and 2025-11-25 (classic era).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from mcprec_addon.exchange import (
    Era,
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    Message,
)
from mcprec_addon.long_events import made_of
from mcprec_addon.wire.http import Piece
from mcprec_addon.wire.jsonrpc import (
    Notification,
    Request,
    message_bytes,
    response_bytes,
)

TOKEN = "$token"  # noqa: S105 (a progress token is no secret)
"""Stands in a cassette for the progress token of the call, which the caller makes up."""
SUBSCRIPTION = "$id"
"""Stands in a cassette for the id of the listen request a message belongs to."""
SESSION_HEADER = "mcp-session-id"
SESSION = "$session"
"""Stands in a cassette for the session id that a classic handshake handed out."""
LISTEN = "subscriptions/listen"
CANCELLED = "notifications/cancelled"
HANDSHAKES = frozenset({"initialize", "server/discover"})

_PREFIX = "io.modelcontextprotocol/"
_SUBSCRIPTION_KEY = f"{_PREFIX}subscriptionId"
_NAME_MEMBERS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
    "tasks/result": "taskId",
}
_WITH_ARGUMENTS = frozenset({"tools/call", "prompts/get"})
_UNASKED = frozenset({"notifications/resources/updated", "notifications/tasks"})
# What changes from run to run without changing what is asked.
_VOLATILE_META = frozenset(
    {"progressToken", "traceparent", "tracestate", "baggage"}
    | {f"{_PREFIX}clientInfo", f"{_PREFIX}protocolVersion"}
)
_REPEATABLE = ("readOnlyHint", "idempotentHint")
_OF_WRITERS = ("destructiveHint", "idempotentHint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What an answer must carry to reach its request: the id, and the progress token if any."""

    id: Json
    token: Json = None


NOBODY = Caller(id=None)
"""Whoever reads a stream that answers no request."""


def caller_of(request: Request) -> Caller:
    """Return the id and progress token of a request."""
    meta = _member(request.params, "_meta")
    return Caller(id=request.id, token=_member(meta, "progressToken"))


def _member(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None


def call_of(request: Request, server: str) -> McpCall:
    """Return what a request asks, less what is made up anew for every request."""
    params = request.params if isinstance(request.params, dict) else {}
    if request.method == "initialize":
        return McpCall(server=server, method="initialize", meta=_offer(params))
    rest = dict(params)
    meta = rest.pop("_meta", None)
    name = _pop_name(request.method, rest)
    args = rest.pop("arguments", None) if request.method in _WITH_ARGUMENTS else None
    return McpCall(
        server=server,
        method=request.method,
        name=name,
        args=args if args != {} else None,
        input=_pop_input(rest),
        params=rest if isinstance(request.params, dict) else (request.params or {}),
        meta=_kept_meta(meta),
    )


def _offer(params: dict[str, Json]) -> dict[str, Json]:
    # A handshake offers; any client of the era gets the recorded answer (never in the key).
    return {key: params[key] for key in ("protocolVersion", "capabilities") if key in params}


def _pop_name(method: str, rest: dict[str, Json]) -> str | None:
    member = _NAME_MEMBERS.get(method)
    if member is None or not isinstance(rest.get(member), str):
        return None
    return str(rest.pop(member))


def _pop_input(rest: dict[str, Json]) -> Input | None:
    if not rest.keys() & {"requestState", "inputResponses"}:
        return None
    return Input(state=rest.pop("requestState", None), responses=rest.pop("inputResponses", None))


def _kept_meta(meta: Json) -> dict[str, Json]:
    if not isinstance(meta, dict):
        return {}
    kept = {key: value for key, value in meta.items() if key not in _VOLATILE_META}
    return {key.removeprefix(_PREFIX): value for key, value in kept.items() if value != {}}


def era_of(request: Request, headers: Mapping[str, str]) -> Era:
    """Return the era a request is spoken in: by its `_meta`, else by its version header."""
    meta = _member(request.params, "_meta")
    version = _member(meta, f"{_PREFIX}protocolVersion") or headers.get("mcp-protocol-version")
    return "stateless" if isinstance(version, str) and version >= "2026" else "classic"


def protocol_version(request: Request, result: Json) -> str | None:
    """Return the protocol version a request and its result speak, or None where neither says."""
    negotiated = _member(result, "protocolVersion")
    meta = _member(request.params, "_meta")
    version = negotiated or _member(meta, f"{_PREFIX}protocolVersion")
    return version if isinstance(version, str) else None


def identity(result: Json) -> tuple[str | None, str | None]:
    """Return name and version from the result of a handshake."""
    info = _member(result, "serverInfo") or _member(
        _member(result, "_meta"), f"{_PREFIX}serverInfo"
    )
    name, version = _member(info, "name"), _member(info, "version")
    return (
        name if isinstance(name, str) and name else None,
        version if isinstance(version, str) and version else None,
    )


def repeatable_tools(result: Json) -> set[str]:
    """Return the tools that a list of tools says may be called again to no further effect.

    Source: MCP 2026-07-28, tool annotations: ``readOnlyHint`` and ``idempotentHint``.
    """
    tools = _member(result, "tools")
    return {
        name
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(name := _member(tool, "name"), str)
        and any(_member(_member(tool, "annotations"), hint) is True for hint in _REPEATABLE)
    }


def writes_state(result: Json) -> dict[str, bool]:
    """Return which tools of a list say of themselves whether they change anything.

    Source: MCP 2026-07-28, tool annotations: ``readOnlyHint``; the hints ``destructiveHint`` and
    ``idempotentHint`` mean something for tools alone that are not read-only.
    """
    tools = _member(result, "tools")
    said: dict[str, bool] = {}
    for tool in tools if isinstance(tools, list) else []:
        name, hints = _member(tool, "name"), _member(tool, "annotations")
        reads = _member(hints, "readOnlyHint")
        changes = any(isinstance(_member(hints, hint), bool) for hint in _OF_WRITERS)
        if isinstance(name, str) and (isinstance(reads, bool) or changes):
            said[name] = reads is not True
    return said


def event_of(message: dict[str, Json], at_ms: int, caller: Caller) -> McpEvent:
    """Return a message of a stream as an event, its token or subscription id made constant."""
    plain = {key: value for key, value in message.items() if key != "jsonrpc"}
    return McpEvent(at_ms=at_ms, message=_swap(plain, caller, Caller(id=SUBSCRIPTION, token=TOKEN)))


def _swap(message: dict[str, Json], old: Caller, new: Caller) -> dict[str, Json]:
    params = message.get("params")
    if not isinstance(params, dict):
        return message
    if old.token is not None and params.get("progressToken") == old.token:
        return {**message, "params": {**params, "progressToken": new.token}}
    meta = params.get("_meta")
    if isinstance(meta, dict) and meta.get(_SUBSCRIPTION_KEY) == old.id:
        return {
            **message,
            "params": {**params, "_meta": {**meta, _SUBSCRIPTION_KEY: new.id}},
        }
    return message


def constant_result(value: Json, caller: Caller) -> Json:
    """Return a result with the listen request's id in its `_meta` made constant."""
    if not isinstance(value, dict):
        return value
    return _swap({"params": value}, caller, Caller(id=SUBSCRIPTION, token=TOKEN))["params"]


def live_message(message: dict[str, Json], caller: Caller) -> dict[str, Json] | None:
    """Return a recorded message for this caller; None for progress that it did not ask for."""
    params = message.get("params")
    recorded = isinstance(params, dict) and params.get("progressToken") == TOKEN
    if recorded and caller.token is None:
        return None
    return _swap(message, Caller(id=SUBSCRIPTION, token=TOKEN), caller)


def messages_of(answer: McpAnswer, caller: Caller, *, ms: int = 0) -> Sequence[Piece]:
    """Return a recorded answer as JSON-RPC messages for this caller, its events before it.

    Args:
        answer: The recorded answer.
        caller: Whose request it answers.
        ms: When it was complete, in milliseconds after the call.
    """

    def messages(events: Iterable[McpEvent]) -> Iterator[Piece]:
        latest = ms
        for event in events:
            latest = max(latest, event.at_ms)
            live = live_message(event.message, caller)
            if live is not None:
                yield Piece(event.at_ms, message_bytes(live))
        final = last_message(answer, caller)
        if final is not None:
            yield Piece(latest, final)

    return made_of(answer.events, messages)


def cancelled_id(note: Notification) -> Json:
    """Return the id of the request that a notification cancels, or None."""
    return _member(note.params, "requestId") if note.method == CANCELLED else None


def asked_for(request: Request) -> Json:
    """Return which notifications a listen request asks for."""
    return _member(request.params, "notifications")


def last_message(answer: McpAnswer, caller: Caller) -> bytes | None:
    """Return the response in a recorded answer for this caller; None where there was none."""
    match answer.kind:
        case "result":
            constant = Caller(id=SUBSCRIPTION, token=TOKEN)
            result = _swap({"params": answer.value}, constant, caller)["params"]
            return response_bytes(caller.id, "result", result)
        case "error":
            return response_bytes(caller.id, "error", answer.value)
        case _:
            return None


def asks_for_oauth(status: int, lines: Iterable[tuple[str, str]]) -> bool:
    """Whether an answer asks the client to sign in, by its status and header lines."""
    challenges = [value for name, value in lines if name == "www-authenticate"]
    return status == HTTPStatus.UNAUTHORIZED and any(
        "resource_metadata" in value for value in challenges
    )


def without_end(answer: McpAnswer) -> McpAnswer:
    """Return an answer as complete."""
    return replace(answer, end=None)


def notification_of(
    message: Message, caller: Caller, *, listens: bool = True
) -> dict[str, Json] | None:
    """Return a recorded message as it goes to this caller; None where it must not.

    Args:
        message: As recorded, on whatever stream.
        caller: Who reads it.
        listens: The caller reads a listen stream, and not a classic one.
    """
    plain: dict[str, Json] = {} if message.id is None else {"id": message.id}
    plain["method"] = message.method
    params = dict(message.params) if isinstance(message.params, dict) else {}
    meta = params.pop("_meta", None)
    kept = dict(meta) if isinstance(meta, dict) else {}
    kept.pop(_SUBSCRIPTION_KEY, None)
    if listens:
        kept[_SUBSCRIPTION_KEY] = caller.id
    if kept:
        params["_meta"] = kept
    if params:
        plain["params"] = params
    return live_message(plain, caller)


def is_question(event: McpEvent, request_id: Json) -> bool:
    """Whether an event is a server's request with this id that has no answer yet."""
    return is_open_question(event) and event.message["id"] == request_id


def is_open_question(event: McpEvent) -> bool:
    """Whether an event is a server's request that has no answer yet."""
    return "id" in event.message and "method" in event.message and event.answer is None


def with_answer(event: McpEvent, value: Json) -> McpEvent:
    """Return a server's request with the client's answer to it."""
    return replace(event, answer=value)


def belongs_to(message: dict[str, Json], caller: Caller) -> bool:
    """Whether a server's message names this caller, by progress token or subscription id."""
    params = message.get("params")
    if not isinstance(params, dict):
        return False
    token = params.get("progressToken")
    meta = params.get("_meta")
    subscription = meta.get(_SUBSCRIPTION_KEY) if isinstance(meta, dict) else None
    return (token is not None and token == caller.token) or (
        subscription is not None and subscription == caller.id
    )


def is_unasked(message: dict[str, Json]) -> bool:
    """Whether a server sends such a message on its own, whatever is being asked of it."""
    method = str(message.get("method", ""))
    return method.endswith("/list_changed") or method in _UNASKED

"""A real MCP server of the 2.x SDK that does what the other peers leave out, in both eras.

Its lists come in pages; its tools, prompts and resources ask for input, one thing after the
other; it completes, tells of changes, can be cancelled, and runs tasks of the extension. Run it
with ``python -m tests.peers.wide_server --port 0``, or from any folder with
``python …/wide_server.py --stdio``, which serves one client on its pipes.
"""

import argparse
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ConfigDict

STATELESS = "2026-07-28"
STATUSES = ("working", "input_required", "working", "completed")
"""What the polls of a task are told; the second is repeated until the input is there."""

COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

type Sdk = Any
"""An object of the SDK, whose attributes are read as a user would."""
type Json = dict[str, Any]
type Handler = Callable[[Sdk, Json], Awaitable[Json]]


class Params(types.RequestParams):
    """The parameters of any request, as they came."""

    model_config = ConfigDict(extra="allow")


FORM: Json = {
    "mode": "form",
    "message": "Who are you?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    },
}
SAMPLING: Json = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Greet someone."}}],
    "maxTokens": 9,
}
QUESTIONS: Mapping[str, Json] = {
    "name": {"method": "elicitation/create", "params": FORM},
    "greeting": {"method": "sampling/createMessage", "params": SAMPLING},
    "roots": {"method": "roots/list", "params": {}},
}
TYPES: Mapping[str, tuple[type[Any], type[Any]]] = {
    "name": (types.ElicitRequest, types.ElicitResult),
    "greeting": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots": (types.ListRootsRequest, types.ListRootsResult),
}


def said(key: str, answer: Json) -> str:
    """Return what an answer to a question says."""
    match key:
        case "name":
            return str(answer["content"]["name"])
        case "greeting":
            return str(answer["content"]["text"])
        case _:
            return str(answer["roots"][0]["uri"])


async def asked(ctx: Sdk, params: Json, *keys: str) -> str | Json:
    """Return the answers to these questions, or what asks the client for the next of them.

    A classic client is asked in the middle of its call. Another gets an interim result for each
    question, with the answers so far as its request state.
    """
    if ctx.protocol_version != STATELESS:
        return ", ".join([await _asked_now(ctx, key) for key in keys])
    known = [one for one in (params.get("requestState") or "").split("|") if one]
    known += [said(key, got) for key, got in (params.get("inputResponses") or {}).items()]
    if len(known) == len(keys):
        return ", ".join(known)
    key = keys[len(known)]
    return {
        "resultType": "input_required",
        "inputRequests": {key: QUESTIONS[key]},
        "requestState": "|".join(known),
    }


async def _asked_now(ctx: Sdk, key: str) -> str:
    request, result = TYPES[key]
    answer = await ctx.session.send_request(
        request.model_validate(QUESTIONS[key]),
        result,
        metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
    )
    return said(key, answer.model_dump(by_alias=True, mode="json", exclude_none=True))


def text(value: object, **more: object) -> Json:
    """Return the result of a tool that says one thing."""
    return {"content": [{"type": "text", "text": str(value)}], **more}


class Wide:
    """The server's methods, and what it keeps between them."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.grown: list[str] = []
        self.polls: dict[str, int] = {}
        self.given: dict[str, str] = {}

    async def list_tools(self, _ctx: Sdk, params: Json) -> Json:
        """List the tools, three on a page."""
        names = [*TOOLS, *self.grown]
        start = int((params.get("cursor") or "page-0").removeprefix("page-"))
        tools = [_tool(name) for name in names[start : start + 3]]
        more = {"nextCursor": f"page-{start + 3}"} if start + 3 < len(names) else {}
        return {"tools": tools, **more}

    async def call_tool(self, ctx: Sdk, params: Json) -> Json:
        """Call a tool."""
        name = params["name"]
        if name in self.grown:
            return text(name)
        if name not in TOOLS:
            raise MCPError(types.INVALID_PARAMS, f"no tool {name}")
        return await TOOLS[name](self, ctx, params)

    async def read(self, ctx: Sdk, params: Json) -> Json:
        """Read a note; that of a person asks who that is."""
        uri = params["uri"]
        if uri == "note://mine":
            got = await asked(ctx, params, "name")
            return got if isinstance(got, dict) else _note(uri, f"The note of {got}.")
        if uri != "note://today":
            raise MCPError(types.INVALID_PARAMS, f"no resource {uri}", {"uri": uri})
        return _note(uri, "Call back.")

    async def get_prompt(self, ctx: Sdk, params: Json) -> Json:
        """Return a prompt that speaks of who asks for it."""
        got = await asked(ctx, params, "name")
        if isinstance(got, dict):
            return got
        said = {"type": "text", "text": f"{got} asks about {params['arguments']['topic']}."}
        return {"messages": [{"role": "user", "content": said}]}

    async def complete(self, _ctx: Sdk, params: Json) -> Json:
        """Complete a value by what was given before it."""
        begun = params["argument"]["value"]
        before = (params.get("context") or {}).get("arguments", {})
        return {"completion": {"values": [f"{begun}ugs", *before.values()], "hasMore": False}}

    async def tasks_get(self, _ctx: Sdk, params: Json) -> Json:
        """Tell how a task goes on; how often it was asked is its clock."""
        task = params["taskId"]
        if task not in self.polls:
            raise MCPError(types.INVALID_PARAMS, f"no task {task}")
        self.polls[task] += 1
        place = min(self.polls[task], 2 if task not in self.given else len(STATUSES)) - 1
        more: Json = {}
        if STATUSES[place] == "input_required":
            more = {"inputRequests": {"name": QUESTIONS["name"]}}
        elif STATUSES[place] == "completed":
            more = {"result": text(f"rendered for {self.given[task]}", isError=False)}
        return _task(task, STATUSES[place]) | more | {"resultType": "complete"}

    async def tasks_update(self, _ctx: Sdk, params: Json) -> Json:
        """Take the input of a task."""
        self.given[params["taskId"]] = said("name", params["inputResponses"]["name"])
        return {}

    async def tasks_cancel(self, _ctx: Sdk, params: Json) -> Json:
        """Take note that nobody wants a task any more."""
        self.polls.pop(params["taskId"], None)
        return {}


async def _add(_wide: Wide, _ctx: Sdk, params: Json) -> Json:
    total = params["arguments"]["a"] + params["arguments"]["b"]
    return text(total, structuredContent={"total": total})


async def _fail(_wide: Wide, _ctx: Sdk, _params: Json) -> Json:
    return text("it is not to be", isError=True)


async def _count(_wide: Wide, ctx: Sdk, _params: Json) -> Json:
    for step in (1, 2, 3):
        await ctx.session.report_progress(step, 3, f"step {step}")
        await ctx.session.send_log_message("info", f"did {step}", related_request_id=ctx.request_id)
    return text("counted")


async def _interview(_wide: Wide, ctx: Sdk, params: Json) -> Json:
    got = await asked(ctx, params, "name", "greeting", "roots")
    return got if isinstance(got, dict) else text(got)


async def _book(_wide: Wide, _ctx: Sdk, params: Json) -> Json:
    return text(f"booked in {params['arguments']['region']}")


async def _touch(wide: Wide, ctx: Sdk, _params: Json) -> Json:
    await wide.bus.publish(ResourceUpdated(uri="note://today"))
    if ctx.protocol_version != STATELESS:
        await ctx.session.send_resource_updated("note://today")
    return text("touched")


async def _grow(wide: Wide, ctx: Sdk, params: Json) -> Json:
    wide.grown.append(params["arguments"]["name"])
    await wide.bus.publish(ToolsListChanged())
    if ctx.protocol_version != STATELESS:
        await ctx.session.send_tool_list_changed()
    return text("grown")


async def _shrink(wide: Wide, _ctx: Sdk, params: Json) -> Json:
    wide.grown.remove(params["arguments"]["name"])
    return text("shrunk")


async def _wait(_wide: Wide, ctx: Sdk, _params: Json) -> Json:
    await ctx.session.report_progress(1, None, "waiting")
    await anyio.sleep_forever()
    return {}


async def _render(wide: Wide, _ctx: Sdk, params: Json) -> Json:
    task = f"task-{params['arguments']['of']}"
    wide.polls[task] = 0
    wide.given.pop(task, None)
    return _task(task, "working") | {"resultType": "task"}


TOOLS: Mapping[str, Callable[[Wide, Sdk, Json], Awaitable[Json]]] = {
    "add": _add,
    "fail": _fail,
    "count": _count,
    "interview": _interview,
    "book": _book,
    "touch": _touch,
    "grow": _grow,
    "shrink": _shrink,
    "wait": _wait,
    "render": _render,
}


def _tool(name: str) -> Json:
    schema: Json = {"type": "object"}
    if name == "book":  # stateless clients send this argument as a header, too
        schema["properties"] = {"region": {"type": "string", "x-mcp-header": "Region"}}
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema}


def _note(uri: str, content: str) -> Json:
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": content}]}


def _task(task: str, status: str) -> Json:
    when = "2026-11-30T10:00:00Z"
    return {
        "taskId": task,
        "status": status,
        "createdAt": when,
        "lastUpdatedAt": when,
        "ttlMs": None,
        "pollIntervalMs": 10,
    }


def _listed(member: str, *values: Json) -> Handler:
    async def answer(_ctx: Sdk, _params: Json) -> Json:
        return {member: [*values]}

    return answer


async def _nothing(_ctx: Sdk, _params: Json) -> Json:
    return {}


def wide_server() -> Server[Any]:
    """Return the server with its methods."""
    wide = Wide()
    arguments = [{"name": "topic", "required": True}]
    methods: Mapping[str, Handler] = {
        "tools/list": wide.list_tools,
        "tools/call": wide.call_tool,
        "resources/list": _listed("resources", {"uri": "note://today", "name": "today"}),
        "resources/templates/list": _listed("resourceTemplates"),
        "resources/read": wide.read,
        "resources/subscribe": _nothing,
        "resources/unsubscribe": _nothing,
        "prompts/list": _listed("prompts", {"name": "ask", "arguments": arguments}),
        "prompts/get": wide.get_prompt,
        "completion/complete": wide.complete,
        "logging/setLevel": _nothing,
        "tasks/get": wide.tasks_get,
        "tasks/update": wide.tasks_update,
        "tasks/cancel": wide.tasks_cancel,
    }
    server: Server[Any] = Server(
        "wide", version="1.0", on_subscriptions_listen=ListenHandler(wide.bus)
    )
    server.extensions["io.modelcontextprotocol/tasks"] = {}
    for method, handler in methods.items():
        server.add_request_handler(method, Params, _as_dict(handler))
    return server


def _as_dict(handler: Handler) -> Callable[[Sdk, Params], Awaitable[Json]]:
    async def called(ctx: Sdk, params: Params) -> Json:
        given = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        result = await handler(ctx, given)
        is_whole = ctx.protocol_version == STATELESS and "resultType" not in result
        return COMPLETE | result if is_whole else result

    return called


async def _on_pipes(server: Server[Any]) -> None:
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stdio", action="store_true")
    options = parser.parse_args()
    server = wide_server()
    if options.stdio:
        anyio.run(_on_pipes, server)
        return
    listener = socket.create_server(("127.0.0.1", options.port))
    sys.stdout.write(f'{{"port": {listener.getsockname()[1]}}}\n')
    sys.stdout.flush()
    app = server.streamable_http_app()
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()

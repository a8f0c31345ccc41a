"""A client of the 2.x MCP SDK that goes through all that `wide_server.py` offers, in either era.

``wide_client.py MODE URL`` runs from any folder and prints what it saw as one line of JSON. MODE is
``auto``, ``legacy`` or the version of the stateless era; URL an address or ``config:FILE``.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp import Client, types
from mcp.client import advertise
from mcp.client.stdio import StdioServerParameters
from pydantic import FileUrl, TypeAdapter

from tests.peers.mcp_session import Notices
from tests.peers.started_server import address, parameters
from tests.peers.transcript import Transcript

STATELESS = "2026-07-28"
NOTE = "note://today"
TASKS = "io.modelcontextprotocol/tasks"
LONGEST_S = 5

type Sdk = Any
"""An object of the SDK, whose attributes are read as a user would."""


async def _name(_context: Sdk, _params: Sdk) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Robin"})


async def _greeting(_context: Sdk, _params: Sdk) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text="Good day!")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


async def _roots(_context: Sdk) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///tmp/a"))])


class Told:
    """What the server tells on its own, one by one."""

    def __init__(self) -> None:
        self._sender, self._receiver = anyio.create_memory_object_stream[str](99)

    async def take(self, message: Sdk) -> None:
        """Take one message of a server that tells all its clients."""
        if isinstance(message, types.ToolListChangedNotification):
            self.hear("ToolsListChanged")
        elif isinstance(message, types.ResourceUpdatedNotification):
            self.hear("ResourceUpdated")

    def hear(self, event: str) -> None:
        """Take an event by its name."""
        self._sender.send_nowait(event)

    async def next(self) -> str:
        """Wait for the next one."""
        with anyio.fail_after(LONGEST_S):
            return await self._receiver.receive()


class Session:
    """A connected client's way through all that the server offers."""

    def __init__(self, client: Client, told: Told, notices: Notices, log: Transcript) -> None:
        self.client = client
        self.told = told
        self.notices = notices
        self.log = log
        self.is_stateless = client.protocol_version == STATELESS

    async def run(self) -> None:
        """Go all the way."""
        for step in (self.lists, self.calls, self.changes, self.cancelled, self.tasks):
            await step()

    async def lists(self) -> None:
        """Read every list and what it leads to."""
        step, client = self.log.step, self.client
        await step("tools", self._tools())
        await step("resources", client.list_resources())
        await step("templates", client.list_resource_templates())
        await step("prompts", client.list_prompts())
        for uri in (NOTE, "note://mine", "note://nowhere"):
            await step(uri, client.read_resource(uri))
        await step("prompt", client.get_prompt("ask", {"topic": "bugs"}))
        ref = types.PromptReference(type="ref/prompt", name="ask")
        argument = {"name": "topic", "value": "b"}
        await step("complete", client.complete(ref, argument))
        await step("complete in context", client.complete(ref, argument, {"tone": "calm"}))

    async def _tools(self) -> list[list[str]]:
        names: list[list[str]] = []
        cursor = None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            names.append([tool.name for tool in page.tools])
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def calls(self) -> None:
        """Call the tools that answer by themselves, or after some questions."""
        step, call = self.log.step, self.client.call_tool
        await step("add", call("add", {"a": 2, "b": 0.5}))
        await step("fail", call("fail"))
        await step("count", call("count", progress_callback=self.notices.on_progress))
        await self.notices.settled()
        self.log.saw("notices", {"progress": self.notices.progress, "logs": self.notices.logs})
        await step("interview", call("interview"))
        await step("book", call("book", {"region": "süd"}))
        await step("none", call("none"))
        await step("unknown method", self._send("none/such", {}))

    async def changes(self) -> None:
        """Have things changed, and see it told."""
        if self.is_stateless:
            async with anyio.create_task_group() as group:
                listening = await group.start(self._listen)
                await self._change()
                listening.cancel()
            return
        await self.log.step("subscribe", self.client.subscribe_resource(NOTE))
        await self._change()
        await self.log.step("unsubscribe", self.client.unsubscribe_resource(NOTE))

    async def _change(self) -> None:
        step, call = self.log.step, self.client.call_tool
        for tool, given in (("touch", {}), ("grow", {"name": "leaf"})):
            await step(tool, call(tool, given))
            await step("told", self.told.next())
        await step("grown tools", self._tools())
        await step("leaf", call("leaf"))
        await step("shrink", call("shrink", {"name": "leaf"}))

    async def _listen(self, *, task_status: Sdk) -> None:
        with anyio.CancelScope() as scope:
            options: Sdk = {"tools_list_changed": True, "resource_subscriptions": [NOTE]}
            async with self.client.listen(**options) as events:
                task_status.started(scope)
                async for event in events:
                    self.told.hear(type(event).__name__)

    async def cancelled(self) -> None:
        """Give up a call that has begun."""
        begun = anyio.Event()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 (the SDK names them)
            begun.set()

        async def wait() -> None:
            await self.client.call_tool("wait", progress_callback=on_progress)

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await self.log.step("begun", begun.wait())
            group.cancel_scope.cancel()
        await self.log.step("add again", self.client.call_tool("add", {"a": 1, "b": 1}))

    async def tasks(self) -> None:
        """Follow a task to its end, then ask for one that is not there."""
        if not self.is_stateless:
            return
        await self.log.step(
            "render", self._send("tools/call", {"name": "render", "arguments": {"of": "sky"}})
        )
        sky = {"taskId": "task-sky"}
        for _ in range(3):
            await self.log.step("poll", self._send("tasks/get", sky))
        given = {"name": {"action": "accept", "content": {"name": "Robin"}}}
        await self.log.step("update", self._send("tasks/update", {**sky, "inputResponses": given}))
        for _ in range(3):
            await self.log.step("poll", self._send("tasks/get", sky))
        await self.log.step("cancel", self._send("tasks/cancel", sky))
        await self.log.step("poll nothing", self._send("tasks/get", {"taskId": "none"}))

    async def _send(self, method: str, params: Mapping[str, object]) -> object:
        request = Request(method=method, params=dict(params))
        whatever: Sdk = TypeAdapter(dict[str, Any])
        return await self.client.session.send_request(request, whatever)


class Request(types.Request[dict[str, Any], str]):
    """Any request."""


async def main(mode: str, url: str, log: Transcript) -> None:
    """Connect and go all the way."""
    found = parameters(url)
    told, notices = Told(), Notices()
    options: Sdk = {
        "mode": mode,
        "log_level": "info",
        "logging_callback": notices.on_log,
        "elicitation_callback": _name,
        "sampling_callback": _greeting,
        "list_roots_callback": _roots,
        "message_handler": told.take if mode == "legacy" else None,
        "extensions": [advertise(TASKS)],
        "read_timeout_seconds": LONGEST_S,
    }
    place = address(url) if found is None else StdioServerParameters(**found)
    async with Client(place, **options) as client:
        log.saw("connect", [client.protocol_version, client.server_info])
        await Session(client, told, notices, log).run()


if __name__ == "__main__":
    transcript = Transcript()
    anyio.run(transcript.step, "session", main(sys.argv[1], sys.argv[2], transcript))
    transcript.write()

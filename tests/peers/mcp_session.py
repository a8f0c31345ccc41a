"""The small session that every MCP client of the tests goes through.

The clients of both SDK generations name their methods alike, so one session drives both.
"""

import os
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from tests.peers.transcript import Transcript, plain

type Sdk = Any
"""An object of the SDK, whose attributes are read as a user would."""

_NOTICES = 3
_LONGEST_WAIT_S = 2  # servers that answer in JSON send no notices at all


class Notices:
    """Progress and log messages as they arrive."""

    def __init__(self) -> None:
        self.progress: list[object] = []
        self.logs: list[object] = []
        self._complete = anyio.Event()

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one progress notification."""
        self.progress.append([progress, total, message])
        self._check()

    async def on_log(self, params: Sdk) -> None:
        """Take one log message."""
        self.logs.append([params.level, params.data])
        self._check()

    async def settled(self) -> None:
        """Wait until what `slow` sends is here, or for a while."""
        with anyio.move_on_after(_LONGEST_WAIT_S):
            await self._complete.wait()

    def _check(self) -> None:
        if len(self.progress) >= _NOTICES and len(self.logs) >= _NOTICES:
            self._complete.set()


type Uri = Callable[[str], Any]


async def run_session(client: Sdk, notices: Notices, log: Transcript, *, uri: Uri) -> None:
    """Drive a connected client; with ``PEER_ASKS=no``, past the tool that asks it something.

    Args:
        client: A client or session of either SDK generation.
        notices: What is wired to its log callback.
        log: Where the steps go.
        uri: Makes of a text what the client takes as a URI.
    """
    await log.step("list tools", client.list_tools())
    await _tools(client, notices, log)
    await log.step("list resources", client.list_resources())
    await log.step("list templates", client.list_resource_templates())
    for name in ("note://today", "bytes://pixel", "person://ana", "note://nowhere"):
        await log.step(f"read {name}", client.read_resource(uri(name)))
    await log.step("list prompts", client.list_prompts())
    await log.step("get ask", client.get_prompt("ask", {"topic": "bugs"}))
    await log.step("get unknown", client.get_prompt("unknown", {}))


async def _tools(client: Sdk, notices: Notices, log: Transcript) -> None:
    call = client.call_tool
    await log.step("add", call("add", {"a": 2, "b": 3}))
    await log.step("add at once", _at_once(call))
    slow = call("slow", {"n": _NOTICES}, progress_callback=notices.on_progress)
    await log.step("slow", slow)
    await notices.settled()
    log.saw("notices", {"progress": notices.progress, "logs": notices.logs})
    await log.step("boom", call("boom", {"msg": "no such thing"}))
    await log.step("unknown tool", call("unknown", {}))
    await log.step("picture", call("picture", {}))
    await log.step("whois", call("whois", {"name": "ana"}))
    for name, arguments in (
        ("get", {"key": "color"}),
        ("put", {"key": "color", "value": "red"}),
        ("get", {"key": "color"}),
        ("put", {"key": "color", "value": ""}),
    ):
        await log.step(f"{name} color", call(name, arguments))
    if os.environ.get("PEER_ASKS") != "no":
        await log.step("greet", call("greet", {}))


async def _at_once(call: Callable[..., Awaitable[object]]) -> list[object]:
    answers: dict[int, object] = {}

    async def one(number: int, b: int) -> None:
        answers[number] = plain(await call("add", {"a": 1, "b": b}))

    async with anyio.create_task_group() as group:
        for number, b in enumerate((1, 1, 1, 2)):
            group.start_soon(one, number, b)
    return [answers[number] for number in sorted(answers)]

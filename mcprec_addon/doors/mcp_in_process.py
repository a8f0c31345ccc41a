"""Recorded stdio servers for the MCP SDK's client in this process: no program is started.

Where the client would start one, it gets what looks like a process to it. Messages become lines
and lines become messages as the installed SDK (1.x or 2.x) does it.
"""

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from mcprec_addon.doors.mailbox import Mailbox
from mcprec_addon.record.lines import LineSplitter
from mcprec_addon.replay.line_responder import LineResponder

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractContextManager

    from mcp.shared.message import SessionMessage


class PlayedLines:
    """One client's conversation with a recorded server.

    Attributes:
        said: What the server says, whole lines.
        is_over: The server has exited, or the client has left.
    """

    def __init__(self, responder: LineResponder, lock: "AbstractContextManager[object]") -> None:
        self._responder = responder
        self._lock = lock
        self._splitter = LineSplitter()
        self.said = Mailbox()
        self.is_over = False
        with lock:
            responder.stream.open(self.said.put, lambda: None)

    def hear(self, data: bytes) -> None:
        """Take bytes from the client, and answer each line that they end."""
        for line in self._splitter.feed(data):
            if not self.is_over:
                self._answer(line)

    def _answer(self, line: bytes) -> None:
        with self._lock:
            reply = self._responder.respond(line)
            for piece in reply.lines:
                self.said.put(piece.data + b"\n")
            for step in reply.sent:
                step()
            for stream in reply.streams:
                stream.open(self.said.put, lambda: None)
        if reply.ends:
            self.end()

    def end(self) -> None:
        """End it: the server exits behind what it has said."""
        if not self.is_over:
            self.is_over = True
            with self._lock:
                self._responder.gone()
            self.said.close()


class PlayedProcess:
    """What stands for the process of a recorded server, to the MCP SDK's stdio client.

    Attributes:
        stdin: Takes what the client writes.
        stdout: Gives what the server says.
        stderr: Nothing.
        pid: No process has it.
    """

    stderr = None
    pid = 0

    def __init__(self, lines: PlayedLines) -> None:
        self._lines = lines
        self.stdin = _Stdin(lines)
        self.stdout = _Stdout(lines)

    @property
    def returncode(self) -> int | None:
        """0 once the server has exited."""
        return 0 if self._lines.is_over else None

    async def wait(self) -> int:
        """End the server, and return its status."""
        self._lines.end()
        return 0

    async def aclose(self) -> None:
        """End the server."""
        self._lines.end()

    def terminate(self) -> None:
        """End the server."""
        self._lines.end()

    kill = terminate

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._lines.end()


class _Stdin:
    def __init__(self, lines: PlayedLines) -> None:
        self._lines = lines

    async def send(self, data: bytes) -> None:
        import anyio  # noqa: PLC0415 - it comes with the SDK

        if self._lines.is_over:
            raise anyio.BrokenResourceError
        self._lines.hear(data)
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        self._lines.end()


class _Stdout:
    def __init__(self, lines: PlayedLines) -> None:
        self._lines = lines

    async def receive(self, max_bytes: int = 65536) -> bytes:  # noqa: ARG002 - anyio's signature
        import anyio  # noqa: PLC0415 - it comes with the SDK

        data = await self._lines.said.get_async(None)
        if data is None:
            self._lines.said.close()  # whoever asks again gets the same
            raise anyio.EndOfStream
        return data

    async def aclose(self) -> None:
        self._lines.end()


@asynccontextmanager
async def played_streams(lines: PlayedLines) -> "AsyncGenerator[tuple[Any, Any]]":
    """Yield the two streams of a transport: what the server says, and what the client does."""
    import anyio  # noqa: PLC0415 - it comes with the SDK

    to_client, read = anyio.create_memory_object_stream[Any](0)
    write, from_client = anyio.create_memory_object_stream[Any](0)

    async def say() -> None:
        async with to_client:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                while (line := await lines.said.get_async(None)) is not None:
                    await to_client.send(read_message(line))

    async def listen() -> None:
        async with from_client:
            async for message in from_client:
                lines.hear(write_message(message))

    async with read, write, anyio.create_task_group() as tasks:
        tasks.start_soon(say)
        tasks.start_soon(listen)
        try:
            yield read, write
        finally:
            lines.end()
            tasks.cancel_scope.cancel()


def read_message(line: bytes) -> "SessionMessage":
    """Return a line as the message that the installed MCP SDK makes of it."""
    from mcp import types  # noqa: PLC0415 - only where the SDK is
    from mcp.shared.message import SessionMessage  # noqa: PLC0415 - only where the SDK is

    adapter = getattr(types, "jsonrpc_message_adapter", None)
    if adapter is not None:
        return SessionMessage(adapter.validate_json(line, by_name=False))
    of_1x: Any = types.JSONRPCMessage
    return SessionMessage(of_1x.model_validate_json(line))


def write_message(message: "SessionMessage") -> bytes:
    """Return a message as the line that the installed MCP SDK makes of it."""
    from mcp import types  # noqa: PLC0415 - only where the SDK is

    is_2x = hasattr(types, "jsonrpc_message_adapter")
    text = message.message.model_dump_json(
        by_alias=True, exclude_unset=is_2x, exclude_none=not is_2x
    )
    return text.encode() + b"\n"

"""Where relays report to the recorder of a run, and pipes ask its player.

A socket in the run's private folder, which nobody else can enter.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcprec_addon.doors.recording import Recording
from mcprec_addon.doors.stdio_relay import (
    CLIENT,
    CLIENT_CLOSED,
    EXITED,
    HEAD_SIZE,
    SERVER,
    TOLD_TO_END,
    frame_head,
)
from mcprec_addon.record.summary import Died

if TYPE_CHECKING:
    from mcprec_addon.exchange import End

type Serve = Callable[
    [str, asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]
]
"""Speaks with one process: its server's label, and both directions."""

_CHUNK = 262144
_DRAIN_S = 2  # for servers that are still about to exit when the agent has ended


class RunSocket:
    """Listens for the processes that stand for an agent's stdio servers.

    Attributes:
        path: The socket.
        failures: What went wrong inside; the process it happened with was let go.
    """

    def __init__(self, folder: Path, serve: Serve) -> None:
        """Prepare.

        Args:
            folder: The run's private folder.
            serve: Speaks with one process, given its server's label.
        """
        self._serve = serve
        self.path = folder / "run"
        self._accepting: asyncio.Task[None] | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.failures: list[Exception] = []

    async def start(self) -> None:
        """Listen."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen()
        listener.settimeout(0)
        self._accepting = asyncio.create_task(self._accept(listener))

    async def stop(self) -> None:
        """Stop listening, once what is under way has been read."""
        if self._accepting is None:
            return
        self._accepting.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=_DRAIN_S)
        left = [self._accepting, *self._open]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _accept(self, listener: socket.socket) -> None:
        with listener:
            while True:
                connection, _ = await asyncio.get_running_loop().sock_accept(listener)
                task = asyncio.create_task(self._speak(connection))
                self._open.add(task)
                task.add_done_callback(self._open.discard)

    async def _speak(self, connection: socket.socket) -> None:
        with connection:
            try:
                label, ends = await _hello(connection)
                if ends:
                    await _lasting(connection, self._serve_ends(label, ends))
                else:
                    reader, writer = await asyncio.open_unix_connection(sock=connection)
                    with closing(writer):
                        await self._serve(label, reader, writer)
            except ConnectionError:
                pass  # a process that was killed on the way
            # A bug is told at the end of the run, as one at an HTTP door is.
            except Exception as error:  # noqa: BLE001
                self.failures.append(error)

    async def _serve_ends(self, label: str, ends: Sequence[int]) -> None:
        """Serve on the agent's own ends, which a pipe has handed over."""
        reading, writing = (
            os.fdopen(end, mode, 0) for end, mode in zip(ends, ("rb", "wb"), strict=True)
        )
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        source, _ = await loop.connect_read_pipe(lambda: protocol, reading)
        sink, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, writing)
        writer = asyncio.StreamWriter(sink, flow, reader, loop)
        with closing(source), closing(writer):
            await self._serve(label, reader, writer)


async def _hello(connection: socket.socket) -> tuple[str, list[int]]:
    """Return the label a process begins with, and the agent's ends where it hands them over."""
    connection.settimeout(0)
    await _readable(connection)
    head, ends, _, _ = socket.recv_fds(connection, HEAD_SIZE, 2)
    if len(head) < HEAD_SIZE:
        raise ConnectionResetError
    _, length = frame_head(head)
    label = await asyncio.get_running_loop().sock_recv(connection, length)
    return label.decode(), ends


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(connection, ready.set_result, None)
    try:
        await ready
    finally:
        loop.remove_reader(connection)


async def _lasting(connection: socket.socket, serving: Coroutine[None, None, None]) -> None:
    """Serve for as long as the process behind a connection lives."""
    served = asyncio.ensure_future(serving)
    gone = asyncio.ensure_future(_readable(connection))
    try:
        await asyncio.wait([served, gone], return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not served.done():
            served.cancel()
        await asyncio.gather(served, gone, return_exceptions=True)
    if not served.cancelled():
        served.result()


class Frames:
    """Cuts what a relay sends into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """Return kind and payload of each frame that `chunk` completes."""
        self._buffer += chunk
        found: list[tuple[bytes, bytes]] = []
        start = 0
        while len(self._buffer) - start >= HEAD_SIZE:
            kind, length = frame_head(bytes(self._buffer[start : start + HEAD_SIZE]))
            end = start + HEAD_SIZE + length
            if end > len(self._buffer):
                break
            found.append((kind, bytes(self._buffer[start + HEAD_SIZE : end])))
            start = end
        del self._buffer[:start]
        return found


def recording_lines(recording: Recording) -> Serve:
    """Return what feeds the conversations that relays show to a recording."""

    async def serve(label: str, reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        shown = _Shown(recording, label)
        frames = Frames()
        try:
            while chunk := await reader.read(_CHUNK):
                for kind, payload in frames.feed(chunk):
                    recording.guarded(partial(shown.take, kind, payload))
        except asyncio.CancelledError:
            shown.end = "stopped"
        finally:
            recording.guarded(shown.finish)

    return serve


class _Shown:
    """What one relay shows of the process behind it."""

    def __init__(self, recording: Recording, label: str) -> None:
        self._recording = recording
        self._label = label
        self._intake = recording.lines(label)
        self._is_closed = False
        self._died: Died | None = None
        self.end: End = "left"  # a relay that was killed: the agent gave up

    def take(self, kind: bytes, payload: bytes) -> None:
        """Take one frame."""
        at_ms = self._recording.now_ms()
        if kind == CLIENT:
            self._intake.feed("client", payload, at_ms)
        elif kind == SERVER:
            self._intake.feed("server", payload, at_ms)
        elif kind == CLIENT_CLOSED:
            self._is_closed = True
        elif kind == EXITED:
            status, told, last = payload.split(b" ", 2)
            by_agent = self._is_closed or told == TOLD_TO_END
            if not by_agent:
                self.end = "reset"
                self._died = Died(status=int(status), last=last.decode("utf-8", "replace"))

    def finish(self) -> None:
        """End what is still open."""
        self._recording.end_lines(self._label, self._intake, self.end, died=self._died)

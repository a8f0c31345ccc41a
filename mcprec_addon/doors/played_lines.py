"""Recorded servers on pipes: each process that stands for one is answered line by line."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcprec_addon.doors.paced import Paced
from mcprec_addon.doors.run_socket import Serve
from mcprec_addon.long_events import LongEvents
from mcprec_addon.record.lines import LineSplitter
from mcprec_addon.replay.line_responder import LineReply, LineResponder
from mcprec_addon.wire.http import Piece

_CHUNK = 262144


def replaying_lines(
    responder_for: Callable[[str], LineResponder | None], *, pace: float | None = None
) -> Serve:
    """Return what answers the lines that pipes bring.

    Args:
        responder_for: Makes the responder of one process from its server's label; None where
            the server is not replayed.
        pace: How many times faster than recorded lines are written; None: without waiting.
    """

    async def serve(label: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        responder = responder_for(label)
        if responder is not None:
            await _Played(responder, writer, pace).serve(reader)

    return serve


class _Played:
    """One process that stands for a recorded server."""

    def __init__(
        self, responder: LineResponder, writer: asyncio.StreamWriter, pace: float | None
    ) -> None:
        self._responder = responder
        self._writer = writer
        self._pace = pace
        self._paced: set[Paced] = set()
        self._long: set[asyncio.Future[None]] = set()
        self._ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Answer until the client closes its end, or a recorded answer ends the server."""
        splitter = LineSplitter()
        own = self._begin()
        self._responder.stream.open(own.send, lambda: None)
        reading = asyncio.ensure_future(reader.read(_CHUNK))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            while not self._ended.is_set():
                await asyncio.wait([reading, ended], return_when=asyncio.FIRST_COMPLETED)
                if self._ended.is_set() or not (chunk := await reading):
                    break
                for line in splitter.feed(chunk):
                    self._answer(line)
                await self._writer.drain()
                reading = asyncio.ensure_future(reader.read(_CHUNK))
            await self._finish()
        finally:
            for each in self._paced:
                each.stop()
            under_way: list[asyncio.Future[Any]] = [reading, ended, *self._long]
            for task in under_way:
                task.cancel()
            self._responder.gone()

    def _begin(self) -> Paced:
        paced = Paced(self._writer.write, pace=self._pace)
        self._paced.add(paced)
        return paced

    def _answer(self, line: bytes) -> None:
        if self._ended.is_set():
            return
        reply = self._responder.respond(line)
        paced = self._begin()
        if isinstance(reply.lines, LongEvents):
            task = asyncio.ensure_future(self._send_long(reply, reply.lines, paced))
            self._long.add(task)
            task.add_done_callback(self._long.discard)
            return
        for piece in reply.lines:
            paced.send(piece.data + b"\n", piece.at_ms)
        self._end(reply, paced)

    async def _send_long(self, reply: LineReply, lines: LongEvents[Piece], paced: Paced) -> None:
        """Send line by line as they are due and read, so that few wait here."""
        loop = asyncio.get_running_loop()
        for piece in lines:
            paced.send(piece.data + b"\n", piece.at_ms)
            await asyncio.sleep(max(0, paced.due - loop.time()))
            await self._writer.drain()
        self._end(reply, paced)

    def _end(self, reply: LineReply, paced: Paced) -> None:
        for step in reply.sent:
            paced.then(step)
        for stream in reply.streams:
            stream.open(paced.send, lambda: None)
        if reply.ends:
            paced.then(self._ended.set)
        if not reply.streams:
            paced.then(lambda: self._paced.discard(paced))

    async def _finish(self) -> None:
        """Write what is still to be written, as a server does whose stdin has ended."""
        loop = asyncio.get_running_loop()
        await asyncio.gather(*self._long)
        while not self._ended.is_set() and (late := [each.due for each in self._paced]):
            if max(late) <= loop.time():
                break
            await asyncio.sleep(max(late) - loop.time())
        await self._writer.drain()

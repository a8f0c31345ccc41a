"""A child of one of several runs: a process group of its own, output by lines, a last moment.

It has no terminal: its stdin is empty unless it is the only one and something is piped in.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO

from mcprec_addon.errors import UsageError

TIMED_OUT = 124
"""The status of a child whose time was over, as coreutils' timeout has it."""

_GRACE_S = 2.0  # between asking a group to end and ending it
_DRAIN_S = 2.0  # for output behind the end: what left the group may hold the pipe for ever
_PIECE = 64 * 1024


class GroupChild:
    """One child; whatever it started ends with it.

    Attributes:
        was_stopped: A stop was asked of us and passed on.
        timed_out: It was ended because its time was over.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        name: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Prepare.

        Args:
            command: What to start.
            environment: All of its environment.
            name: Stands before each line of its output; None: the output goes past us.
            timeout_s: How long it may take; None: for ever.
        """
        self._command = list(command)
        self._environment = dict(environment)
        self._name = name
        self._timeout_s = timeout_s
        self._process: Process | None = None
        self._asked: int | None = None
        self._stopping: asyncio.Task[None] | None = None
        self.was_stopped = False
        self.timed_out = False

    async def run(self) -> int:
        """Start the child and wait for it.

        Returns:
            Its exit status, 128 + n where signal n ended it, 124 where its time was over.

        Raises:
            UsageError: It cannot be started.
        """
        if self._asked is not None:
            return 128 + self._asked  # before it had begun
        process = await self._start()
        self._process = process
        self._end_if_asked()
        outputs = [
            asyncio.create_task(self._pass_on(reader, to))
            for reader, to in (
                (process.stdout, sys.stdout.buffer),
                (process.stderr, sys.stderr.buffer),
            )
            if reader is not None
        ]
        try:
            return await self._wait(process)
        finally:
            self._signal(signal.SIGKILL)  # what the child left behind in its group
            if outputs:
                _, late = await asyncio.wait(outputs, timeout=_DRAIN_S)
                for task in late:
                    task.cancel()

    async def _start(self) -> Process:
        output = None if self._name is None else PIPE
        has_input = self._name is None and not sys.stdin.isatty()
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                env=self._environment,
                stdin=None if has_input else DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            message = f"{self._command[0]}: cannot be started, {error.strerror}"
            raise UsageError(message) from error

    async def _wait(self, process: Process) -> int:
        try:
            status = await asyncio.wait_for(process.wait(), self._timeout_s)
        except TimeoutError:
            self.timed_out = True
            await self._end()
            return TIMED_OUT
        return status if status >= 0 else 128 - status

    def stop(self, number: int) -> None:
        """Pass a stop on to the group; a second one, or a while, ends it."""
        if self._process is not None and self._process.returncode is not None:
            return
        is_again = self.was_stopped
        self.was_stopped = True
        self._asked = number
        if self._process is not None:
            self._end_soon(signal.SIGKILL if is_again else number)

    def _end_if_asked(self) -> None:
        if self._asked is not None:
            self._end_soon(self._asked)

    def _end_soon(self, number: int) -> None:
        self._signal(number)
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_task(self._end_later())

    async def _end(self) -> None:
        self._signal(signal.SIGTERM)
        await self._end_later()

    async def _end_later(self) -> None:
        if self._process is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _GRACE_S)
            return
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def _signal(self, number: int) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _pass_on(self, reader: asyncio.StreamReader, to: BinaryIO) -> None:
        head, left = f"{self._name} | ".encode(), b""
        while piece := await reader.read(_PIECE):
            *lines, left = (left + piece).split(b"\n")
            if len(left) > _PIECE:
                lines, left = [*lines, left], b""
            _write(to, b"".join(head + line + b"\n" for line in lines))
        _write(to, head + left + b"\n" if left else b"")


def _write(to: BinaryIO, data: bytes) -> None:
    if data:
        to.write(data)
        to.flush()

"""Blocks of code in this process that a cassette answers, however their clients were made."""

import os
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Unpack, cast

from mcprec_addon.doors import patches
from mcprec_addon.doors.cassette_in_use import Cassette
from mcprec_addon.doors.cassette_options import CassetteOptions
from mcprec_addon.doors.child import dummies
from mcprec_addon.errors import McprecError
from mcprec_addon.redact.sources import source_variables

if TYPE_CHECKING:
    from types import TracebackType


class use_cassette:  # noqa: N801 - it is called as a function is
    """Have a cassette answer every httpx and httpx2 client, and every MCP client, in a block.

    A context manager, sync or async, and a decorator of functions of either kind, whose every call
    is a block then. Clients may be older than the block. What has no recorded answer gets an
    error, as in ``mcprec replay``, and the end of the block raises `CassetteMiss`. Credential
    variables that are not set hold a stand-in meanwhile, for clients that ask for a key.
    """

    def __init__(self, path: str | os.PathLike[str], **options: Unpack[CassetteOptions]) -> None:
        """Prepare; nothing is read before the block begins.

        Args:
            path: The cassette's file.
            options: How it is used.
        """
        self._path = path
        self._options = options
        self._open: list[Cassette] = []

    def __enter__(self) -> Cassette:
        """Read the cassette, and begin to answer.

        Raises:
            McprecError: It cannot be read, or not be replayed so.
        """
        cassette = Cassette.load(self._path, **self._options)
        begin(cassette)
        self._open.append(cassette)
        return cassette

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        """End the block.

        Raises:
            CassetteMiss: Something was asked that is not recorded. Where the block ends with an
                error of its own, that one goes on, with the misses as a note.
            CassetteUnused: Something was never used, and all of it had to be.
        """
        cassette = self._open.pop()
        end(cassette)
        if error is None:
            cassette.check()
        elif isinstance(error, Exception):
            note_misses(cassette, error)

    async def __aenter__(self) -> Cassette:
        """As `__enter__`."""
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        """As `__exit__`."""
        self.__exit__(kind, error, traceback)

    def __call__[**P, R](self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function whose every call is a block."""
        if iscoroutinefunction(function):

            @wraps(function)
            async def in_block(*args: P.args, **options: P.kwargs) -> object:
                async with use_cassette(self._path, **self._options):
                    return await cast("Callable[P, Coroutine[object, object, R]]", function)(
                        *args, **options
                    )

            return cast("Callable[P, R]", in_block)

        @wraps(function)
        def in_block_too(*args: P.args, **options: P.kwargs) -> R:
            with use_cassette(self._path, **self._options):
                return function(*args, **options)

        return in_block_too


def begin(cassette: Cassette) -> None:
    """Have a cassette answer from here on, in this context."""
    sources = source_variables(cassette.header.redaction)
    kept = {name for name, value in os.environ.items() if value}
    patches.enter(cassette, variables=dummies({}, sources=sources, keep=kept))


def end(cassette: Cassette) -> None:
    """Have a cassette answer no more."""
    patches.leave(cassette)


def note_misses(cassette: Cassette, error: Exception) -> None:
    """Add what a cassette lacked to an error that may have come of it."""
    try:
        cassette.check()
    except McprecError as lacked:
        if str(lacked) not in str(error):
            error.add_note(str(lacked))

"""Where clients are caught while a cassette is in use in this process, and let go behind it.

A block belongs to the context it was opened in and to all that is started from there: tasks, and
threads that take the context along. Who comes from elsewhere gets the only block that is open;
where several are, it is refused, for it may never go live by chance.
"""

import http.client
import importlib
import importlib.abc
import importlib.util
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

from mcprec_addon.errors import LiveTrafficError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from mcprec_addon.doors.transport import Request, Response

_REFUSED = (
    "{client} is not answered in process, httpx and httpx2 are; run this code under "
    "mcprec replay FILE -- CMD, or name the host in allow="
)
_SEVERAL = (
    "several cassettes are in use, and this was asked from outside of their blocks; start the "
    "thread or task inside one, with its context (contextvars.copy_context().run)"
)


class Block(Protocol):
    """A cassette in use, from the beginning of its block to the end."""

    def allows(self, host: str, port: int | None) -> bool:
        """Whether a host may be reached live."""
        ...

    def handle(self, request: "Request", live: "Callable[[Request], Response]") -> "Response":
        """Answer a request of a sync client, which `live` would send."""
        ...

    async def handle_async(
        self, request: "Request", live: "Callable[[Request], Awaitable[Response]]"
    ) -> "Response":
        """Answer a request of an async client, which `live` would send."""
        ...

    def start(self, command: Sequence[str]) -> object:
        """Return what stands for the process of a stdio server."""
        ...

    def turn_away(self, host: str) -> None:
        """Take note of a request that was refused here."""
        ...


_blocks: list[Block] = []
_lock = threading.RLock()
_undo: list[Callable[[], None]] = []
_current: ContextVar[tuple[Block, ...]] = ContextVar("mcprec_blocks", default=())


def enter(block: Block, *, variables: Mapping[str, str]) -> None:
    """Open a block; the first one that opens has the clients caught.

    Args:
        block: What answers.
        variables: What the environment holds until the last block has closed.
    """
    with _lock:
        if not _blocks:
            _patch()
        for name, value in variables.items():
            _set_variable(name, value)
        _blocks.append(block)
    _current.set((*_current.get(), block))


def leave(block: Block) -> None:
    """Close a block; the last one that closes lets the clients go."""
    with _lock:
        _blocks.remove(block)
        if not _blocks:
            while _undo:
                _undo.pop()()
    _current.set(tuple(each for each in _current.get() if each is not block))


def current() -> Block | None:
    """Return the block that a caller is in, or None where there is none.

    Raises:
        LookupError: It is in none, and several are open.
    """
    with _lock:
        own = next((each for each in reversed(_current.get()) if each in _blocks), None)
        if own is not None or not _blocks:
            return own
        if len(_blocks) > 1:
            raise LookupError
        return _blocks[0]


def block_for(host: str, port: int | None) -> Block | None:
    """Return the block that a request belongs to; None where it may go live.

    Raises:
        LiveTrafficError: There are several that it may belong to.
    """
    try:
        block = current()
    except LookupError as error:
        raise LiveTrafficError(host, _SEVERAL) from error
    return None if block is None or block.allows(host, port) else block


def _patch() -> None:
    for name in ("httpx", "httpx2"):
        if importlib.util.find_spec(name) is not None:
            _catch_clients(importlib.import_module(name))
    _replace(http.client.HTTPConnection, "putrequest", _refuse_by("http.client"))
    # It connects before it comes to http.client; requests and botocore are on top of it.
    _behind_import("urllib3.connectionpool", _refuse_pools)
    _behind_import("aiohttp", _refuse_sessions)
    _behind_import("mcp.client.stdio", _catch_processes)


def _behind_import(name: str, step: "Callable[[ModuleType], None]") -> None:
    """Take a step with a module, now or when it is imported."""
    if name in sys.modules:
        step(sys.modules[name])
        return
    finder = _Watch(name, step)
    sys.meta_path.insert(0, finder)
    _undo.append(lambda: sys.meta_path.remove(finder))


def _catch_clients(library: "ModuleType") -> None:
    _replace(library.HTTPTransport, "handle_request", _handle)
    _replace(library.AsyncHTTPTransport, "handle_async_request", _handle_async)


def _catch_processes(module: "ModuleType") -> None:
    """Stand where the SDK's stdio client starts a program: it is looked up there on each start."""
    _replace(module, "_create_platform_compatible_process", _start)


def _refuse_pools(module: "ModuleType") -> None:
    _replace(module.HTTPConnectionPool, "urlopen", _refuse_by("urllib3"))


def _refuse_sessions(library: "ModuleType") -> None:
    _replace(library.ClientSession, "_request", _refuse_session)


def _replace(
    owner: "type | ModuleType", name: str, by: "Callable[[Callable[..., Any]], object]"
) -> None:
    original = getattr(owner, name)
    setattr(owner, name, by(original))
    _undo.append(lambda: setattr(owner, name, original))


def _set_variable(name: str, value: str) -> None:
    before = os.environ.get(name)
    os.environ[name] = value

    def undo() -> None:
        if os.environ.get(name) != value:  # it is somebody else's by now
            return
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before

    _undo.append(undo)


def _handle(original: "Callable[..., Response]") -> "Callable[..., Response]":
    @wraps(original)
    def handle_request(self: object, request: "Request") -> "Response":
        block = block_for(request.url.host, request.url.port)
        if block is None:
            return original(self, request)
        return block.handle(request, lambda asked: original(self, asked))

    return handle_request


def _handle_async(
    original: "Callable[..., Awaitable[Response]]",
) -> "Callable[..., Awaitable[Response]]":
    @wraps(original)
    async def handle_async_request(self: object, request: "Request") -> "Response":
        block = block_for(request.url.host, request.url.port)
        if block is None:
            return await original(self, request)
        return await block.handle_async(request, lambda asked: original(self, asked))

    return handle_async_request


def _start(original: Callable[..., Awaitable[object]]) -> Callable[..., object]:
    @wraps(original)
    async def start(command: str, args: Sequence[str], *more: object, **options: object) -> object:
        try:
            block = current()
        except LookupError as error:
            raise LiveTrafficError(command, _SEVERAL) from error
        if block is None:
            return await original(command, args, *more, **options)
        return block.start((command, *args))

    return start


class _Addressed(Protocol):
    """A connection or a pool of them."""

    host: str
    port: int | None


def _refuse_by(client: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Return what refuses the requests of a client, unless their host is allowed."""

    def refuse(original: Callable[..., object]) -> Callable[..., object]:
        @wraps(original)
        def ask(self: _Addressed, *args: object, **options: object) -> object:
            block = block_for(self.host, self.port)
            if block is not None:
                block.turn_away(self.host)
                raise LiveTrafficError(self.host, _REFUSED.format(client=client))
            return original(self, *args, **options)

        return ask

    return refuse


def _refuse_session(original: Callable[..., Awaitable[object]]) -> Callable[..., object]:
    @wraps(original)
    async def request(self: object, method: str, url: object, **options: object) -> object:
        host, port = _address(str(url))
        block = block_for(host, port)
        if block is not None:
            block.turn_away(host)
            raise LiveTrafficError(host, _REFUSED.format(client="aiohttp"))
        return await original(self, method, url, **options)

    return request


def _address(url: str) -> tuple[str, int | None]:
    from urllib.parse import urlsplit  # noqa: PLC0415 - only where it is refused

    parts = urlsplit(url)
    return parts.hostname or url, parts.port


class _Watch(importlib.abc.MetaPathFinder):
    """Takes a step behind the import of a package that comes while a block is open."""

    def __init__(self, name: str, step: "Callable[[ModuleType], None]") -> None:
        self._name = name
        self._step = step
        self._searching = False

    def find_spec(self, fullname: str, path: object, target: object = None) -> "ModuleSpec | None":  # noqa: ARG002 - Python's signature
        """Return the package's own spec, its loader followed by the step."""
        if fullname != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return None
        load, step = spec.loader.exec_module, self._step

        def exec_module(module: "ModuleType") -> None:
            load(module)
            step(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign] # this spec is ours alone
        return spec

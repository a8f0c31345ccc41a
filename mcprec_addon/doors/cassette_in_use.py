"""A cassette in use in this process: what it answers, what was asked of it, and what it lacked."""

import inspect
import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from mcprec_addon.doors.cassette_file import load_cassette, put_cassette
from mcprec_addon.doors.cassette_options import CassetteOptions, play_options, setting_list
from mcprec_addon.doors.mcp_in_process import PlayedLines, PlayedProcess, played_streams
from mcprec_addon.doors.settings_file import SETTINGS, read_settings
from mcprec_addon.doors.transport import Core, RecordedTransport, answer, answer_async, library_of
from mcprec_addon.errors import CassetteMiss, CassetteUnused, LiveTrafficError, UsageError
from mcprec_addon.exchange import Cassette as Recorded
from mcprec_addon.exchange import Exchange, Half, Header, McpCall, ModelCall
from mcprec_addon.options import declared_servers
from mcprec_addon.redact.sources import held
from mcprec_addon.replay.faults import check_faults
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.staging import (
    check_rules,
    check_secrets,
    lines_of,
    present_halves,
    recorded_labels,
    stage,
)
from mcprec_addon.wire.titles import call_title

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import FrameType

    import httpx
    import respx

    from mcprec_addon.doors.transport import Request, Response


@dataclass(frozen=True, slots=True)
class Missed:
    """A call that had no recorded answer.

    Attributes:
        miss: What is known of it.
        text: It in full, as ``mcprec replay`` prints it, with the line that asked.
        where: File, line and function of the caller's code that asked, or None where the call
            was made by a task of a library.
    """

    miss: Miss
    text: str
    where: str | None

    @property
    def title(self) -> str:
        """The call in a few words."""
        return self.miss.title

    @property
    def half(self) -> Half:
        """The half it was asked of."""
        return self.miss.call.half


class Cassette:
    """A cassette that answers in this process.

    Attributes:
        path: Its file, as the caller named it.
        misses: Calls that had no recorded answer, in order.
        model_requests: Model calls that came in, in order.
        record_command: The command that a miss tells to record anew with.
        tell: Told of each miss while the call that missed still waits.
    """

    def __init__(self, path: Path, recorded: Recorded, **options: Unpack[CassetteOptions]) -> None:
        """Prepare a recording to answer; `load` reads it from its file.

        Raises:
            McprecError: It cannot be replayed so: a half is not in it, an option is wrong, its
                redaction rules are others.
        """
        self.path = path
        self.record_command = f"mcprec record --out {path} --force -- CMD"
        self.tell: Callable[[Missed], None] = lambda _: None
        self.misses: list[Missed] = []
        self.model_requests: list[ModelCall] = []
        self._recorded = recorded
        self._calls: list[McpCall] = []
        self._routers: list[respx.MockRouter] = []
        settings = read_settings(Path.cwd(), known=SETTINGS)
        play = play_options(settings, options)
        asked = options.get("half")
        halves = present_halves(recorded, frozenset({asked} if asked else ()), path=path)
        check_rules(play.own_rules, recorded, path=path)
        check_secrets(play.secrets, recorded, option="secrets")
        check_faults(play.faults, recorded, halves=halves, option="faults")
        self._allow = frozenset((*options.get("allow", ()), *setting_list(settings, "allow")))
        self._halves = halves
        self._strict, self._all_used = play.strict, options.get("all_used", False)
        self._player, self._responder = stage(
            recorded, play, halves=halves, known=held(os.environ), on_miss=self._missed
        )
        addresses, self._commands = declared_servers(
            {**settings.servers, **options.get("servers", {})}
        )
        self._responder.know({url: label for label, url in addresses.items()})
        self._responder.on_answer = lambda call, _answer, _era: self._calls.append(call)
        self._responder.on_model = self.model_requests.append
        self._core = Core(self._responder.respond)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Unpack[CassetteOptions]) -> Self:
        """Return the cassette in a file, ready to answer.

        Args:
            path: The file.
            options: How it is used.

        Raises:
            McprecError: It cannot be read, or not be replayed so.
        """
        file = Path(path)
        return cls(file, load_cassette(file), **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording to a file, in one step; one that is there is replaced.

        Raises:
            McprecError: It cannot be written.
        """
        put_cassette(Path(path), self._recorded)

    @property
    def header(self) -> Header:
        """What the recording says of itself."""
        return self._recorded.header

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All recorded exchanges, the MCP half first."""
        return self._recorded.exchanges

    @property
    def unused(self) -> list[Exchange]:
        """The recorded exchanges that were not handed out, by seq."""
        return self._player.unused()

    @property
    def used(self) -> int:
        """How many recorded exchanges were handed out at least once."""
        return sum(self._player.tally.used.values())

    @property
    def refused(self) -> Counter[str]:
        """Requests that belong to no replayed half, by host."""
        return self._responder.turned.refused

    def calls(
        self, server: str | None = None, name: str | None = None, *, method: str = "tools/call"
    ) -> list[McpCall]:
        """Return the MCP calls that came in, in order, also those that missed.

        Args:
            server: Label of the server; None for all of them.
            name: Name of the tool or prompt, or URI of the resource; None for all of them.
            method: The JSON-RPC method.
        """
        return [
            call
            for call in self._calls
            if call.method == method and server in (None, call.server) and name in (None, call.name)
        ]

    def transport(self) -> Any:  # noqa: ANN401 - a BaseTransport of httpx and of httpx2 at once
        """Return a transport for a sync client of httpx or httpx2."""
        return RecordedTransport(self._core)

    def async_transport(self) -> Any:  # noqa: ANN401 - an AsyncBaseTransport of both, likewise
        """Return a transport for an async client of httpx or httpx2."""
        return RecordedTransport(self._core)

    def mcp_transport(self, label: str) -> Any:  # noqa: ANN401 - a transport of the MCP SDK
        """Return a transport for the MCP SDK's client: ``Client(cassette.mcp_transport("files"))``.

        Any recorded server can be had so, whichever transport it was recorded on.

        Args:
            label: The server's label in the cassette.

        Raises:
            UsageError: The cassette has no such server.
        """
        return played_streams(self._lines(label))

    def mount(self, router: "respx.MockRouter") -> None:
        """Have the cassette answer what no route of a respx router does.

        It is a route of its own, which counts as one for ``assert_all_called``. respx reaches
        clients of httpx alone.

        Args:
            router: The router; other routes may come before and after.
        """
        own = router.route()

        def from_cassette(request: "httpx.Request") -> "httpx.Response | None":
            others = (route.pattern for route in router.routes if route is not own)
            if any(pattern.match(request) for pattern in others):
                return None  # the next route is asked
            return cast("httpx.Response", answer(self._core, request))

        own.mock(side_effect=from_cassette)
        self._routers.append(router)

    def check(self) -> None:
        """Check that everything had its answer, as the end of a block does.

        Raises:
            CassetteMiss: Something was asked that is not recorded.
            CassetteUnused: Something was never used, and all of it had to be.
        """
        texts = [each.text for each in self.misses]
        if self._strict:
            texts += [f"refused: {host}, {times} times" for host, times in self.refused.items()]
        if texts:
            raise CassetteMiss(str(self.path), texts)
        if self._all_used and self.unused:
            lines = [f"  #{each.seq} {call_title(each.call)}" for each in self.unused]
            raise CassetteUnused(str(self.path), lines)

    def allows(self, host: str, port: int | None) -> bool:
        """Whether a host may be reached live."""
        return host in self._allow or f"{host}:{port}" in self._allow

    def handle(self, request: "Request", live: "Callable[[Request], Response]") -> "Response":
        """Answer a request of a sync client, which `live` would send."""
        if self._is_routed(request):
            return live(request)
        return answer(self._core, request)

    async def handle_async(
        self, request: "Request", live: "Callable[[Request], Awaitable[Response]]"
    ) -> "Response":
        """Answer a request of an async client, which `live` would send."""
        if self._is_routed(request):
            return await live(request)
        return await answer_async(self._core, request)

    def start(self, command: Sequence[str]) -> PlayedProcess:
        """Return what stands for the process of a stdio server.

        Raises:
            UsageError: It cannot be told which recorded server that is.
        """
        return PlayedProcess(self._lines(self._label_of(tuple(command))))

    def turn_away(self, host: str) -> None:
        """Take note of a request that was refused before it came here."""
        self.refused[host] += 1

    def _lines(self, label: str) -> PlayedLines:
        known = recorded_labels(self._recorded)
        if label not in known:
            message = f"{self.path}: no server {label!r}; it has {', '.join(known) or 'none'}"
            raise UsageError(message)
        made = lines_of(self._player, self._responder, halves=self._halves, on_miss=self._missed)(
            label
        )
        if made is None:
            raise LiveTrafficError(label, "the mcp half is not replayed and nothing goes live")
        return PlayedLines(made, self._core.lock)

    def _label_of(self, command: tuple[str, ...]) -> str:
        """Return the label of the recorded server that a command would start."""
        told = [label for label, each in self._commands.items() if each == command]
        servers = self._recorded.header.servers
        stdio = [label for label, each in servers.items() if each.transport == "stdio"]
        program = PurePath(command[0]).name
        named = [label for label in stdio if servers[label].command == program]
        for labels in (told, named, stdio, recorded_labels(self._recorded)):
            if len(labels) == 1:
                return labels[0]
        line, some = shlex.join(command), named or stdio or ["NAME"]
        message = (
            f"{self.path}: {line} may be any of {', '.join(some)}; "
            f"say which: servers={{{some[0]!r}: {line!r}}}"
        )
        raise UsageError(message)

    def _is_routed(self, request: "Request") -> bool:
        """Whether a running router, in which this cassette is mounted, takes a request."""
        if not self._routers or library_of(request).__name__ != "httpx":
            return False
        mockers = (router.Mocker for router in self._routers)
        return any(
            mocker is not None and router in mocker.routers
            for mocker, router in zip(mockers, self._routers, strict=True)
        )

    def _missed(self, miss: Miss) -> None:
        where = _caller(inspect.currentframe())
        text = miss.text(record_command=self.record_command)
        if where is not None:
            title, _, rest = text.partition("\n")
            text = f"{title}\n  at:      {where}\n{rest}"
        missed = Missed(miss, text, where)
        self.misses.append(missed)
        self.tell(missed)


def _caller(frame: "FrameType | None") -> str | None:
    """Return where the code is that called, past libraries and ourselves.

    A task of a library has no caller: what started the event loop did not ask.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_ASYNCIO) or _TRIO in file:
            return None
        if not (file.startswith(_NOT_A_CALLERS) or "site-packages" in file):
            name = os.path.relpath(file) if Path(file).is_relative_to(Path.cwd()) else file
            return f"{name}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return None


_OURS = Path(__file__).parent.parent
_STANDARD = Path(os.__file__).parent
_NOT_A_CALLERS = ("<", str(_OURS), str(_STANDARD))
_ASYNCIO = str(_STANDARD / "asyncio")
_TRIO = str(Path("trio", "_core"))

"""Which recorded calls changed their server's state, and which answers a run's own changes leave.

A tool's annotations in a recorded list of tools decide. Where they are silent, a tool is a
reader if a call of it was recorded twice in the same words, or if its name begins with a word
for reading; any other is a writer. A call that failed changed nothing.
"""

import re
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence

from mcprec_addon.exchange import Exchange, Json, McpCall
from mcprec_addon.replay.filed import Filed
from mcprec_addon.wire.mcp import writes_state

_READING = frozenset(
    {"count", "describe", "fetch", "find", "get", "list", "lookup", "query", "read", "search",
     "show", "stat", "view"}
)  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

type Tool = tuple[str, str | None]
"""Label of the server, name of the tool."""


class Writes:
    """The recorded writes of each server, and the latest of them that a run has hit."""

    def __init__(self, recorded: Sequence[Exchange]) -> None:
        """Begin a run.

        Args:
            recorded: All exchanges, to read lists of tools and names from.
        """
        self._told: dict[Tool, bool] = {}
        for exchange in recorded:
            if isinstance(exchange.call, McpCall) and exchange.call.method == "tools/list":
                says = writes_state(exchange.answer.value)
                self._told |= {(exchange.call.server, name): told for name, told in says.items()}
        self._asked_twice: set[Tool] = set()
        self._places: dict[str, list[int]] = defaultdict(list)
        self._latest: dict[str, int] = {}

    def file(self, shelves: Iterable[Sequence[Filed]]) -> None:
        """Take the recorded answers, those to one call together."""
        groups = [items for items in shelves if _tool(items[0]) is not None]
        twice = (_tool(items[0]) for items in groups if len(items) > 1)
        self._asked_twice = {tool for tool in twice if tool is not None}
        for items in groups:
            for each in items:
                if self.is_write(each):
                    insort(self._places[_server(each)], each.place)

    def is_write(self, each: Filed) -> bool:
        """Whether a recorded call changed the state of its server."""
        tool = _tool(each)
        return tool is not None and self.is_writer(tool) and not _failed(each.exchange)

    def is_writer(self, tool: Tool) -> bool:
        """Whether the calls of a tool change the state of its server."""
        told = self._told.get(tool)
        return self._seems_writer(tool) if told is None else told

    def _seems_writer(self, tool: Tool) -> bool:
        server, name = tool
        words = [word.lower() for word in _WORD.findall(name or "")]
        prefix = {word.lower() for word in _WORD.findall(server)}
        while len(words) > 1 and words[0] in prefix:
            del words[0]
        reads = bool(words) and words[0] in _READING
        return not reads and tool not in self._asked_twice

    def hit(self, each: Filed) -> None:
        """Take note that a recorded answer was handed out."""
        if self.is_write(each):
            server = _server(each)
            self._latest[server] = max(each.place, self._latest.get(server, -1))

    def choose(self, order: Sequence[Filed]) -> Filed:
        """Return the answer that holds after the latest write which this run has hit.

        Of several without a write between them, the first that was not handed out, else the
        last. Where none was recorded after that write, the last one before it. A write has no
        state to wait for: its answers come in recorded order.

        Args:
            order: The answers to one call, in recorded order; at least one.
        """
        if self.is_write(order[0]):
            return next((each for each in order if not each.used), order[-1])
        server = _server(order[0])
        start = bisect_right(order, self._latest.get(server, -1), key=lambda each: each.place)
        if start == len(order):
            return order[-1]
        places = self._places.get(server, [])
        after = bisect_right(places, order[start].place)
        end = places[after] if after < len(places) else order[-1].place + 1
        span = [each for each in order[start:] if each.place < end]
        return next((each for each in span if not each.used), span[-1])

    def is_older(self, each: Filed) -> bool:
        """Whether what a call read was recorded before the latest write that this run has hit."""
        is_read = _tool(each) is not None and not self.is_write(each)
        return is_read and each.place < self._latest.get(_server(each), -1)


def _server(each: Filed) -> str:
    call = each.exchange.call
    return call.server if isinstance(call, McpCall) else ""


def _tool(each: Filed) -> Tool | None:
    call = each.exchange.call
    if not isinstance(call, McpCall) or call.method != "tools/call":
        return None
    return call.server, call.name


def _failed(exchange: Exchange) -> bool:
    value: Json = exchange.answer.value
    is_error = isinstance(value, dict) and value.get("isError") is True
    return exchange.answer.kind != "result" or is_error

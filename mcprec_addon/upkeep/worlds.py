"""Whether a recording's servers are still in the state in which an earlier recording had them."""

from mcprec_addon.exchange import Cassette, Exchange, McpCall
from mcprec_addon.wire.mcp import writes_state

_OF_A_WORLD = frozenset({"tools/call", "prompts/get", "resources/read"})


class Worlds:
    """The servers of one recording; one is another world once a tool of it may have changed it."""

    def __init__(self, cassette: Cassette) -> None:
        """Read off the lists of tools which of them only read."""
        self._changed: set[str] = set()
        self._reading = {
            (exchange.call.server, name)
            for exchange in cassette.exchanges
            if isinstance(exchange.call, McpCall) and exchange.call.method == "tools/list"
            for name, writes in writes_state(exchange.answer.value).items()
            if not writes
        }

    def is_as_before(self, exchange: Exchange) -> bool:
        """Whether the answer of a call says what it would have said in the earlier recording."""
        call = exchange.call
        if not isinstance(call, McpCall) or call.method not in _OF_A_WORLD:
            return True
        return call.server not in self._changed

    def take(self, exchange: Exchange) -> None:
        """Take a call that the earlier recording did not have."""
        call = exchange.call
        is_tool = isinstance(call, McpCall) and call.method == "tools/call"
        if isinstance(call, McpCall) and is_tool and (call.server, call.name) not in self._reading:
            self._changed.add(call.server)

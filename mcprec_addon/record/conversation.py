"""What one client has under way with one server, and which call a message belongs to.

In the classic era an answer need not come where its call went: over HTTP+SSE all of them come on
one stream, a cut stream goes on behind a GET of its own, and a server may ask on the listening
stream what it needs for a call. So calls wait here until their answers are whole.
"""

from typing import TYPE_CHECKING

from mcprec_addon.exchange import Json
from mcprec_addon.wire import mcp
from mcprec_addon.wire.http import Ending
from mcprec_addon.wire.jsonrpc import Response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcprec_addon.record.streams import StreamTap
    from mcprec_addon.record.taps import McpTap


class Conversation:
    """The open calls and streams of one session, or of all clients where there are no sessions.

    Attributes:
        label: The server's label.
        is_shared: All answers come on one stream: HTTP+SSE.
        is_of_one: There is one client, whose ids tell its calls apart.
        asked_for_oauth: The server asked its client to sign in.
    """

    def __init__(self, label: str, *, is_shared: bool = False, is_of_one: bool = False) -> None:
        self.label = label
        self.is_shared = is_shared
        self.is_of_one = is_of_one
        self.asked_for_oauth = False
        self._taps: list[McpTap] = []
        self._streams: list[StreamTap] = []

    def add(self, tap: "McpTap") -> None:
        """Take a tap whose calls wait."""
        self._taps.append(tap)

    def listen(self, stream: "StreamTap") -> None:
        """Take a stream that the client listens on."""
        self._streams.append(stream)

    def done(self, tap: "McpTap | StreamTap") -> None:
        """Let go of a tap that has nothing more to come."""
        self._taps = [each for each in self._taps if each is not tap]
        self._streams = [each for each in self._streams if each is not tap]

    def client_answered(self, response: Response) -> bool:
        """Take the client's answer to a question; return whether the server asked it."""
        every: list[McpTap | StreamTap] = [*self._taps, *self._streams]
        return any(each.client_answered(response.id, response.value) for each in every)

    def answered(self, response: Response, at_ms: int) -> bool:
        """Take an answer that came on another stream; return whether a call waits for it."""
        return any(tap.answered(response, at_ms) for tap in [*self._taps])

    def call_of(self, value: dict[str, Json]) -> "McpTap | None":
        """Return the tap of the call that a message on a listening stream belongs to, or None.

        A token names its call. A question belongs to the first call that waits; on a shared
        stream any other message does too, unless servers send its like unasked.
        """
        named = next((tap for tap in self._waiting() if tap.is_named(value)), None)
        if named is not None or mcp.is_unasked(value):
            return named
        is_asking = "id" in value
        return next(self._waiting(), None) if is_asking or self.is_shared else None

    def _waiting(self) -> "Iterator[McpTap]":
        """Return the taps that wait; those that may have been given up come last."""
        waiting = [tap for tap in self._taps if tap.waits]
        return iter(sorted(waiting, key=lambda tap: tap.is_cut))

    def resumed(self, event_id: str) -> "McpTap | StreamTap | None":
        """Return the tap whose stream goes on behind an event, or None."""
        every: list[McpTap | StreamTap] = [*self._taps, *self._streams]
        return next((each for each in every if event_id in each.event_ids), None)

    def cancelled(self, request_id: Json, at_ms: int) -> bool:
        """End a call that its client gave up; return whether it waits."""
        return any(tap.cancelled(request_id, at_ms) for tap in [*self._taps])

    def end(self, ending: Ending, at_ms: int) -> None:
        """End every call: the stream with their answers has ended."""
        for tap in [*self._taps]:
            tap.end(ending, at_ms)

    def close(self) -> None:
        """End what waits for a stream to go on: it never did."""
        every: list[McpTap | StreamTap] = [*self._taps, *self._streams]
        for each in every:
            each.give_up()

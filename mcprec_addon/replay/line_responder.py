"""Answers one line of a stdio conversation from the player.

A broken answer ends the server, as it did: on stdio there is no other way to break one.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from mcprec_addon.exchange import Cassette, McpAnswer, Message
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.player import Player
from mcprec_addon.wire import mcp
from mcprec_addon.wire.http import Piece
from mcprec_addon.wire.jsonrpc import (
    MISS_CODE,
    Request,
    error_bytes,
    is_batch,
    message_bytes,
    read_body,
)

_INTERNAL_ERROR = -32603


@dataclass(frozen=True, slots=True)
class LineReply:
    """What a stdio server says to one line.

    Attributes:
        lines: JSON-RPC messages in order, without line ends.
        ends: The server exits behind them.
    """

    lines: tuple[Piece, ...] = ()
    ends: bool = False


class LineResponder:
    """One recorded server on a pair of pipes."""

    def __init__(
        self,
        cassette: Cassette,
        player: Player,
        label: str,
        *,
        on_miss: Callable[[Miss], None] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            cassette: What is replayed.
            player: Finds the answers.
            label: The server's label in the cassette.
            on_miss: Told of each miss as it happens.
        """
        self._player = player
        self._label = label
        self._on_miss = on_miss
        self._sent: dict[int, list[Message]] = defaultdict(list)
        for message in cassette.messages:
            if message.on is not None and message.sender == "server":
                self._sent[message.on].append(message)

    def respond(self, line: bytes) -> LineReply:
        """Return what is said to a line; nothing to notifications, answers and noise."""
        asked = [each for each in read_body(line) or () if isinstance(each, Request)]
        replies = [self._answer(each) for each in asked]
        ends = any(each.ends for each in replies)
        lines = tuple(piece for each in replies for piece in each.lines)
        if lines and is_batch(line):
            joined = b"[" + b",".join(piece.data for piece in lines) + b"]"
            lines = (Piece(lines[-1].at_ms, joined),)
        return LineReply(lines, ends)

    def _answer(self, one: Request) -> LineReply:
        found = self._player.play(mcp.call_of(one, self._label), era=mcp.era_of(one, {}))
        caller = mcp.caller_of(one)
        if isinstance(found, Miss):
            self._on_miss(found)
            return LineReply((Piece(0, error_bytes(one.id, MISS_CODE, found.message())),))
        answer = found.answer
        if not isinstance(answer, McpAnswer):
            message = f"#{found.exchange.seq} is no MCP exchange"
            raise TypeError(message)
        if answer.kind == "body":
            text = f"recorded over HTTP: status {answer.status} and no JSON-RPC"
            return LineReply((Piece(0, error_bytes(one.id, _INTERNAL_ERROR, text)),))
        sent = self._messages_on(found.exchange.seq, caller)
        lines = (*sent, *mcp.messages_of(answer, caller))
        return LineReply(lines, ends=answer.end in ("cut", "reset"))

    def _messages_on(self, seq: int, caller: mcp.Caller) -> list[Piece]:
        live = [
            (message.at_ms or 0, mcp.notification_of(message, caller))
            for message in self._sent.pop(seq, ())
        ]
        return [Piece(at_ms, message_bytes(each)) for at_ms, each in live if each is not None]

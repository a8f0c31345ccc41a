"""Answers one line of a stdio conversation from the player.

A broken answer ends the server, as it did: on stdio there is no other way to break one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mcprec_addon.exchange import McpAnswer
from mcprec_addon.jsonvalue import canonical
from mcprec_addon.replay.advice import OnAnswer, missed_answer, unheard
from mcprec_addon.replay.faults import broken_lines, ends_server
from mcprec_addon.replay.feed import Feed, Stream
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.player import Player
from mcprec_addon.wire import mcp
from mcprec_addon.wire.http import Piece
from mcprec_addon.wire.jsonrpc import (
    MISS_CODE,
    Notification,
    Request,
    Response,
    error_bytes,
    is_batch,
    read_body,
)

_INTERNAL_ERROR = -32603
_ENDS = ("cut", "reset")


@dataclass(frozen=True, slots=True)
class LineReply:
    """What a stdio server says to one line.

    Attributes:
        lines: JSON-RPC messages in order, without line ends; `LongEvents` where very many.
        ends: The server exits behind them.
        sent: To be called once they are written, each once.
        streams: What else is fed from now on, on the same pipe.
    """

    lines: Sequence[Piece] = ()
    ends: bool = False
    sent: tuple[Callable[[], None], ...] = ()
    streams: tuple[Stream, ...] = ()


class LineResponder:
    """One recorded server on a pair of pipes.

    Attributes:
        stream: What the server sends on its own; to be opened by the door.
    """

    def __init__(
        self,
        player: Player,
        feed: Feed,
        label: str,
        *,
        on_miss: Callable[[Miss], None] = lambda _: None,
        on_answer: OnAnswer = unheard,
    ) -> None:
        """Prepare.

        Args:
            player: Finds the answers.
            feed: Hands out what the server sent on its own.
            label: The server's label in the cassette.
            on_miss: Told of each miss as it happens.
            on_answer: Told of each call and what it gets.
        """
        self._player = player
        self._feed = feed
        self._label = label
        self._on_miss = on_miss
        self._on_answer = on_answer
        self._listens: dict[bytes, Stream] = {}
        self.stream = feed.stream(label, encode=_line)

    def respond(self, line: bytes) -> LineReply:
        """Return what is said to a line; nothing to notifications, answers and noise."""
        messages = read_body(line) or ()
        for message in messages:
            if isinstance(message, Notification):
                self._cancelled(message)
            elif isinstance(message, Response):
                miss = self._player.client_answered(self._label, message)
                if miss is not None:
                    self._on_miss(miss)
        replies = [self._answer(each) for each in messages if isinstance(each, Request)]
        lines = (
            replies[0].lines
            if len(replies) == 1
            else tuple(piece for each in replies for piece in each.lines)
        )
        if lines and is_batch(line):
            lines = _batch(lines)
        return LineReply(
            lines,
            ends=any(each.ends for each in replies),
            sent=tuple(step for each in replies for step in each.sent),
            streams=tuple(stream for each in replies for stream in each.streams),
        )

    def _cancelled(self, note: Notification) -> None:
        cancelled = mcp.cancelled_id(note)
        stream = self._listens.pop(canonical(cancelled), None)
        if stream is not None:
            stream.gone()

    def _answer(self, one: Request) -> LineReply:
        era = mcp.era_of(one, {})
        self.stream.era = era
        call = mcp.call_of(one, self._label)
        plain = self._player.plain(call, era)
        if plain is not None:
            return LineReply(mcp.messages_of(plain, mcp.caller_of(one)))
        found = self._player.play(call, era=era, connected=True)
        if isinstance(found, Miss):
            self._on_miss(found)
            advice = self._player.advice(found, era)
            self._on_answer(call, advice or missed_answer(found), era)
            error = Piece(0, error_bytes(one.id, MISS_CODE, found.message()))
            told = (error,) if advice is None else mcp.messages_of(advice, mcp.caller_of(one))
            return LineReply(told)
        answer = found.answer
        if not isinstance(answer, McpAnswer):
            message = f"#{found.exchange.seq} is no MCP exchange"
            raise TypeError(message)
        self._on_answer(call, answer, era)
        if found.fault is not None:
            lines = mcp.messages_of(answer, mcp.caller_of(one), ms=found.exchange.ms or 0)
            broken = broken_lines(lines, found.fault, one)
            return LineReply(broken, ends=ends_server(found.fault))
        if answer.kind == "body":
            text = f"recorded over HTTP: status {answer.status} and no JSON-RPC"
            return LineReply((Piece(0, error_bytes(one.id, _INTERNAL_ERROR, text)),))
        if one.method == mcp.LISTEN and answer.kind != "error":
            return self._listen(one, found.exchange.seq, answer)
        return LineReply(
            mcp.messages_of(answer, mcp.caller_of(one), ms=found.exchange.ms or 0),
            ends=answer.end in _ENDS,
            sent=(partial(self._feed.answered, self._label, found.exchange.seq),),
        )

    def _listen(self, one: Request, seq: int, answer: McpAnswer) -> LineReply:
        stream = self._feed.stream(
            self._label,
            caller=mcp.caller_of(one),
            encode=_line,
            of=seq,
            asked=mcp.asked_for(one),
        )
        stream.ends_with(mcp.last_message(answer, mcp.caller_of(one)))
        self._listens[canonical(one.id)] = stream
        return LineReply(ends=answer.end in _ENDS, streams=(stream,))

    def gone(self) -> None:
        """Take note that the client has closed its end."""
        for stream in (self.stream, *self._listens.values()):
            stream.gone()


def _batch(lines: Sequence[Piece]) -> Sequence[Piece]:
    """Return the answers to a batch as one line, behind what is said before them.

    Source: MCP 2025-03-26, schema: a batch of responses holds nothing else.
    """
    answers = [piece for piece in lines if _is_response(piece)]
    others = sorted((each for each in lines if each not in answers), key=lambda each: each.at_ms)
    if not answers:
        return tuple(others)
    joined = b"[" + b",".join(piece.data for piece in answers) + b"]"
    return (*others, Piece(max(piece.at_ms for piece in lines), joined))


def _is_response(piece: Piece) -> bool:
    return any(isinstance(message, Response) for message in read_body(piece.data) or ())


def _line(message: bytes) -> bytes:
    return message + b"\n"

"""A recording as it runs: intake, recorder, redactor and journal joined, for any door.

What is exchanged is redacted and in the journal the moment it ends. A failed write is told
at once and ends the recording, not the traffic.
"""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from mcprec_addon import __version__
from mcprec_addon.cassette.lines import Piece
from mcprec_addon.cassette.writing import (
    write_events,
    write_header,
    write_record,
)
from mcprec_addon.doors.cassette_file import Journal, put_cassette, read_journal_file
from mcprec_addon.errors import McprecError, RecordingError
from mcprec_addon.exchange import (
    Cassette,
    End,
    Era,
    EventGroup,
    Exchange,
    Header,
    McpAnswer,
    McpCall,
    Message,
    Noise,
    Via,
)
from mcprec_addon.jsonvalue import one_line
from mcprec_addon.record.intake import Intake
from mcprec_addon.record.lines import LineIntake
from mcprec_addon.record.recorder import Item, Recorder, Seen
from mcprec_addon.record.summary import Died, Recorded
from mcprec_addon.record.taps import Tap
from mcprec_addon.redact.placeholders import Renumbered
from mcprec_addon.redact.redactor import Closed, Redactor
from mcprec_addon.redact.rules import Rules, default_rules
from mcprec_addon.wire.http import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A secret known before the run, and the name of what holds it, such as ``env:TOKEN``."""

    secret: str
    source: str


class Recording:
    """One recording, from its first call to the cassette in place.

    Attributes:
        target: Where the cassette goes.
        failure: The first error that made it incomplete, or None.
        ended: How many taps have ended.
        turned_away: Requests at a door that stands for nothing.
        unreached: Upstreams that no connection came about with, and why.
        sockets: WebSocket upgrades of model APIs that a door turned down.
        distrusted: Hosts whose clients did not trust a door's certificate.
        noise: Lines of stdio servers that were no JSON-RPC, by label.
        died: Stdio servers that exited by themselves before they answered, and how.
    """

    def __init__(  # noqa: PLR0913 (all of it is settled before the first call)
        self,
        target: Path,
        *,
        urls: Mapping[str, str],
        commands: Mapping[str, str] | None = None,
        models: Mapping[str, str] | None = None,
        known: Iterable[Known] = (),
        rules: Rules | None = None,
        behind: Header | None = None,
        on_failure: Callable[[McprecError], None] = lambda _: None,
    ) -> None:
        """Open the journal beside `target`.

        Args:
            target: Where the cassette goes.
            urls: Addresses of declared HTTP servers by label.
            commands: Programs of declared stdio servers by label.
            models: Base URLs of model APIs that the agent was told, by provider.
            known: Secrets known before the first call.
            rules: What counts as a secret; by default the built-in rules.
            behind: Header of a cassette of which a replay is recorded: its placeholders stand
                for themselves, its servers are ours.
            on_failure: Called once, at the first error that makes the recording incomplete.

        Raises:
            CassetteFileError: A journal of an earlier run stands there.
        """
        self.target = target
        self.recorded_at = datetime.now(UTC)
        self._journal = Journal(target)
        self._behind = (behind or Header()).redaction
        recorded = self._behind.placeholders
        self._redactor = Redactor(
            rules or default_rules(), nonce=secrets.token_hex(4), recorded=recorded
        )
        for each in known:
            self._redactor.learn(each.secret, source=each.source)
        self._recorder = Recorder(self._keep)
        self._recorder.seen.servers |= (behind or Header()).servers
        self._intake = Intake(self._recorder, urls, models=models or {})
        self._commands = dict(commands or {})
        self._declared = (*urls, *self._commands)
        self._on_failure = on_failure
        self._began = time.monotonic()
        seen = self._recorder.seen
        self._journal.append(write_header(header_of(seen, recorded_at=self.recorded_at)))
        self._taps: list[Tap] = []
        self.failure: McprecError | None = None
        self.sockets = 0
        self.ended = 0
        self.turned_away = 0
        self.unreached: Counter[str] = Counter()
        self.distrusted: Counter[str] = Counter()
        self.noise: Counter[str] = Counter()
        self.died: dict[str, Died] = {}

    def now_ms(self) -> int:
        """Return whole milliseconds since the recording began."""
        return int((time.monotonic() - self._began) * 1000)

    def request(self, request: HttpRequest) -> Tap | None:
        """Take a request; return the tap for its answer, or None where it is not recorded."""
        if self.failure is not None:
            return None
        self._redactor.learn_headers(request.headers)
        tap = self._intake.request(request, self.now_ms())
        if tap is not None:
            self._taps.append(tap)
        return tap

    def replayed(self, call: McpCall, answer: McpAnswer, era: Era) -> None:
        """Take a call that a replay has answered, and what it got."""
        at_ms = self.now_ms()
        pending = self._recorder.begin(call, at_ms=at_ms, via=None, era=era)
        self._recorder.finish(pending, answer, at_ms=at_ms)

    def lines(self, label: str) -> LineIntake:
        """Return what takes the lines of one process of a stdio server."""
        self._recorder.server(label, transport="stdio", command=self._commands.get(label))
        return LineIntake(self._recorder, label)

    def end_lines(self, label: str, lines: LineIntake, end: End, *, died: Died | None) -> None:
        """Take the end of one process of a stdio server, and how it exited by itself."""
        lines.finish(end, self.now_ms())
        if lines.noise:
            self.noise[label] += lines.noise
        if died is not None and died.status and not lines.answered:
            last = self._redactor.text(one_line(died.last.strip().rpartition("\n")[2]))
            self.died[label] = replace(died, last=last)

    def end(self, tap: Tap) -> None:
        """Let go of a tap whose answer has ended."""
        if tap in self._taps:
            self._taps.remove(tap)
            self.ended += 1

    def guarded[T](self, step: Callable[[], T]) -> T | None:
        """Take a step of the recording; whatever goes wrong in it must not touch the traffic."""
        try:
            return step()
        # A bug in a parser is told and ends the recording; the agent's run goes on.
        except Exception as error:  # noqa: BLE001
            problem = f"recording failed on {type(error).__name__}: {error}"
            self.fail(RecordingError(str(self.target), problem))
            return None

    def fail(self, error: McprecError) -> None:
        """Give up recording; the traffic goes on."""
        if self.failure is None:
            self.failure = error
            self._on_failure(error)

    def _keep(self, item: Item) -> None:
        if self.failure is not None:
            return
        try:
            self._journal.append(self._line(item))
        except RecordingError as error:
            self.fail(error)

    def _line(self, item: Item) -> bytes:
        if isinstance(item, EventGroup):
            return write_events(self._redactor.group(item))
        return write_record(self._clean(item))

    def _clean(self, item: Exchange | Message | Noise) -> Exchange | Message | Noise:
        match item:
            case Message():
                return self._redactor.message(item)
            case Noise():
                return self._redactor.noise(item)
            case _:
                return self._redactor.exchange(item)

    def models(self) -> tuple[str, ...]:
        """Return the names of the models that were asked."""
        names = (use.name for use in self._recorder.seen.models)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def close(self, *, config: tuple[str, ...] = ()) -> Recorded:
        """End what is still open, write the cassette in one step and remove the journal.

        Args:
            config: Paths of the agent's configs relative to the cassette.
        """
        for tap in self._taps:
            self.guarded(partial(tap.finish, "stopped", self.now_ms()))
        self._taps.clear()
        self.guarded(self._intake.close)
        self._journal.close()
        seen = self._recorder.seen
        result = self._result(seen)
        if not result.exchanges and self.failure is None:
            self._journal.remove()
            return result
        try:
            closed = self._write(seen, config)
        except McprecError as error:
            self.fail(error)
            return replace(result, failure=self.failure)
        return replace(
            result, redaction=closed.redaction, samples=closed.samples, failure=self.failure
        )

    def _write(self, seen: Seen, config: tuple[str, ...]) -> Closed:
        journal = read_journal_file(self._journal.path)
        closed = self._redactor.close(journal.exchanges, journal.messages, journal.noise)
        asked = {label: each for label, each in seen.servers.items() if label in seen.contacted}
        seen.servers = asked
        header = header_of(seen, recorded_at=self.recorded_at)
        redaction = replace(
            closed.redaction, sources={**self._behind.sources, **closed.redaction.sources}
        )
        whole = replace(header, redaction=redaction, config=list(config))
        put_cassette(self.target, cassette_of(closed, whole), check=self._check_leaks())
        self._journal.remove()
        return closed

    def _check_leaks(self) -> Callable[[Piece], None]:
        number = 1

        def check(piece: Piece) -> None:
            nonlocal number
            if self._redactor.leaks(piece.record.decode()):
                problem = (
                    f"a known secret is still in line {number}; not written, "
                    f"the journal {self._journal.path} stays"
                )
                raise RecordingError(str(self.target), problem)
            number += piece.data.endswith(b"\n")

        return check

    def _result(self, seen: Seen) -> Recorded:
        return Recorded(
            path=str(self.target),
            exchanges=sum(seen.exchanges.values()),
            servers=tuple(sorted(seen.contacted)),
            models=len({(use.provider, use.name) for use in seen.models}),
            ends=seen.ends,
            others=self._intake.others,
            untouched=tuple(label for label in self._declared if label not in seen.contacted),
            oauth=tuple(sorted(self._intake.refused_oauth)),
            sockets=self.sockets,
            turned_away=self.turned_away,
            unreached=self.unreached,
            distrusted=self.distrusted,
            noise=self.noise,
            died=self.died,
            failure=self.failure,
        )


def header_of(seen: Seen, *, recorded_at: datetime) -> Header:
    """Return the header of a recording, its redaction still to be told."""
    return Header(
        recorder=f"mcprec {__version__}",
        recorded=recorded_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        protocol=sorted(seen.protocol),
        servers=dict(seen.servers),
        model=list(seen.models),
    )


def cassette_of(closed: Closed | Renumbered, header: Header) -> Cassette:
    """Return a recording with its final placeholders as a cassette."""
    return Cassette(
        header=header,
        exchanges=tuple(closed.exchanges),
        messages=tuple(closed.messages),
        noise=tuple(closed.noise),
        model_via=_model_via(closed.exchanges),
    )


def _model_via(exchanges: Iterable[Exchange]) -> Via | None:
    ways = Counter[Via | None](each.via for each in exchanges if each.call.half == "model")
    return ways.most_common(1)[0][0] if ways else None

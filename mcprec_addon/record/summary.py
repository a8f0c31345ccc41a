"""What a recording came to, and the lines that say so."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mcprec_addon.errors import McprecError
from mcprec_addon.exchange import Redaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """How a stdio server exited by itself.

    Attributes:
        status: Its exit status, or minus the signal it ended by.
        last: The last line it wrote to stderr, where that is known.
    """

    status: int
    last: str = ""

    def __str__(self) -> str:
        how = f"with status {self.status}" if self.status > 0 else f"by signal {-self.status}"
        return f"{how}: {self.last}" if self.last else how


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a recording came to.

    Attributes:
        path: The cassette; what was recorded before a `failure` is in place too.
        exchanges: How many exchanges it holds.
        servers: Labels of the servers it holds exchanges of.
        models: How many different models it saw.
        redaction: Placeholders by class and where they came from.
        ends: How many answers ended otherwise than complete, by how.
        others: Requests that belong to neither half, by host.
        untouched: Declared servers that were never contacted.
        hints: Why one of them may not have been, by label.
        oauth: Servers that asked for OAuth.
        sockets: WebSocket upgrades of model APIs that were turned down.
        turned_away: Requests at a door that stands for nothing.
        unreached: Upstreams that no connection came about with, and why, with how often.
        distrusted: Hosts whose clients did not trust our certificate.
        noise: Lines of stdio servers that were no MCP messages, by label.
        died: Stdio servers that exited by themselves before they answered, and how.
        failure: Why it is incomplete, or None.
    """

    path: str
    exchanges: int = 0
    servers: tuple[str, ...] = ()
    models: int = 0
    redaction: Redaction = field(default_factory=Redaction)
    ends: Mapping[str, int] = field(default_factory=dict[str, int])
    others: Mapping[str, int] = field(default_factory=dict[str, int])
    untouched: tuple[str, ...] = ()
    hints: Mapping[str, str] = field(default_factory=dict[str, str])
    oauth: tuple[str, ...] = ()
    sockets: int = 0
    turned_away: int = 0
    unreached: Mapping[str, int] = field(default_factory=dict[str, int])
    distrusted: Mapping[str, int] = field(default_factory=dict[str, int])
    noise: Mapping[str, int] = field(default_factory=dict[str, int])
    died: Mapping[str, Died] = field(default_factory=dict[str, Died])
    failure: McprecError | None = None
    samples: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def is_complete(self) -> bool:
        """Whether everything that was to be recorded is."""
        return not list(self.problems())

    def problems(self) -> Iterator[str]:
        """Yield a line for each reason why the recording is incomplete."""
        if self.failure is not None:
            yield str(self.failure)
        for upstream, count in sorted(self.unreached.items()):
            yield f"{upstream}, {_times(count)}"
        for label in self.oauth:
            yield f"{label} asks for OAuth: record with --via proxy"
        for label in self.untouched:
            hint = f"; {self.hints[label]}" if label in self.hints else ""
            yield f"{label} was declared and never contacted{hint}"
        if not self.exchanges:
            yield "0 exchanges recorded; does the agent use the addresses it was given?"

    def notices(self) -> Iterator[str]:
        """Yield a line for each thing worth knowing that is no failure."""
        for host, count in sorted(self.distrusted.items()):
            yield (
                f"a client of {host} does not trust our certificate ({_times(count)}); "
                "set the variable of its own that names a CA file to $SSL_CERT_FILE"
            )
        if self.sockets:
            yield f"WebSocket upgrades of model APIs answered 426: {self.sockets}"
        if self.turned_away:
            yield f"requests at a door with no such path, answered 404: {self.turned_away}"
        for label, count in sorted(self.noise.items()):
            were = "was no MCP message" if count == 1 else "were not MCP messages"
            yield f"{label}: {_count(count, 'line')} on stdout {were}"
        for label, died in sorted(self.died.items()):
            yield f"{label}: the server ended before it answered anything, {died}"
        for end, count in sorted(self.ends.items()):
            yield f"{_count(count, 'answer')} ended early: {end}"
        for pointer in self.redaction.inside:
            yield f"a known secret stays in a field that must not change: {pointer}"

    def redaction_lines(self) -> Iterator[str]:
        """Yield a line for each secret that was redacted, masked."""
        for name, sample in self.samples.items():
            held = self.redaction.sources.get(name)
            yield f"{name} stands for {sample}{f', from {held[0]}' if held else ''}"

    def line(self) -> str:
        """Return the last line of a recording."""
        text = (
            f"recorded {_count(self.exchanges, 'exchange')} from "
            f"{_count(len(self.servers), 'server')} and {_count(self.models, 'model')}"
        )
        classes = self.redaction.placeholders
        if classes:
            listed = ", ".join(f"{number} {name}" for name, number in classes.items())
            text += f", {_count(sum(classes.values()), 'secret')} redacted ({listed})"
        if self.others:
            hosts = ", ".join(f"{host} {number}" for host, number in sorted(self.others.items()))
            text += f"; not recorded: {hosts}"
        return text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"

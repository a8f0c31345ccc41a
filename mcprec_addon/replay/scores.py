"""What each run of an eval came to, by tool, and how sure its rate is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

from mcprec_addon.exchange import Cassette, Json, McpExchange
from mcprec_addon.replay.play import Tally
from mcprec_addon.replay.report import RunReport

_Z = 1.959964  # of a normal distribution, 95 % lie within so many deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the numbers of an eval come from.

    Attributes:
        path: The cassette, as it was named.
        digest: SHA-256 of its content, ``sha256:`` and 64 hex digits.
        version: Version of mcprec.
        on_miss: What a missed tool call got.
        strategy: How MCP calls were matched.
        recorded_models: Names of the models in the cassette.
        models: Names of the models that were recorded while the eval ran.
    """

    path: str
    digest: str
    version: str
    on_miss: str
    strategy: str
    recorded_models: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolScore:
    """How the calls of one tool went in a run, or in several.

    Attributes:
        server: Label of its server.
        name: Its name.
        hits: Calls that had a recorded answer.
        missed: Calls that had none.
        corrected: Of these, the ones that a hit of the same tool followed.
        repeated: Hits whose answer was handed out before, and may do something again.
        unused: Recorded calls that were not asked for.
    """

    server: str
    name: str
    hits: int = 0
    missed: int = 0
    corrected: int = 0
    repeated: int = 0
    unused: int = 0

    def plus(self, other: "ToolScore") -> "ToolScore":
        """Return the sum of two scores of one tool."""
        return ToolScore(
            server=self.server,
            name=self.name,
            hits=self.hits + other.hits,
            missed=self.missed + other.missed,
            corrected=self.corrected + other.corrected,
            repeated=self.repeated + other.repeated,
            unused=self.unused + other.unused,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MissScore:
    """A call that had no answer.

    Attributes:
        title: The call in a few words.
        asked: Its arguments, cut.
        message: Why it had none, in one line.
    """

    title: str
    asked: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScore:
    """What one run of an eval came to.

    Attributes:
        source: Where it comes from.
        number: Its number, from 1.
        of: How many runs were asked for.
        status: The exit status it would have by itself.
        cause: Why.
        is_own: The status was decided by mcprec; else it is the agent's.
        ms: How long it took, in whole milliseconds.
        timed_out: It was ended because its time was over.
        is_broken: mcprec itself failed in it, so that it proves nothing.
        used: Recorded exchanges that were handed out.
        tools: By tool.
        misses: In order.
        unused: Title of each recorded exchange that was not handed out, by seq.
        refused: Hosts that were refused, with how often.
        idle_rules: Rules for matching that nothing was for.
        warnings: What else is to be said.
        whole: The line of the report.
    """

    source: Source
    number: int
    of: int
    status: int
    cause: str
    is_own: bool
    ms: int
    timed_out: bool
    is_broken: bool
    used: int
    tools: tuple[ToolScore, ...]
    misses: tuple[MissScore, ...]
    unused: Mapping[int, str]
    refused: Mapping[str, int]
    idle_rules: tuple[str, ...]
    warnings: tuple[str, ...]
    whole: dict[str, Json] = field(compare=False)

    @property
    def passed(self) -> bool:
        """Whether it ended well."""
        return self.status == 0

    @property
    def reason(self) -> str:
        """Why it did not pass, in a few words."""
        if self.timed_out:
            return f"its time was over after {self.ms / 1000:.1f} s"
        return self.cause if self.is_own else self.cause.rpartition("; ")[2]

    @property
    def came_in(self) -> bool:
        """Whether the agent asked the recorded servers anything."""
        return bool(self.used or self.misses)


def wilson(passed: int, total: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a rate, after Wilson, both from 0 to 1.

    Source: E. B. Wilson, 1927; it holds for few runs and for rates near 0 and 1.
    """
    if not total:
        return 0.0, 1.0
    rate, square = passed / total, _Z * _Z
    middle = (rate + square / (2 * total)) / (1 + square / total)
    spread = rate * (1 - rate) / total + square / (4 * total * total)
    half = _Z * sqrt(spread) / (1 + square / total)
    low = 0.0 if passed == 0 else max(0.0, middle - half)
    high = 1.0 if passed == total else min(1.0, middle + half)
    return low, high


def tool_scores(tally: Tally, report: RunReport, cassette: Cassette) -> tuple[ToolScore, ...]:
    """Return how the calls of each tool went, those of the cassette first, in their order."""
    recorded = [
        (each.call.server, each.call.name or "")
        for each in cassette.exchanges
        if isinstance(each, McpExchange) and each.call.method == "tools/call"
    ]
    left = [
        (each.call.server, each.call.name or "")
        for each in report.unused
        if isinstance(each, McpExchange) and each.call.method == "tools/call"
    ]
    scores: list[ToolScore] = []
    for server, name in dict.fromkeys([*recorded, *tally.tools]):
        count = tally.tools.get((server, name))
        scores.append(
            ToolScore(
                server=server,
                name=name,
                hits=count.hits if count else 0,
                missed=count.missed if count else 0,
                corrected=count.corrected if count else 0,
                repeated=count.repeated if count else 0,
                unused=left.count((server, name)),
            )
        )
    return tuple(scores)

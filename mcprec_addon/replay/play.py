"""How a replay answers, and what it handed out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcprec_addon.exchange import Answer, Call, Exchange, Half, McpCall
from mcprec_addon.jsonvalue import Pointer
from mcprec_addon.match.normal import Places
from mcprec_addon.match.rules import Rule
from mcprec_addon.redact.own_rules import OwnRules
from mcprec_addon.replay.faults import Fault
from mcprec_addon.replay.miss import Miss

Strategy = Literal["auto", "exact", "ordered", "state"]
ModelStrategy = Literal["auto", "exact", "ordered", "sequence"]
OnMiss = Literal["fail", "advise", "plain"]
"""What a tool call without an answer gets: an error, or a result that says so, with the nearest
call or without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayOptions:
    """How a replay answers.

    Attributes:
        strategy: For the MCP half.
        model_strategy: For the model half.
        strict: No tool call is repeated, an ambiguous binding misses.
        halves: Which halves are replayed.
        ignore: Pointers left out of every key, beside what the rules leave out.
        rules: What does not count, beside the rules that the cassette brings along.
        places: Paths of this replay, for the rules that mean them.
        faults: Answers that are broken on purpose.
        own_rules: Redaction rules of one's own, which must be those of the recording.
        secrets: Live values that stand for placeholders, by the names of these.
        check_answers: A client that answers a server's request otherwise than recorded misses.
        on_miss: What a tool call without an answer gets; everything else gets an error.
    """

    strategy: Strategy = "auto"
    model_strategy: ModelStrategy = "auto"
    strict: bool = False
    halves: frozenset[Half] = frozenset({"mcp", "model"})
    ignore: tuple[Pointer, ...] = ()
    rules: tuple[Rule, ...] = ()
    places: Places = field(default_factory=Places)
    check_answers: bool = False
    on_miss: OnMiss = "fail"
    faults: tuple[Fault, ...] = ()
    own_rules: OwnRules = field(default_factory=OwnRules)
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recorded answer for a call, bound values put back.

    Attributes:
        exchange: As recorded.
        answer: As it goes out.
        repeated: It was handed out before.
        guessed: Several answers fitted and recorded order decided.
        fault: How it is broken on the way out; it counts as handed out, and comes again whole.
    """

    exchange: Exchange
    answer: Answer
    repeated: bool = False
    guessed: bool = False
    fault: Fault | None = None


@dataclass(slots=True, kw_only=True)
class ToolCount:
    """How the calls of one tool went.

    Attributes:
        hits: Calls that had a recorded answer.
        missed: Calls that had none.
        corrected: Of these, the ones that a hit of the same tool followed.
        repeated: Hits whose answer was handed out before, and may do something again.
    """

    hits: int = 0
    missed: int = 0
    corrected: int = 0
    repeated: int = 0

    def hit(self, *, repeated: bool) -> None:
        """Count a call that had an answer; it corrects those missed before."""
        self.hits += 1
        self.repeated += repeated
        self.corrected = self.missed

    def miss(self) -> None:
        """Count a call that had none."""
        self.missed += 1


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a replay handed out, and what it could not.

    Attributes:
        misses: In order.
        repeated: Seqs of answers handed out again, with how often.
        guessed: Seqs of answers that recorded order decided on.
        used: Exchanges handed out at least once, by half.
        made: Servers whose handshake was made up, as none was recorded.
        older: Seqs of answers handed out though a later recorded write was hit before, with how
            often.
        tools: Counts by server and name of a tool.
    """

    misses: list[Miss] = field(default_factory=list[Miss])
    repeated: Counter[int] = field(default_factory=Counter[int])
    guessed: list[int] = field(default_factory=list[int])
    used: Counter[Half] = field(default_factory=Counter[Half])
    made: dict[str, None] = field(default_factory=dict[str, None])
    older: Counter[int] = field(default_factory=Counter[int])
    tools: dict[tuple[str, str], ToolCount] = field(
        default_factory=dict[tuple[str, str], ToolCount]
    )

    def tool(self, call: Call) -> ToolCount | None:
        """Return the counts of the tool that a call is of, or None where it is of none."""
        if not isinstance(call, McpCall) or call.method != "tools/call":
            return None
        return self.tools.setdefault((call.server, call.name or ""), ToolCount())

    def missed(self, miss: Miss) -> Miss:
        """Take a miss."""
        self.misses.append(miss)
        count = self.tool(miss.call)
        if count is not None:
            count.miss()
        return miss

"""What a run came to goes to a report and comes back, and a rate comes with how sure it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import Cassette, McpCall
from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.replay.play import Tally
from mcprec_addon.replay.report import RunReport
from mcprec_addon.replay.score_lines import RunFacts, run_line, score_of
from mcprec_addon.replay.scores import RunScore, Source, tool_scores, wilson
from tests.replay.test_player import missed, player, tool

SOURCE = Source(
    path="triage.mcp",
    digest=f"sha256:{'ab' * 32}",
    version="0.1.0",
    on_miss="advise",
    strategy="state",
    recorded_models=("gpt-5",),
)


def score(
    number: int = 1,
    *,
    of: int = 1,
    child: int = 0,
    source: Source = SOURCE,
    queries: tuple[str, ...] = ("bugs", "bug"),
    **facts: bool,
) -> RunScore:
    """Return the score of a run that asked for these, of which "bug" was recorded."""
    recorded = tool(1, "search", {"q": "bug"}, "3 found"), tool(2, "pay", {}, "paid")
    made = player(*recorded, on_miss="advise")
    for query in queries:
        made.play(McpCall(server="s", method="tools/call", name="search", args={"q": query}))
    report = RunReport(
        misses=made.tally.misses,
        unused=made.unused(),
        used=made.tally.used,
        halves=frozenset({"mcp"}),
        child=child,
        demands=RunReport().demands.__class__(no_misses=False),
    )
    scores = tool_scores(made.tally, report, Cassette(exchanges=recorded))
    known = RunFacts(number=number, of=of, ms=1500, **facts)
    return score_of(loads(dumps(run_line(source, known, report, scores))))


def test_a_line_says_how_each_tool_went() -> None:
    """Which tool the model gets wrong is what one wants to mend."""
    found = score(queries=("bugs", "buggy", "bug", "bug"))

    searched, paid = found.tools
    assert (searched.hits, searched.missed, searched.corrected) == (2, 2, 2)
    assert (searched.repeated, searched.unused) == (1, 0)
    assert (paid.name, paid.hits, paid.unused) == ("pay", 0, 1)
    assert [miss.asked for miss in found.misses] == ['{"q":"bugs"}', '{"q":"buggy"}']
    assert found.unused == {2: "tools/call pay (server s)"}
    assert found.passed


def test_a_miss_is_corrected_by_a_later_hit_alone() -> None:
    """A model that was right first and wrong then has learned nothing."""
    (searched, _) = score(queries=("bug", "bugs")).tools

    assert (searched.hits, searched.missed, searched.corrected) == (1, 1, 0)


def test_a_recorded_call_is_no_tool_where_it_is_none() -> None:
    """Handshakes and lists have no tool to count by."""
    made = player(tool(1, "search", {"q": "bug"}, "3 found"))
    missed(made.play(McpCall(server="s", method="resources/read", name="a://b")))

    assert made.tally.tools == {}
    assert tool_scores(Tally(), RunReport(), Cassette()) == ()


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    # Values of R's binom.confint(method="wilson").
    [(18, 20, 0.699, 0.972), (10, 10, 0.722, 1.0), (0, 10, 0.0, 0.278), (1, 2, 0.095, 0.905)],
)
def test_the_interval_is_wilsons(passed: int, total: int, low: float, high: float) -> None:
    """Ten of ten is no certainty."""
    assert wilson(passed, total) == pytest.approx((low, high), abs=0.001)


@given(st.integers(0, 200).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_a_rate_lies_in_its_interval(counts: tuple[int, int]) -> None:
    """And more runs of one rate make it no wider."""
    passed, total = counts

    low, high = wilson(passed, total)

    assert 0 <= low <= high <= 1
    if total:
        assert low <= passed / total <= high
        more_low, more_high = wilson(10 * passed, 10 * total)
        assert more_high - more_low <= high - low

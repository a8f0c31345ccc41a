"""What a replay reports, and the status it ends in."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from mcprec_addon.exchange import Json, McpAnswer, McpCall, McpExchange
from mcprec_addon.replay.diagnosis import find_miss
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.report import Demands, Exit, RunReport, conclude
from mcprec_addon.wire.titles import call_title


def call(name: str, args: Json, method: str = "tools/call") -> McpCall:
    return McpCall(server="t", method=method, name=name, args=args)


def recorded(seq: int, asked: McpCall) -> McpExchange:
    return McpExchange(seq=seq, call=asked, answer=McpAnswer(kind="result", value={}))


TAPE = (
    recorded(1, call("search", {"q": "label:bug"})),
    recorded(2, call("get", {"id": 4})),
    recorded(3, call("get", {"id": 5})),
)


def report(*misses: Miss, used: int = 0, child: int | None = 0) -> RunReport:
    return RunReport(
        misses=misses,
        unused=TAPE[used:],
        used={"mcp": used},
        halves=frozenset({"mcp"}),
        child=child,
    )


def last_line(found: RunReport) -> str:
    return found.text().splitlines()[-1]


def test_miss_comes_before_what_was_left_over() -> None:
    """The unknown call is the cause, the unused recordings are its consequence."""
    miss = find_miss(call("search", {"q": "label:bug sort:new"}), TAPE)

    text = report(miss, child=1).text()

    assert text.index("/args/q") < text.index("never used: 3 recorded exchanges")
    assert text.endswith(
        "mcprec: exit 3: 1 miss, 3 recorded exchanges never used; the command exited 1"
    )


def test_unused_alone_is_a_failure_only_if_asked_for() -> None:
    """An agent that got by with fewer calls is fine."""
    found = report(used=2)
    strict = replace(found, demands=Demands(all_used=True))

    assert found.exit.status == 0
    assert last_line(found) == "mcprec: 0 misses, 2 of 3 recorded exchanges used"
    assert "#3 tools/call get (server t)" in found.text()
    assert strict.exit.status == 3
    assert last_line(strict) == (
        "mcprec: exit 3: 0 misses, 1 recorded exchange never used (--all-used)"
    )


def test_used_up_is_a_miss_with_its_count() -> None:
    """The third kind of miss has no differing field to show."""
    miss = find_miss(call("get", {"id": 4}), TAPE, used_up=1, asked=2)

    found = report(miss, used=3)

    assert "recorded 1 time, this is call 2" in found.text()
    assert last_line(found) == "mcprec: exit 3: 1 miss"


def test_nothing_used_is_no_success() -> None:
    """A test that never reached the cassette proves nothing, whatever the command said."""
    assert last_line(report()) == (
        "mcprec: exit 3: 0 misses, nothing of the mcp half was used,"
        " 3 recorded exchanges never used"
    )


def test_status_of_the_command_is_told_apart_from_a_miss() -> None:
    """A command may exit with 3 for reasons of its own."""
    nothing_used = report(child=3)
    all_used = report(used=3, child=3)

    assert last_line(nothing_used).endswith("; the command exited 3")
    assert all_used.exit.status == 3
    assert last_line(all_used) == "mcprec: 0 misses; the command exited 3"


def test_signal_of_the_command_is_named() -> None:
    """137 alone tells few people that the memory ran out."""
    assert last_line(report(used=3, child=137)) == (
        "mcprec: 0 misses; the command was ended by SIGKILL (137)"
    )


def test_unknown_tool_offers_the_nearest_name() -> None:
    """A misspelt tool name has no nearest call."""
    found = report(find_miss(call("serch", {"q": "label:bug"}), TAPE))

    assert 'the nearest recorded name is "search"' in found.text()
    assert found.exit.status == 3


@pytest.mark.parametrize(
    ("given", "status"),
    [(2, 2), (4, 4), (1, 3)],
)
def test_worse_status_wins(given: int, status: int) -> None:
    """Several causes may hold at once; the order is 2, 4, 3, 1, the command's own."""
    miss = find_miss(call("search", {"q": "x"}), TAPE)

    found = replace(report(miss, used=3), given=Exit(status=given, cause="something else"))

    assert conclude(found).status == status


def test_failed_check_comes_before_the_command() -> None:
    """What was checked does not hold, and the command's own status is less than that."""
    found = replace(report(used=3, child=7), given=Exit(status=1, cause="2 of 3 runs passed"))

    assert last_line(found) == "mcprec: exit 1: 2 of 3 runs passed"


def test_misses_of_an_eval_do_not_fail_it() -> None:
    """A live model may ask what was never recorded; the eval judges the outcome."""
    miss = find_miss(call("search", {"q": "x"}), TAPE)

    found = replace(report(miss, used=3), demands=Demands(no_misses=False))

    assert found.exit.status == 0
    assert last_line(found) == "mcprec: 1 miss, 3 of 3 recorded exchanges used"


def test_refused_traffic_counts_under_strict() -> None:
    """Nothing is let through in silence; strict makes it fail."""
    found = replace(report(used=3), refused={"example.com:443": 2})
    strict = replace(found, demands=Demands(strict=True))

    assert "refused: example.com:443, 2 times" in found.text()
    assert found.exit.status == 0
    assert strict.exit.status == 3
    assert "2 refused requests" in last_line(strict)


def test_missed_discovery_comes_first() -> None:
    """Clients fall back without a word, and every later miss follows from it."""
    later = find_miss(call("search", {"q": "x"}), TAPE)
    discovery = find_miss(McpCall(server="t", method="server/discover"), TAPE)

    text = report(later, discovery).text()

    assert text.startswith("MISS server/discover (server t)")


def test_long_lists_are_counted() -> None:
    """A report of a thousand lines is not read."""
    misses = [find_miss(call(f"tool{number}", {}), TAPE) for number in range(30)]

    text = replace(report(*misses), unused=TAPE * 10).text()

    assert text.count("  asked: ") == 5
    assert 'MISS tools/call tool14 (server t): never recorded: no tools/call named "tool14"' in text
    assert "and 15 more misses; --report FILE.json lists them all" in text
    assert "never used: 30 recorded exchanges" in text
    assert "  and 20 more" in text


def test_everything_else_is_named_and_counted() -> None:
    """Repeated, guessed, absorbed and let through: said, not hidden."""
    found = replace(
        report(used=3),
        repeated={2: 3},
        guessed=(3, 3),
        titles={each.seq: call_title(each.call) for each in TAPE},
        absorbed={"telemetry.example": 14},
        allowed={"pypi.example:443": 1, "docs.example": 0},
        warnings=("two\nlines",),
        idle_rules=("--normalize: uuid",),
    )

    text = found.text()

    assert "#2 tools/call get (server t), 3 times" in text
    assert "guessed: several recorded calls fitted" in text
    assert text.count("#3") == 1
    assert "absorbed telemetry: telemetry.example, 14 times" in text
    assert "allowed: pypi.example:443, 1 time, live" in text
    assert "allowed: docs.example, live" in text
    assert "warning: two\\nlines" in text
    assert "warning: --normalize: uuid matched nothing in this run; drop it" in text


def test_json_has_what_every_report_has() -> None:
    """Programs rely on these names."""
    found = report(find_miss(call("search", {"q": "x"}), TAPE), used=1).as_json()

    assert found.keys() >= {"exit", "misses", "unused", "repeated", "refused", "absorbed"}
    assert found["exit"] == {"status": 3, "cause": "1 miss, 2 recorded exchanges never used"}
    assert found["causes"] == [
        {"title": "tools/call search (server t)", "cause": "differs", "count": 1, "misses": [0]}
    ]
    assert found["used"] == {"mcp": 1}
    text = found["misses"][0]["text"]  # type: ignore[index, call-overload]
    assert text.startswith("MISS tools/call search (server t)\n  asked:")  # type: ignore[union-attr]
    assert str(found["record_command"]) in str(text)
    assert found["unused"] == [
        {"seq": 2, "half": "mcp", "title": "tools/call get (server t)"},
        {"seq": 3, "half": "mcp", "title": "tools/call get (server t)"},
    ]


def test_junit_can_be_read_whatever_was_asked() -> None:
    """CI servers drop a whole report for one character that XML does not have."""
    miss = find_miss(call("search", {"q": "]]>\x00\ud800<&"}), TAPE)
    found = replace(report(miss), record_command="mcprec \x1b<&")

    suite = ET.fromstring(found.junit().partition("\n")[2])  # noqa: S314 -- written just now

    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert [case.get("name") for case in suite] == ["run", "tools/call search (server t)"]


def test_junit_of_a_fine_run_has_no_failure() -> None:
    """Green is green."""
    suite = ET.fromstring(report(used=3).junit().partition("\n")[2])  # noqa: S314

    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")

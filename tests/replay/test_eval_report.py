"""The runs of an eval together: the rate, what to record next, and how the command ends."""

import signal
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.replay.eval_report import EvalReport, joined
from mcprec_addon.replay.report import Exit
from mcprec_addon.replay.scores import RunScore
from tests.replay.test_scores import SOURCE, score

OTHER = replace(SOURCE, digest=f"sha256:{'cd' * 32}")


def of(*runs: RunScore, asked: int = 0, **options: object) -> EvalReport:
    return EvalReport(source=SOURCE, runs=runs, asked=asked or len(runs), **options)  # type: ignore[arg-type]


def test_a_report_names_what_to_record_next() -> None:
    """What most runs missed comes first, whatever one run missed often."""
    once = score(1, queries=("x", "x", "x", "bug"))
    both = [score(number, queries=("bugs", "bug")) for number in (2, 3)]

    text = of(once, *both).text()

    first, second = (text.index(f'{{"q":"{query}"}}') for query in ("bugs", "x"))
    assert first < second
    assert '{"q":"bugs"}: 2 times in 2 runs' in text
    assert '{"q":"x"}: 3 times in 1 run' in text
    assert "nearest is recorded #1, which differs at /args/q" in text


def test_the_text_is_as_it_was() -> None:
    """A person reads it in the log of a CI: changes are made on purpose."""
    report = of(score(1), score(2, child=1), score(3, timed_out=True, child=124))

    assert report.text().splitlines() == [
        "eval of triage.mcp (sha256:abababababab), mcprec 0.1.0, recorded with gpt-5",
        "run 1: passed; 1 hit, 1 missed (1 corrected)",
        "run 2: failed, the command exited 1; 1 hit, 1 missed (1 corrected)",
        "run 3: failed, its time was over after 1.5 s; 1 hit, 1 missed (1 corrected)",
        "tool        hits  missed  corrected  repeated  unused",
        "search (s)     3       3          3         0       0",
        "pay (s)        0       0          0         0       3",
        "missed, what to record next first:",
        '  tools/call search (server s) {"q":"bugs"}: 3 times in 3 runs',
        "    nearest is recorded #1, which differs at /args/q",
        "never used in any run: 1 recorded exchange",
        "  #2 tools/call pay (server s)",
        "pass rate 33 %, 95 % interval 6 to 79 %",
        "mcprec: 1 of 3 runs passed; run 2: the command exited 1",
    ]


def test_a_rule_is_idle_where_no_run_had_anything_for_it() -> None:
    """Said once and not for each run: a model may ask in one what it does not ask in another."""
    runs = [
        replace(score(1), idle_rules=("--ignore: /args/a", "--ignore: /args/b")),
        replace(score(2), idle_rules=("--ignore: /args/b",)),
    ]

    text = of(*runs).text()

    assert text.count("matched nothing") == 1
    assert "warning: --ignore: /args/b matched nothing in any run; drop it" in text
    assert of(*runs).as_json()["idle_rules"] == ["--ignore: /args/b"]


FAILS = replace(SOURCE, on_miss="fail")


@pytest.mark.parametrize(
    ("report", "status", "cause"),
    [
        (of(score(1), score(2)), 0, "2 of 2 runs passed"),
        (of(score(1), score(2, child=5)), 5, "1 of 2 runs passed; run 2: the command exited 5"),
        (of(score(1), score(2, child=5), required=1), 0, "1 of 2 runs passed, 1 had to"),
        (of(score(1), score(2, child=5), required=2), 1, "1 of 2 runs passed, 2 had to"),
        (of(score(1, child=5, is_broken=True), required=1), 3, "run 1: the command exited 5"),
        (
            of(score(1, queries=()), required=1),
            3,
            "nothing of the mcp half was asked for; does the agent reach its servers?",
        ),
        (
            replace(of(score(1, child=5), score(2)), source=FAILS, required=1),
            3,
            "2 misses in 2 runs",
        ),
        (of(score(1, queries=("bug",))), 0, "1 of 1 run passed"),
        (
            of(score(1), asked=20, stopped_by=signal.SIGINT),
            130,
            "stopped by SIGINT: 1 of 1 run passed; 19 of 20 runs did not end",
        ),
        (of(score(1), given=Exit(status=4, cause="nothing written")), 4, "nothing written"),
        (
            of(score(1), asked=20, required=10, stopped_by=signal.SIGTERM),
            1,
            "1 of 1 run passed, 10 had to; 19 of 20 runs did not end",
        ),
    ],
)
def test_how_an_eval_ends(report: EvalReport, status: int, cause: str) -> None:
    """Scripts go by the status, and people by the last line."""
    assert (report.exit.status, report.exit.cause) == (status, cause)


def test_the_json_holds_every_run() -> None:
    """What a program wants to compute is in it, without a second run."""
    found = of(score(1), score(2, child=1)).as_json()

    assert found["exit"] == {
        "status": 1,
        "cause": "1 of 2 runs passed; run 2: the command exited 1",
    }
    assert (found["asked"], found["ended"], found["passed"], found["rate"]) == (2, 2, 1, 0.5)
    assert {"misses", "unused", "repeated", "refused"} <= found.keys()
    runs = found["runs"]
    assert isinstance(runs, list)
    assert len(runs) == 2
    assert isinstance(runs[0], dict)
    assert {"exit", "misses", "unused", "repeated", "refused"} <= runs[0].keys()


def test_junit_has_a_case_for_each_run() -> None:
    """A CI shows which of them failed, and the whole as one."""
    suite = ET.fromstring(of(score(1), score(2, child=1)).junit())  # noqa: S314 (our own)

    cases = {case.get("name"): case.find("failure") is not None for case in suite}
    assert cases == {"run 1": False, "run 2": True, "eval": True}
    assert suite.get("failures") == "2"


def test_reports_of_several_machines_are_one() -> None:
    """Each numbers its runs from 1."""
    found = joined(
        {"a.jsonl": [score(2, of=2), score(1, of=2)], "b.jsonl": [score(1, of=3, child=1)]},
        required=2,
    )

    assert [run.number for run in found.runs] == [1, 2, 3]
    assert [run.passed for run in found.runs] == [True, True, False]
    assert (found.asked, found.exit.status) == (5, 0)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (OTHER, "b.jsonl: the cassette sha256:cdcdcdcdcdcd, but a.jsonl has sha256:abababababab"),
        (replace(SOURCE, on_miss="fail"), "b.jsonl: --on-miss fail, but a.jsonl has advise"),
        (replace(SOURCE, strategy="auto"), "b.jsonl: --match auto, but a.jsonl has state"),
    ],
)
def test_reports_of_different_evals_are_not_joined(other: object, says: str) -> None:
    """Their rate would be the rate of nothing."""
    with pytest.raises(ValueError, match=says):
        joined({"a.jsonl": [score(1)], "b.jsonl": [score(1, source=other)]}, required=None)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6), st.data())
def test_joining_parts_counts_what_the_whole_counts(
    children: list[int], data: st.DataObject
) -> None:
    """However the runs were spread over machines."""
    runs = [score(number, child=child) for number, child in enumerate(children, 1)]
    cut = data.draw(st.integers(0, len(runs)))
    parts = {"a": runs[:cut], "b": runs[cut:]}

    found, whole = joined(parts, required=None), of(*runs)

    assert found.passed == whole.passed
    assert found.tools() == whole.tools()
    assert found.missed() == whole.missed()
    assert found.unused() == whole.unused()

"""One change misses many calls, and is one thing to read."""

from xml.etree import ElementTree as ET

import pytest

from mcprec_addon.exchange import (
    Json,
    McpAnswer,
    McpCall,
    McpExchange,
    ModelAnswer,
    ModelCall,
    ModelExchange,
)
from mcprec_addon.replay.diagnosis import find_miss
from mcprec_addon.replay.folding import folded
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.report import RunReport


def chat(*said: str, **fields: Json) -> ModelCall:
    talk: list[Json] = [{"role": "user", "content": each} for each in said]
    request: dict[str, Json] = {"model": "m", "messages": talk, **fields}
    return ModelCall(provider="openai", path="/v1/chat/completions", request=request)


def search(query: str) -> McpCall:
    return McpCall(server="t", method="tools/call", name="search", args={"q": query})


TURNS = [("a", "b", "c")[:length] for length in (1, 2, 3)]
TALK = [
    ModelExchange(seq=seq, call=chat(*said, tools=[{"name": "x"}, {"name": "y"}]), answer=answer)
    for answer in [ModelAnswer(kind="none")]
    for seq, said in enumerate(TURNS, 1)
]
TAPE = [McpExchange(seq=9, call=search("bug"), answer=McpAnswer(kind="result"))]


def strict(*said: str) -> Miss:
    tools: Json = [{"name": name, "strict": True} for name in "xy"]
    return find_miss(chat(*said, tools=tools), TALK)


def diverged(*said: str) -> Miss:
    return find_miss(chat(*said, tools=[{"name": "x"}, {"name": "y"}]), TALK)


@pytest.mark.parametrize(
    ("misses", "titles"),
    [
        (
            [strict(*said) for said in TURNS],
            ["3 model calls differ only in /request/tools/*/strict"],
        ),
        (
            [diverged("z"), diverged("z", "b"), diverged("z", "b", "c")],
            ["3 model calls diverged at message 0 of the conversation, what the user says"],
        ),
        (
            [find_miss(search("x"), TAPE), strict("a"), find_miss(search("y"), TAPE)],
            [
                "2 calls of tools/call search (server t) differ only in /args/q",
                "model call /v1/chat/completions (provider openai)",
            ],
        ),
        (
            [find_miss(search("bug"), TAPE, used_up=1, asked=each) for each in (2, 3)],
            ["2 calls of tools/call search (server t) were asked more often than recorded"],
        ),
    ],
)
def test_equal_causes_are_folded(misses: list[Miss], titles: list[str]) -> None:
    """One release of an SDK changes one field in every call."""
    assert [each.title for each in folded(misses)] == titles


def test_other_changes_at_one_message_are_not_folded() -> None:
    """They have other remedies: one of them a rule."""
    tape = [ModelExchange(seq=1, call=chat("on 2026-10-05"), answer=ModelAnswer(kind="none"))]
    prompts = ("on 2026-11-30", "off 2026-10-05", "on 2027-01-31")

    found = folded(find_miss(chat(prompt), tape) for prompt in prompts)

    assert [each.places for each in found] == [[0, 2], [1]]


def test_every_report_folds() -> None:
    """A CI that shows fifty failed cases hides the one that is new."""
    report = RunReport(misses=[strict(*said) for said in TURNS] + [find_miss(search("x"), TAPE)])
    title = "3 model calls differ only in /request/tools/*/strict"

    text, suite = report.text(), ET.fromstring(report.junit())  # noqa: S314 (our own)

    assert text.startswith(f"{title}; the first:\nMISS model call")
    assert text.count("MISS") == 2
    assert report.as_json()["causes"] == [
        {"title": title, "cause": "differs", "count": 3, "misses": [0, 1, 2]},
        {"title": "tools/call search (server t)", "cause": "differs", "count": 1, "misses": [3]},
    ]
    assert [case.get("name") for case in suite] == ["run", title, "tools/call search (server t)"]
    assert suite.get("failures") == "3"

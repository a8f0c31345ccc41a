"""The last lines of a recording say what it came to, and what is missing."""

import pytest

from mcprec_addon.errors import RecordingError
from mcprec_addon.exchange import Redaction
from mcprec_addon.record.summary import Recorded


def test_the_last_line_counts_what_was_recorded() -> None:
    """Servers, models, secrets, and what passed by unrecorded."""
    recorded = Recorded(
        path="a.mcp",
        exchanges=31,
        servers=("a", "b"),
        models=1,
        redaction=Redaction(placeholders={"email": 2, "token": 1}),
        others={"b.example.com": 1, "api.example.com": 4},
    )

    assert recorded.line() == (
        "recorded 31 exchanges from 2 servers and 1 model, 3 secrets redacted "
        "(2 email, 1 token); not recorded: api.example.com 4, b.example.com 1"
    )
    assert recorded.is_complete
    assert list(recorded.problems()) == list(recorded.notices()) == []


def test_one_of_each_is_singular() -> None:
    """And what there is none of is not mentioned."""
    recorded = Recorded(
        path="a.mcp", exchanges=1, servers=("a",), redaction=Redaction(placeholders={"email": 1})
    )

    assert recorded.line() == (
        "recorded 1 exchange from 1 server and 0 models, 1 secret redacted (1 email)"
    )


@pytest.mark.parametrize(
    ("recorded", "problem"),
    [
        (
            Recorded(path="a.mcp", exchanges=1, failure=RecordingError("a.mcp", "disk full")),
            "a.mcp: disk full",
        ),
        (
            Recorded(path="a.mcp", exchanges=1, oauth=("tracker",)),
            "tracker asks for OAuth: record with --via proxy",
        ),
        (
            Recorded(path="a.mcp", exchanges=1, untouched=("wiki",)),
            "wiki was declared and never contacted",
        ),
        (
            Recorded(path="a.mcp"),
            "0 exchanges recorded; does the agent use the addresses it was given?",
        ),
    ],
    ids=["failure", "oauth", "untouched", "empty"],
)
def test_what_makes_a_recording_incomplete_is_named(recorded: Recorded, problem: str) -> None:
    """A cassette that lacks something must not pass for a whole one."""
    assert not recorded.is_complete
    assert list(recorded.problems()) == [problem]


def test_the_failure_is_named_first() -> None:
    """It is the cause; that nothing was recorded is its consequence."""
    recorded = Recorded(path="a.mcp", failure=RecordingError("a.mcp", "disk full"), oauth=("t",))

    first, *rest = recorded.problems()

    assert first == "a.mcp: disk full"
    assert len(rest) == 2


def test_what_is_worth_knowing_is_said_and_is_no_failure() -> None:
    """Each line names a thing that a person would otherwise look for in vain."""
    recorded = Recorded(
        path="a.mcp",
        exchanges=3,
        redaction=Redaction(inside=["/input/state"]),
        ends={"reset": 1, "left": 2},
        sockets=2,
        distrusted={"b.test": 3, "a.test": 1},
    )
    remedy = "set the variable of its own that names a CA file to $SSL_CERT_FILE"

    assert recorded.is_complete
    assert list(recorded.notices()) == [
        f"a client of a.test does not trust our certificate (once); {remedy}",
        f"a client of b.test does not trust our certificate (3 times); {remedy}",
        "WebSocket upgrades of model APIs answered 426: 2",
        "2 answers ended early: left",
        "1 answer ended early: reset",
        "a known secret stays in a field that must not change: /input/state",
    ]

"""The last line of a recording says what it came to."""

from mcprec_addon.exchange import Redaction
from mcprec_addon.record.summary import Recorded


def test_the_last_line_counts_what_was_recorded() -> None:
    """Servers, models, secrets, and what passed by."""
    recorded = Recorded(
        path="a.mcp",
        exchanges=31,
        servers=("a", "b"),
        models=1,
        redaction=Redaction(placeholders={"email": 2, "token": 1}),
        others={"api.example.com": 4},
    )

    assert recorded.line() == (
        "recorded 31 exchanges from 2 servers and 1 model, 3 secrets redacted "
        "(2 email, 1 token); not recorded: api.example.com 4"
    )
    assert recorded.is_complete


def test_oauth_names_the_way_out() -> None:
    """A loopback address cannot carry a sign-in."""
    recorded = Recorded(path="a.mcp", exchanges=1, oauth=("tracker",))

    assert list(recorded.problems()) == ["tracker asks for OAuth: record with --via proxy"]

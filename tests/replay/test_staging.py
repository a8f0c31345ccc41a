"""How a replay is set up: its halves, its rules, and which live value stands for which secret."""

from pathlib import PurePath

import pytest

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, McpCall, Redaction
from mcprec_addon.redact.own_rules import OwnRules
from mcprec_addon.replay.play import Hit, PlayOptions
from mcprec_addon.replay.staging import check_rules, new_player, present_halves

PATH = PurePath("triage.mcp")


def cassette(asked: str, redaction: str = '{"builtin":1}') -> Cassette:
    """One search whose argument is `asked`."""
    lines = (
        '{"mcprec":1,"servers":{"tracker":{"transport":"http"}},"redaction":' + redaction + "}\n"
        '{"seq":1,"server":"tracker","method":"tools/call","name":"search",'
        '"args":{"q":"' + asked + '"},"result":{"content":[]}}\n'
    )
    return read_cassette(lines.encode(), path=str(PATH))


def search(text: str) -> McpCall:
    return McpCall(server="tracker", method="tools/call", name="search", args={"q": text})


def test_what_a_source_holds_stands_for_its_placeholder_and_an_alias_does_too() -> None:
    """The agent may have the real value from elsewhere: an argument, a file."""
    recorded = cassette(
        "api-key-1",
        '{"builtin":1,"placeholders":{"api-key":1},"sources":{"api-key-1":["env:MY_TOKEN"]}}',
    )
    known = {"env:MY_TOKEN": "mcprec-dummy-my_token"}
    aliases = {"env:MY_TOKEN": "live-value-4711-of-mine"}

    for value in (*known.values(), *aliases.values()):
        player = new_player(
            recorded, PlayOptions(), halves=frozenset({"mcp"}), known=known, aliases=aliases
        )
        assert isinstance(player.play(search(value)), Hit)


def test_a_given_value_stands_for_its_placeholder() -> None:
    """Where several recorded people fit, the person at the terminal knows."""
    recorded = cassette("email-1@mcprec.example", '{"builtin":1,"placeholders":{"email":2}}')
    call = search("ana@corp.com")
    options = PlayOptions(secrets={"email-2": "ana@corp.com"})

    given = new_player(recorded, options, halves=frozenset({"mcp"}))
    free = new_player(recorded, PlayOptions(), halves=frozenset({"mcp"}))

    assert isinstance(free.play(call), Hit)
    assert not isinstance(given.play(call), Hit)  # the address is someone else's


def test_a_half_that_is_not_there_is_refused() -> None:
    """Nothing would be proven by a replay of nothing."""
    with pytest.raises(UsageError, match="no model half"):
        present_halves(cassette("bug"), frozenset({"model"}), path=PATH)


def test_the_halves_that_are_there_are_replayed() -> None:
    """What was recorded is what a replay is for."""
    assert present_halves(cassette("bug"), frozenset(), path=PATH) == {"mcp"}


def test_other_rules_than_the_recordings_are_refused() -> None:
    """Calls would come in redacted another way than they stand there, and miss."""
    recorded = Cassette(header=cassette("bug").header)
    theirs = Cassette(
        header=type(recorded.header)(redaction=Redaction(builtin=1, custom="sha256:" + "a" * 64))
    )

    check_rules(OwnRules(), recorded, path=PATH)
    with pytest.raises(UsageError, match="recorded under rules of one's own"):
        check_rules(OwnRules(), theirs, path=PATH)

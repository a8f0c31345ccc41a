"""What a replay came to is told with everything that a person has to know to go on."""

from pathlib import Path

import pytest

from mcprec_addon.exchange import Cassette, Header, McpCall, Server
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.responder import Turned
from mcprec_addon.replay.staging import new_player
from mcprec_addon.replay_end import Replayed, conclude_replay

WEB = Server(transport="http", url="https://web.example/mcp", via="base-url")


def missed(*config: str, command: tuple[str, ...] = ("./run-agent.sh",), **more: object) -> str:
    """Return the report of a replay with one miss."""
    cassette = Cassette(header=Header(servers={"web": WEB}, config=list(config)))
    player = new_player(cassette, PlayOptions(), halves=frozenset({"mcp"}))
    player.play(McpCall(server="web", method="tools/call", name="search"))
    replayed = Replayed(
        cassette=cassette,
        player=player,
        turned=Turned(sockets=2),
        halves=frozenset({"mcp"}),
        allowed=(),
        child=0,
        **more,  # type: ignore[arg-type] # by names
    )
    return conclude_replay(replayed, path=Path("a.mcp"), command=command).text()


@pytest.mark.parametrize(
    ("declared", "options"),
    [
        (None, "--http web=https://web.example/mcp "),
        (["--config", "mcp.json"], "--config mcp.json "),
        (["--stdio", "files=npx 'a b' --api-key " + "sk-proj-" + "a1B2" * 8], "--stdio '…' "),
    ],
)
def test_a_miss_shows_the_command_that_records_anew(
    declared: list[str] | None, options: str
) -> None:
    """With the options the servers were declared by, and no secret in it."""
    text = missed(declared=declared)

    assert f"(mcprec record {options}--out a.mcp --force -- ./run-agent.sh)" in text


def test_a_config_that_the_cassette_names_is_named() -> None:
    """Also where it is gone."""
    assert "(mcprec record --config mcp.json --out a.mcp" in missed("mcp.json")


def test_a_failure_of_ours_is_no_green() -> None:
    """The answers of a run in which mcprec failed prove nothing."""
    text = missed(failures=[ZeroDivisionError("x")])

    assert "warning: mcprec failed 1 time, first: ZeroDivisionError('x')" in text


def test_what_the_run_noticed_is_told() -> None:
    """Each host whose client does not trust us is named once."""
    text = missed(distrusted=["api.example", "api.example"])

    assert text.count("a client of api.example does not trust our certificate") == 1
    assert "WebSocket upgrades of model APIs answered 426: 2" in text

"""A recorded server is found for each that the agent knows of, or named before the run starts."""

import json
from pathlib import Path

import pytest

from mcprec_addon.agent_servers import AgentServers
from mcprec_addon.doors.routes import Ways
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Half, Header, McpAnswer, McpCall, McpExchange, Server
from mcprec_addon.played_servers import PlayedServers, recorded_servers

pytestmark = pytest.mark.door

FILES = Server(transport="stdio", command="npx")
WEB = Server(transport="http", url="https://web.example/mcp", via="base-url")


def recorded(*config: str, **servers: Server) -> Cassette:
    return Cassette(header=Header(servers=servers, config=list(config)))


def config(folder: Path, **entries: dict[str, str]) -> AgentServers:
    path = folder / "agent.json"
    path.write_text(json.dumps({"mcpServers": entries}))
    return AgentServers.read([path], http={}, shims={})


def found(
    cassette: Cassette,
    servers: AgentServers | None = None,
    *,
    path: Path = Path("a.mcp"),
    halves: frozenset[Half] = frozenset({"mcp"}),
    via: Ways | None = None,
) -> PlayedServers:
    return PlayedServers.find(
        cassette, servers or AgentServers(), path=path, halves=halves, environment={}, via=via
    )


def test_a_server_is_found_by_label_then_address_then_as_the_only_one(tmp_path: Path) -> None:
    """Renaming a server in the config does not need a new recording."""
    two = recorded(files=FILES, web=WEB)
    servers = config(
        tmp_path,
        files={"url": "https://web.example/mcp"},
        renamed={"url": "https://web.example/mcp?key=1"},
    )

    assert found(two, servers).label_of == {"files": "files", "renamed": "web"}
    assert found(recorded(files=FILES), config(tmp_path, x={"command": "y"})).label_of == {
        "x": "files"
    }


def test_a_server_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    """All of them, before the agent starts; where the half is off it does not matter."""
    two = recorded(files=FILES, web=WEB)
    servers = config(tmp_path, x={"command": "x"}, y={"url": "http://y"})

    with pytest.raises(UsageError) as caught:
        found(two, servers)

    assert [line.partition(": ")[2] for line in str(caught.value).splitlines()] == [
        f'server "{name}" is not in a.mcp, which knows files, web; record again, or disable it'
        for name in "xy"
    ]
    assert found(two, servers, halves=frozenset({"model"})).label_of == {}


def test_a_recorded_server_that_no_config_starts_is_a_warning(tmp_path: Path) -> None:
    """It may be declared in code."""
    two = recorded(files=FILES, web=WEB, other=FILES)

    (warning,) = found(two, config(tmp_path, other={"command": "o"})).warnings()

    assert warning.endswith("if the agent's code starts it, add --stdio files='npx …'")
    assert len(list(found(two).warnings())) == 2


def test_a_config_that_is_gone_is_a_warning(tmp_path: Path) -> None:
    """The agent may have it elsewhere, and would start the live servers in it."""
    (warning,) = found(recorded("gone.json", files=FILES), path=tmp_path / "a.mcp").warnings()

    assert warning.startswith(f"{tmp_path / 'gone.json'} is not there")


def test_the_config_that_the_cassette_names_is_taken(tmp_path: Path) -> None:
    """A replay needs no --config; one given by hand comes first."""
    config(tmp_path, files={"command": "f"})
    cassette = recorded("agent.json", files=FILES)

    played = found(cassette, path=tmp_path / "a.mcp")

    assert played.label_of == {"files": "files"}
    assert played.missing is None


def test_a_config_is_made_where_the_named_one_is_gone(tmp_path: Path) -> None:
    """Stdio servers are started as pipes to the run, HTTP ones are at their doors."""
    played = found(recorded("gone.json", files=FILES, web=WEB), path=tmp_path / "a.mcp")
    urls = played.urls({"files": 1, "web": 2}, {})

    lead = played.lead(tmp_path, socket=tmp_path / "run", urls=urls)

    assert played.has_stdio()
    assert urls == {"files": "http://127.0.0.1:1/mcp", "web": "http://127.0.0.1:2/mcp"}
    copy = json.loads(lead.copies[tmp_path / "gone.json"].read_text())["mcpServers"]
    assert copy["files"]["args"][-2:] == [str(tmp_path / "run"), "files"]
    assert copy["web"]["url"] == "http://127.0.0.1:2/mcp"


def test_an_address_stays_where_the_way_in_is_the_proxy(tmp_path: Path) -> None:
    """The agent sends what it sent while recording."""
    servers = config(tmp_path, web={"url": "https://moved.example/mcp?key=${KEY}"})
    entry: dict[Ways, str] = {}
    ways: list[Ways] = ["proxy", "base-url"]
    for via in ways:
        played = found(recorded(web=WEB), servers, via=via)
        folder = tmp_path / via
        folder.mkdir()
        lead = played.lead(folder, socket=folder, urls=played.urls({"web": 5}, {"KEY": "k"}))
        (copy,) = lead.copies.values()
        entry[via] = json.loads(copy.read_text())["mcpServers"]["web"]["url"]

    assert entry == {
        "proxy": "https://moved.example/mcp?key=${KEY}",
        "base-url": "http://127.0.0.1:5/mcp?key=${KEY}",
    }
    assert found(recorded(web=WEB), servers).addresses({"KEY": "k"}) == {
        "https://moved.example/mcp?key=k": "web"
    }


def test_nothing_is_on_stdio_where_everything_is_on_http(tmp_path: Path) -> None:
    """Then no socket is opened, which some systems do not have."""
    assert not found(recorded(web=WEB)).has_stdio()
    assert not found(recorded(web=WEB), config(tmp_path, web={"url": "http://w"})).has_stdio()


def test_servers_of_a_cassette_written_by_hand_are_known() -> None:
    """Its header may be empty."""
    call = McpCall(server="hand", method="ping")
    exchange = McpExchange(seq=1, call=call, answer=McpAnswer(kind="result", value={}))
    cassette = Cassette(header=Header(servers={"web": WEB}), exchanges=(exchange,))

    assert recorded_servers(cassette) == {"web": WEB, "hand": Server()}

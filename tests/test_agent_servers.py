"""What an agent knows of its servers, and what leads it to a run's doors instead."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcprec_addon.agent_servers import AgentServers, Lead, flag_secrets, made_copy, stand_in
from mcprec_addon.doors import stdio_relay
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door

TRACKER = {
    "command": sys.executable,
    "args": ["srv.py"],
    "env": {"TRACKER_TOKEN": "tt-4410-nobody"},
}
DOCS = {
    "type": "http",
    "url": "https://docs.example/mcp",
    "headers": {"X-Docs-Auth": "da-9918-known"},
}


def written(folder: Path, name: str = "mcp.json", **servers: object) -> Path:
    path = folder / name
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def read(*paths: Path, **more: dict[str, tuple[str, ...]]) -> AgentServers:
    return AgentServers.read(paths, http={}, shims=more.get("shims", {}))


def test_servers_of_all_kinds_are_known(tmp_path: Path) -> None:
    """From several configs, from code, and by address alone."""
    one, two = written(tmp_path, tracker=TRACKER), written(tmp_path, "two.json", docs=DOCS)

    servers = AgentServers.read(
        [one, two, one], http={"wiki": "http://wiki"}, shims={"files": ("npx", "files")}
    )

    assert servers.names() == {
        "wiki": "--http",
        "files": "--stdio",
        "tracker": str(one),
        "docs": str(two),
    }
    assert servers.commands() == {"tracker": (sys.executable, "srv.py"), "files": ("npx", "files")}
    assert servers.addresses({}, need_all=True) == {
        "wiki": "http://wiki",
        "docs": "https://docs.example/mcp",
    }


def test_one_name_for_two_servers_is_refused(tmp_path: Path) -> None:
    """The cassette could not tell their answers apart."""
    one, two = written(tmp_path, tracker=TRACKER), written(tmp_path, "two.json", tracker=DOCS)

    with pytest.raises(UsageError, match=r'server "tracker" is in .*mcp.json too'):
        read(one, two)
    with pytest.raises(UsageError, match='server "tracker" is in --stdio too'):
        read(one, shims={"tracker": ("npx",)})


def test_an_address_is_known_as_far_as_its_host(tmp_path: Path) -> None:
    """A door needs to know where to go on to; the rest of the path is the agent's."""
    entry = {"url": "https://${HOST}/${input:team}/mcp"}
    servers = read(written(tmp_path, docs=entry))

    assert servers.addresses({"HOST": "h"}, need_all=True) == {
        "docs": "https://h/${input:team}/mcp"
    }
    assert servers.addresses({}, need_all=False) == {}
    with pytest.raises(UsageError, match="set the variable it names, or record with --via proxy"):
        servers.addresses({}, need_all=True)


def test_programs_that_are_missing_are_named_together(tmp_path: Path) -> None:
    """One start shows all there is to install."""
    path = written(
        tmp_path,
        a={"command": "no-such-program"},
        b={"command": "/no/such/program"},
        c={"command": "./only/the/agent/knows.sh"},
        d={"command": "${UNKNOWN}"},
        e={"command": "own", "env": {"PATH": str(tmp_path)}},
    )
    (tmp_path / "own").touch(mode=0o755)

    with pytest.raises(UsageError) as caught:
        read(path).check_programs(os.environ)

    assert str(caught.value).splitlines() == [
        f'{path}: server "{label}": {program} is not on PATH; install it, or disable the server'
        for label, program in (("a", "no-such-program"), ("b", "/no/such/program"))
    ]


def test_what_a_config_holds_is_known_as_secret(tmp_path: Path) -> None:
    """These have no known shape; settings, paths and addresses stay readable."""
    tracker = {
        "command": "python3",
        "args": ["srv.py", "--api-key", "kx91-secret-value", "--token=tk-22-value", "--port", "80"],
        "env": {"TRACKER_TOKEN": "${MINE}", "DATA": "/srv/data", "SITE": "https://site.example"},
    }
    servers = read(written(tmp_path, tracker=tracker, docs=DOCS))

    assert servers.secrets({"MINE": "tt-4410"}) == {
        "config:tracker/env/TRACKER_TOKEN": "tt-4410",
        "config:tracker/flags/api-key": "kx91-secret-value",
        "config:tracker/flags/token": "tk-22-value",
        "config:docs/headers/X-Docs-Auth": "da-9918-known",
    }


def test_a_password_in_an_address_is_known_by_itself(tmp_path: Path) -> None:
    """A server that tells it, or asks for it, does so without the address around it."""
    database = {
        "command": "python3",
        "args": ["srv.py", "--db=postgres://me:p%40ss-4410@db/x", "redis://:r-9918-key@cache"],
        "env": {"MIRROR": "https://me:${PW}@mirror.example"},
    }
    servers = replace(
        read(written(tmp_path, database=database)),
        shims={"files": ("serve", "https://u:s-1177-word@files.example")},
    )

    assert servers.secrets({"PW": "m-2231-word"}) == {
        "config:database/command/password-1": "p@ss-4410",
        "config:database/command/password-2": "r-9918-key",
        "config:database/env/MIRROR": "https://me:m-2231-word@mirror.example",
        "config:database/env/MIRROR/password-1": "m-2231-word",
        "config:files/command/password-1": "s-1177-word",
    }


def test_a_flag_without_a_value_holds_no_secret() -> None:
    """What follows is another flag, or nothing."""
    assert list(flag_secrets(["x", "--token", "--verbose", "--password"])) == []


def test_a_recorded_run_leads_through_relays_and_doors(tmp_path: Path) -> None:
    """The copy is the owner's alone, and the original is as it was."""
    path = written(tmp_path, tracker=TRACKER, docs=DOCS)
    before = path.read_bytes()
    run, socket = tmp_path / "run", tmp_path / "run" / "socket"
    run.mkdir()

    lead = read(path).lead(run, socket=socket, urls={"docs": "http://127.0.0.1:1/mcp"})
    copy = lead.copies[path]

    assert path.read_bytes() == before
    assert copy.stat().st_mode & 0o077 == 0
    assert json.loads(copy.read_text())["mcpServers"] == {
        "tracker": TRACKER
        | {
            "command": sys.executable,
            "args": [
                *("-I", "-S", stdio_relay.__file__, str(socket), "tracker", "--"),
                *(sys.executable, "srv.py"),
            ],
        },
        "docs": DOCS | {"url": "http://127.0.0.1:1/mcp"},
    }


def test_a_replayed_run_leads_to_recorded_servers(tmp_path: Path) -> None:
    """The cassette's label may differ from the config's, and no server program is named."""
    path = written(tmp_path, tracker=TRACKER)
    run = tmp_path / "run"
    run.mkdir()

    lead = read(path, shims={"files": ("npx", "files")}).lead(
        run, socket=run / "s", urls={}, labels={"tracker": "issues", "files": "files"}
    )

    entry = json.loads(lead.copies[path].read_text())["mcpServers"]["tracker"]
    assert [entry["command"], *entry["args"]] == stand_in(run / "s", "issues")
    assert lead.bin_folder is not None
    assert (lead.bin_folder / "npx").exists()


LED = [
    "mcp.json",
    "./mcp.json",
    "{folder}/mcp.json",
    "sub/../mcp.json",
    "--c=mcp.json",
    "c:mcp.json",
]
NOT_LED = ["other/mcp.json", "read mcp.json and tell", ""]


@pytest.mark.parametrize("text", LED + NOT_LED)
def test_a_path_of_the_config_leads_to_the_copy(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In arguments and variables; a prompt that speaks of the file is not touched."""
    monkeypatch.chdir(tmp_path)
    lead = Lead(copies={Path("mcp.json"): Path("/run/copy.json")}, bin_folder=Path("/run/bin"))
    given = text.replace("{folder}", str(tmp_path))

    (argument,) = lead.command([given])
    led = lead.environment({"X": given, "PATH": "/usr/bin"})

    assert argument.endswith("/run/copy.json") == (text in LED)
    assert led["X"] == argument
    assert led["MCPREC_CONFIG"] == "/run/copy.json"
    assert led["PATH"] == "/run/bin:/usr/bin"
    assert lead.command(["--c={config}"]) == ["--c=/run/copy.json"]


@pytest.mark.parametrize("name", ["mcp.json", "config.toml", None])
def test_a_config_is_made_where_there_is_none(name: str | None, tmp_path: Path) -> None:
    """In the language its name tells, under the path the agent knows."""
    original = None if name is None else Path("/gone") / name

    ((known, copy),) = made_copy(
        tmp_path, commands={"a": ["run", "a"]}, urls={"b": "http://b"}, sse=[], original=original
    ).items()

    assert known == (original or Path("mcp.json"))
    text = copy.read_text()
    assert ("[mcp_servers.a]" if name == "config.toml" else '"mcpServers"') in text


def test_options_declare_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A miss shows the command that records anew."""
    monkeypatch.chdir(tmp_path)
    servers = AgentServers.read(
        [written(tmp_path, tracker=TRACKER)],
        http={"wiki": "http://w"},
        shims={"files": ("npx", "a b")},
    )

    assert servers.options() == [
        *("--config", "mcp.json", "--http", "wiki=http://w", "--stdio", "files=npx 'a b'")
    ]


def test_credentials_that_a_config_refers_to_are_known(tmp_path: Path) -> None:
    """An eval gives dummies for these, and leaves all others alone."""
    config = tmp_path / "mcp.json"
    config.write_text(
        '{"mcpServers": {"a": {"url": "https://${HOST}/mcp",'
        ' "headers": {"authorization": "Bearer ${A_TOKEN}"}},'
        ' "b": {"command": "b", "args": ["--key", "${B_API_KEY}"], "env": {"H": "${HOME}"}}}}'
    )

    servers = AgentServers.read([config], http={}, shims={})

    assert servers.credentials() == {"A_TOKEN", "B_API_KEY"}

"""A config's servers are read, and its copy leads them elsewhere and changes nothing beside."""

import json
import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.doors.agent_config import (
    AgentConfig,
    Entry,
    copied,
    expanded,
    made_config,
    read_config,
    references,
    write_copy,
)
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Json
from tests.test_jsonvalue import json_values

FIXTURES = Path(__file__).parent.parent / "fixtures" / "configs"
DOOR = "http://127.0.0.1:9/mcp"


def relayed(entry: Entry) -> list[str]:
    """Start an entry behind a relay."""
    return ["relay", entry.label, "--", *entry.command]


def led(config: AgentConfig) -> dict[str, Json]:
    """Return the copy in which every server is behind a door."""
    return copied(config, command=relayed, address=lambda _: DOOR)


def written(path: Path, value: object) -> Path:
    """Write a config."""
    path.write_text(json.dumps(value))
    return path


def config_of(folder: Path, entry: object) -> AgentConfig:
    """Read a config with one server."""
    return read_config(written(folder / "mcp.json", {"mcpServers": {"a": entry}}))


def led_entry(config: AgentConfig) -> object:
    """Return that server in the copy."""
    servers = led(config)["mcpServers"]
    return servers["a"] if isinstance(servers, dict) else None


def problems_of(path: Path) -> list[str]:
    """Return what reading a config complains of."""
    with pytest.raises(UsageError) as raised:
        read_config(path)
    return str(raised.value).splitlines()


@pytest.mark.parametrize(
    ("name", "stdio", "http"),
    [
        ("claude_code.json", ["tracker"], ["docs"]),
        ("claude_user.json", ["tracker", "files"], ["docs"]),
        ("codex_config.toml", ["files"], ["docs"]),
        ("cursor.json", ["files"], ["docs"]),
        ("gemini_settings.json", ["tracker"], ["docs", "events"]),
        ("opencode.jsonc", ["files"], ["docs"]),
        ("vscode_mcp.json", ["tracker"], ["docs"]),
        ("vscode_settings.json", ["files"], ["docs"]),
        ("windsurf.json", ["files"], ["docs"]),
    ],
)
def test_every_dialect_is_read_and_led(
    name: str, stdio: list[str], http: list[str], tmp_path: Path
) -> None:
    """An agent finds all its servers behind doors, in a file it reads as its own."""
    config = read_config(FIXTURES / name)

    write_copy(tmp_path / name, led(config))

    again = (tmp_path / name).read_text()
    assert [entry.label for entry in config.entries if entry.command] == stdio
    assert [entry.label for entry in config.entries if entry.url] == http
    assert again.count(DOOR) == len(http)
    assert all(f"{entry.url}" not in again for entry in config.entries if entry.url)
    kept = tomllib.loads(again) if name.endswith(".toml") else json.loads(again)
    assert list(kept) == list(config.value)


def test_an_entry_says_what_its_agent_makes_of_it() -> None:
    """References stay: what they hold is known to the agent's process alone."""
    tracker, docs = read_config(FIXTURES / "claude_code.json").entries

    assert tracker.command[-1] == "${PROJECT:-web}"
    assert tracker.env["TRACKER_PAGE_SIZE"] == "50"
    assert docs.url == "${DOCS_URL:-https://docs.example.test}/mcp"
    assert docs.headers == {"Authorization": "Bearer ${DOCS_TOKEN}", "X-Team": "blue"}
    assert tracker.fields["type"] == "stdio"


def test_strings_survive_lenient_reading() -> None:
    """An argument may look like a comment or a spare comma."""
    tracker, docs = read_config(FIXTURES / "vscode_mcp.json").entries

    assert tracker.command[-1] == "--base=https://tracker.example.test//v2,]"
    assert docs.headers == {"X-Glob": "/* not a comment */"}


def test_a_command_stays_of_its_shape() -> None:
    """A list is what opencode wants, where others want a text and arguments."""
    mcp = led(read_config(FIXTURES / "opencode.jsonc"))["mcp"]
    servers = led(read_config(FIXTURES / "codex_config.toml"))["mcp_servers"]

    assert isinstance(mcp, dict)
    assert isinstance(servers, dict)
    assert mcp["files"] == {
        "type": "local",
        "command": ["relay", "files", "--", "bun", "x", "files-mcp", "."],
        "environment": {"FILES_KEY": "{env:FILES_KEY}"},
        "enabled": True,
        "timeout": 8000,
    }
    assert servers["files"] == {
        "command": "relay",
        "args": ["files", "--", "npx", "-y", "files-mcp", "/home/ana/shop"],
        "env_vars": ["LANG"],
        "startup_timeout_sec": 20.5,
        "required": True,
        "env": {"FILES_KEY": "fk-4410"},
    }


def test_arguments_beside_a_list_are_not_given_twice(tmp_path: Path) -> None:
    """They are behind the relay already."""
    config = config_of(tmp_path, {"command": ["npx"], "args": ["files-mcp"]})

    assert led_entry(config) == {"command": ["relay", "a", "--", "npx", "files-mcp"], "args": []}


def test_every_address_of_an_entry_is_led(tmp_path: Path) -> None:
    """Which of two names an agent takes is its own affair; neither may pass the door."""
    both = config_of(tmp_path, {"httpUrl": "http://one", "url": "http://two"})
    one = config_of(tmp_path, {"httpUrl": None, "url": "http://two"})

    assert led_entry(both) == {"httpUrl": DOOR, "url": DOOR}
    assert led_entry(one) == {"httpUrl": None, "url": DOOR}


def test_an_address_may_stay(tmp_path: Path) -> None:
    """Through the proxy an agent keeps the addresses it has."""
    config = config_of(tmp_path, {"url": "http://one", "headers": {"X": "y"}})

    assert copied(config, command=relayed, address=lambda _: None) == config.value


def test_the_lists_of_all_projects_are_led() -> None:
    """Claude Code takes the list of the project it is started in, and the one for all."""
    config = read_config(FIXTURES / "claude_user.json")

    text = json.dumps(led(config))

    assert text.count('"command": "relay"') == 3
    assert text.count(DOOR) == 1
    assert [entry.env for entry in config.entries if entry.label == "tracker"] == [
        {"LOG": "1", "PROJECT": "shop"}
    ]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ({"command": "a"}, {"command": "a", "args": ["--other"]}),
        ({"command": "a"}, {"url": "http://a"}),
        ({"url": "http://a"}, {"url": "http://b"}),
        ({"command": "a", "env": {"T": "one"}}, {"command": "a", "env": {"T": "other"}}),
        ({"url": "u", "headers": {"X": "one"}}, {"url": "u", "headers": {"X": "other"}}),
    ],
)
def test_two_servers_of_one_label_are_refused(first: object, other: object, tmp_path: Path) -> None:
    """A cassette keeps its servers apart by their labels."""
    value = {"mcpServers": {"a": first}, "projects": {"/shop": {"mcpServers": {"a": other}}}}
    path = written(tmp_path / "c.json", value)

    (problem,) = problems_of(path)
    assert problem == (
        f'{path}: server "a" of project "/shop" differs between two lists; '
        "give one of them another name"
    )


def test_a_disabled_entry_stays_as_it_is(tmp_path: Path) -> None:
    """It is not started, so it may be anything, mcprec too."""
    off = {"command": "mcprec", "cwd": ".", "disabled": True}
    path = written(tmp_path / "c.json", {"servers": {"off": off, "none": {"enabled": False}}})

    config = read_config(path)

    assert config.entries == ()
    assert led(config) == config.value


def test_an_entry_disabled_in_one_list_stays_there(tmp_path: Path) -> None:
    """The mark belongs to the list it stands in."""
    off = {"command": "b", "disabled": True}
    value = {"mcpServers": {"a": {"command": "a"}}, "projects": {"/p": {"mcpServers": {"a": off}}}}

    copy = led(read_config(written(tmp_path / "c.json", value)))

    assert copy["projects"] == value["projects"]
    assert copy["mcpServers"] == {"a": {"command": "relay", "args": ["a", "--", "a"]}}


def test_a_server_that_is_not_among_the_entries_stays(tmp_path: Path) -> None:
    """A run may leave a server as it is."""
    path = written(tmp_path / "c.json", {"servers": {"a": {"command": "a"}, "b": {"url": "u"}}})
    config = read_config(path)

    copy = led(replace(config, entries=config.entries[:1]))

    assert copy == {
        "servers": {"a": {"command": "relay", "args": ["a", "--", "a"]}, "b": {"url": "u"}}
    }


def test_a_doubled_label_counts_as_its_last(tmp_path: Path) -> None:
    """So it does for an agent, whose parser drops the first without a word."""
    path = tmp_path / "c.json"
    path.write_text('{"mcpServers": {"a": {"command": "one"}, "a": {"command": "two"}}}')

    config = read_config(path)

    assert [entry.command for entry in config.entries] == [("two",)]
    assert led(config) == {"mcpServers": {"a": {"command": "relay", "args": ["a", "--", "two"]}}}


def test_paths_that_mean_the_folder_become_absolute(tmp_path: Path) -> None:
    """The copy lies in another folder."""
    for name in ("server.sh", "run", ".env", "tools/run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    plain = config_of(tmp_path, {"command": "./server.sh", "args": ["./server.sh"]})
    placed = config_of(tmp_path, {"command": "./run", "cwd": "tools", "envFile": ".env"})
    remote = config_of(tmp_path, {"url": "http://a", "envFile": "tools/../.env"})

    assert plain.entries[0].command == (f"{tmp_path}/server.sh", "./server.sh")
    assert led_entry(plain) == {
        "command": "relay",
        "args": ["a", "--", f"{tmp_path}/server.sh", "./server.sh"],
    }
    assert led_entry(placed) == {
        "command": "relay",
        "args": ["a", "--", "./run"],
        "cwd": f"{tmp_path}/tools",
        "envFile": f"{tmp_path}/.env",
    }
    assert led_entry(remote) == {"url": DOOR, "envFile": f"{tmp_path}/tools/../.env"}


def test_a_config_named_from_beside_it_has_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--config mcp.json is how people say it."""
    (tmp_path / "tools").mkdir()
    written(tmp_path / "mcp.json", {"mcpServers": {"a": {"command": "run", "cwd": "tools"}}})
    monkeypatch.chdir(tmp_path)

    entry = led_entry(read_config(Path("mcp.json")))

    assert entry == {"command": "relay", "args": ["a", "--", "run"], "cwd": f"{tmp_path}/tools"}


@pytest.mark.parametrize(
    "path",
    [
        "${workspaceFolder}",
        "~/tools",
        "{env:PLACE}",
        "absent",
        "",
        "/",
        "a" * 5000,
        "a\0b",
    ],
)
def test_other_paths_stay(path: str, tmp_path: Path) -> None:
    """What an agent resolves by itself, or what is not there, is not guessed at."""
    entry = {"command": "run", "args": [], "cwd": path, "envFile": path}

    assert led_entry(config_of(tmp_path, entry)) == {
        **entry,
        "command": "relay",
        "args": ["a", "--", "run"],
    }


def test_the_working_directory_comes_before_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent takes ``.`` and ``./run`` as where it was started, not as where its config lies."""
    for folder in ("home", "work"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run").touch()
    monkeypatch.chdir(tmp_path / "work")

    placed = led_entry(config_of(tmp_path / "home", {"command": "a", "args": [], "cwd": "."}))
    config = config_of(tmp_path / "home", {"command": "./run"})

    assert placed == {"command": "relay", "args": ["a", "--", "a"], "cwd": "."}
    assert config.entries[0].command == ("./run",)


def test_references_to_files_need_no_folder(tmp_path: Path) -> None:
    """Opencode resolves them against the folder of the config, also beside the servers."""
    (tmp_path / "key").touch()
    remote = {"url": "http://a", "headers": {"X": "Bearer {file:./key}"}, "x": ["{file:absent}"]}
    value = {"provider": {"key": "{file:key}"}, "mcp": {"a": remote}}

    copy = led(read_config(written(tmp_path / "opencode.json", value)))

    headers = {"X": f"Bearer {{file:{tmp_path}/key}}"}
    assert copy["provider"] == {"key": f"{{file:{tmp_path}/key}}"}
    assert copy["mcp"] == {"a": {"url": DOOR, "headers": headers, "x": ["{file:absent}"]}}


def without_target(fields: Json) -> dict[str, Json]:
    """Return an entry without what tells where its server is."""
    assert isinstance(fields, dict)
    target = {"command", "args", "url", "httpUrl", "serverUrl"}
    return {name: fields[name] for name in fields if name not in target}


LISTS = {"mcpServers", "servers", "mcp_servers", "mcp", "projects"}
names = st.text().filter(lambda name: name not in LISTS) | st.sampled_from(["inputs", "type"])
entries = st.builds(
    lambda extra, how: {**extra, **how, "disabled": False, "enabled": True},
    st.dictionaries(names, json_values, max_size=3),
    st.sampled_from([{"command": "a", "args": ["b"]}, {"command": ["a"]}, {"url": "http://u"}]),
)


@given(
    around=st.dictionaries(names, json_values, max_size=3),
    key=st.sampled_from(["mcpServers", "servers", "mcp_servers", "mcp"]),
    servers=st.dictionaries(st.text(), entries, max_size=3),
)
def test_a_copy_changes_nothing_but_where_servers_are(
    around: dict[str, Json], key: str, servers: dict[str, Json]
) -> None:
    """What we do not understand belongs to the agent."""
    value = {**around, key: servers}
    entries = tuple(
        Entry(label=label, command=("a",), fields=fields)
        for label, fields in servers.items()
        if isinstance(fields, dict)
    )

    config = AgentConfig(path=Path("/absent/c.json"), value=value, key=key, entries=entries)
    copy = led(config)

    assert list(copy) == list(value)
    assert {**copy, key: servers} == value
    now = copy[key]
    assert isinstance(now, dict)
    assert list(now) == list(servers)
    for label, fields in servers.items():
        assert without_target(now[label]) == without_target(fields)
        assert now[label] != fields


def test_reading_and_copying_leave_the_original(tmp_path: Path) -> None:
    """The file is the user's, and so is the value that was read."""
    path = tmp_path / "c.json"
    path.write_bytes((FIXTURES / "vscode_mcp.json").read_bytes())
    config = read_config(path)
    before = json.dumps(config.value)

    led(config)

    assert json.dumps(config.value) == before
    assert path.read_bytes() == (FIXTURES / "vscode_mcp.json").read_bytes()


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    """A file is mended once, not once for each complaint."""
    servers = {"a\nb": {}, "c": 1, "good": {"command": "x"}, "d": {"command": "mcprec"}}
    path = written(tmp_path / "c.json", {"mcpServers": servers})

    ours = (
        "points at mcprec already; give the original config, or where a killed run left this "
        "one behind put it back with mcprec restore"
    )
    assert problems_of(path) == [
        f'{path}: server "a\\nb" has neither "command" nor "url"; give one of them',
        f'{path}: server "c" is no object; give it a "command" or a "url"',
        f'{path}: server "d" {ours}',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "has no list of servers; one is called mcpServers, servers, mcp_servers, "),
        ('{"mcp": true, "servers": []}', "has no list of servers; "),
        ("[]", "is no object; give the agent's MCP config"),
        ("\xff", "cannot be read, it is not UTF-8; give the agent's MCP config"),
    ],
)
def test_what_is_no_config_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    """The line says what to do."""
    path = tmp_path / "c.json"
    path.write_bytes(text.encode("latin-1"))

    assert [line.startswith(f"{path}: {message}") for line in problems_of(path)] == [True]


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    """A misspelt path is the commonest mistake."""
    absent = tmp_path / "absent.json"

    (missing,) = problems_of(absent)
    (folder,) = problems_of(tmp_path)

    assert missing == (
        f"{absent}: cannot be read, no such file or directory; give the agent's MCP config"
    )
    assert folder == f"{tmp_path}: cannot be read, is a directory; give the agent's MCP config"


@pytest.mark.parametrize(
    ("name", "text"), [("c.json", b'{"mcpServers": {}}'), ("c.toml", b"[mcp_servers]")]
)
def test_a_byte_order_mark_is_no_error(name: str, text: bytes, tmp_path: Path) -> None:
    """Editors on Windows write one."""
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + text)

    assert read_config(path).entries == ()


@pytest.mark.parametrize("name", ["c.json", "c.TOML"])
def test_a_copy_is_for_its_owner_alone(name: str, tmp_path: Path) -> None:
    """It holds the credentials that the original holds."""
    before = os.umask(0)
    try:
        write_copy(tmp_path / name, {"a": 1})
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert (tmp_path / name).read_text() == ("a = 1\n" if "TOML" in name else '{\n  "a": 1\n}\n')


def test_a_copy_replaces_no_file(tmp_path: Path) -> None:
    """A link that someone laid there is not followed."""
    (tmp_path / "c.json").symlink_to(tmp_path / "theirs")

    with pytest.raises(FileExistsError):
        write_copy(tmp_path / "c.json", {})

    assert not (tmp_path / "theirs").exists()


@pytest.mark.parametrize("toml", [False, True])
def test_a_made_config_is_one(toml: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """A cassette whose config is gone still leads an agent to its servers."""
    commands = {"files": ["pipe", "files"], "bare": ["pipe"]}
    path = tmp_path / ("c.toml" if toml else "c.json")

    urls = {"docs": DOOR, "old": DOOR}
    write_copy(path, made_config(commands=commands, urls=urls, sse=["old"], toml=toml))

    config = read_config(path)
    assert [(entry.label, entry.command, entry.url) for entry in config.entries] == [
        ("files", ("pipe", "files"), None),
        ("bare", ("pipe",), None),
        ("docs", (), DOOR),
        ("old", (), DOOR),
    ]
    assert config.key == ("mcp_servers" if toml else "mcpServers")
    kinds = [entry.fields.get("type") for entry in config.entries[2:]]
    assert kinds == ([None, None] if toml else ["http", "sse"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain {x} $y $$", "plain {x} $y $$"),
        ("Bearer ${TOKEN}", "Bearer t-1"),
        ("${env:TOKEN}/${TOKEN}", "t-1/t-1"),
        ("{env:TOKEN}", "t-1"),
        ("${TOKEN}${OTHER:-o-2}{env:EMPTY}${TOKEN}", "t-1o-2t-1"),
        ("${HOST:-https://a.test:1}/mcp", "https://a.test:1/mcp"),
        ("${TOKEN:-other}", "t-1"),
        ("${ABSENT:-}", ""),
        ("${EMPTY}", ""),
        ("${TRICK}", "${TOKEN}"),
        ("${ABSENT}", None),
        ("{env:ABSENT}", None),
        ("${TOKEN} ${input:key}", None),
        ("${workspaceFolder}/a", None),
        ("{file:TOKEN}", None),
        ("${ABSENT:-${TOKEN}}", None),
    ],
)
def test_references_are_resolved_or_the_text_is_not_known(text: str, value: str | None) -> None:
    """Half a value is worse than none: it would be taken for an address or a secret."""
    environment = {"TOKEN": "t-1", "EMPTY": "", "TRICK": "${TOKEN}"}

    assert expanded(text, environment) == value


def test_variables_that_a_text_refers_to_are_named() -> None:
    """In the spellings of all dialects, each by its bare name."""
    text = "${A} ${env:B} ${C:-x} {env:D} ${input:e} {file:f} $G"

    assert list(references(text)) == ["A", "B", "C", "D"]

"""Stdio servers by every way an agent knows them, and what becomes of a run that is killed."""

import itertools
import json
import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_file import load_cassette
from tests.doors.test_stdio_relay import gone, until
from tests.peers.process import ROOT, Peer
from tests.test_run import CLIENTS, Done, clean_environment, hidden, mcprec, run

pytestmark = pytest.mark.door

SERVER = str(ROOT / "tests" / "peers" / "mcp2_server.py")
OPENAI_AGENTS = str(ROOT / "tests" / "peers" / "openai_agents_client.py")
PYTHON = sys.executable
STRICT = ("--strict", "--all-used")
LONGEST_S = 30


def named_python(folder: Path) -> dict[str, str]:
    """Return an environment in which the program ``tool-python`` is this interpreter."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    program = bin_folder / "tool-python"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(PYTHON)} "$@"\n')
    program.chmod(0o755)
    environment = clean_environment()
    return environment | {"PATH": f"{bin_folder}:{environment['PATH']}"}


def entry(folder: Path, **fields: object) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"peer": fields}}))
    return path


def stdio_entry(folder: Path) -> Path:
    return entry(folder, command=PYTHON, args=[SERVER, "--stdio"])


def test_a_server_in_code_is_caught_by_name(tmp_path: Path) -> None:
    """openai-agents starts it by name with six variables of its environment."""
    environment = named_python(tmp_path)
    line = f"tool-python {SERVER} --stdio"
    agent = [PYTHON, OPENAI_AGENTS, *line.split()]
    direct = run(*agent, environment=environment, folder=tmp_path)

    recorded = mcprec(
        "record", "--stdio", f"peer={line}", "--out", "a.mcp", "--", *agent,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    (tmp_path / "bin" / "tool-python").unlink()
    replays = [
        mcprec(
            "replay", "a.mcp", "--stdio", f"peer={line}", *STRICT, "--", *agent,
            environment=environment, folder=tmp_path,
        )
        for _ in range(2)
    ]  # fmt: skip

    assert recorded.status == direct.status == 0, recorded.err
    assert recorded.out == direct.out
    for replay in replays:
        assert (replay.status, replay.out) == (0, direct.out), replay.err
    assert load_cassette(tmp_path / "a.mcp").header.servers["peer"].command == "tool-python"


def test_a_program_by_its_path_passes_the_shim_by_and_is_named(tmp_path: Path) -> None:
    """It cannot be caught, and a recording without it is not complete."""
    environment = named_python(tmp_path)
    agent = [PYTHON, OPENAI_AGENTS, PYTHON, SERVER, "--stdio"]

    recorded = mcprec(
        "record", "--stdio", f"peer=tool-python {SERVER}", "--out", "a.mcp", "--", *agent,
        environment=environment, folder=tmp_path,
    )  # fmt: skip

    assert recorded.status == 4
    assert "peer was declared and never contacted" in recorded.err.splitlines()[-1]
    assert "one that is started by its path cannot be caught" in recorded.err.splitlines()[-1]


def test_a_config_at_another_path_is_named(tmp_path: Path) -> None:
    """A script that names the path itself starts the live server, and nothing is recorded."""
    stdio_entry(tmp_path)

    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", "true",
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert recorded.status == 4
    assert "lead it with {config}, $MCPREC_CONFIG or --in-place" in recorded.err.splitlines()[-1]


def test_a_server_of_a_half_that_is_off_is_refused(tmp_path: Path) -> None:
    """Whatever its config knows, nothing goes live and nothing fails in us."""
    path = tmp_path / "model.mcp"
    path.write_text(
        '{"mcprec":1}\n{"kind":"section","section":"model"}\n'
        '{"kind":"model","seq":1,"provider":"openai","path":"/v1/chat/completions",'
        '"request":{"model":"m","messages":[]},"status":200,"body":{}}\n'
    )
    stdio_entry(tmp_path)
    agent = [PYTHON, CLIENTS, "mcp2-auto", "--url", "config:mcp.json"]

    replayed = mcprec(
        "replay", "model.mcp", "--config", "mcp.json", "--", *agent,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert replayed.status == 3
    assert "refused: peer, 1 time" in replayed.err


def test_a_recording_of_stdio_replays_over_http_and_back(mcp2_server: Peer, tmp_path: Path) -> None:
    """One core answers for all doors."""
    environment = clean_environment()
    stdio_entry(tmp_path)
    by_config, by_url = (
        [PYTHON, CLIENTS, "mcp2-auto", "--url", url] for url in ("config:mcp.json", "{url:peer}")
    )

    def recorded(out: str, *options: str, client: list[str]) -> Done:
        return mcprec(
            "record", *options, "--out", out, "--", *client,
            environment=environment, folder=tmp_path,
        )  # fmt: skip

    def replayed(cassette: str, client: list[str]) -> Done:
        return mcprec("replay", cassette, "--", *client, environment=environment, folder=tmp_path)

    stdio = recorded("stdio.mcp", "--config", "mcp.json", client=by_config)
    http = recorded("http.mcp", "--http", f"peer={mcp2_server.mcp_url}", client=by_url)
    over_http = replayed("stdio.mcp", by_url)
    on_stdio = mcprec(
        "replay", "http.mcp", "--config", "mcp.json", "--", *by_config,
        environment=environment, folder=tmp_path,
    )  # fmt: skip

    assert (stdio.status, http.status) == (0, 0), stdio.err + http.err
    for live, replay in ((stdio, over_http), (http, on_stdio)):
        assert hidden(replay.out) == hidden(live.out), replay.err
        assert ": 0 misses" in replay.err.splitlines()[-1], replay.err


@contextmanager
def serving(*arguments: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run a command that serves until it is stopped; give the process and its first lines."""
    command = [PYTHON, "-m", "mcprec_addon", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=clean_environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stdout is not None
        said: list[str] = []
        for line in iter(process.stderr.readline, ""):
            said.append(line)
            if "until Ctrl-C" in line:
                break
        try:
            yield process, said
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(LONGEST_S)


CLASSIC, STATELESS = "mcp2-classic", "mcp2-stateless"


@pytest.mark.parametrize(
    ("recorded_by", "replayed_by", "misses"),
    [
        (CLASSIC, "mcp2-auto", ["tools/call greet"]),
        ("mcp2-auto", CLASSIC, ["tools/call greet"]),
        (STATELESS, "mcp2-auto", []),
        (STATELESS, CLASSIC, ["tools/call greet"]),
        (CLASSIC, STATELESS, ["tools/call greet"]),
    ],
)
def test_a_recording_of_one_era_serves_a_client_of_the_other(
    recorded_by: str, replayed_by: str, misses: list[str], tmp_path: Path
) -> None:
    """Only a question to the client in the middle of a call has no counterpart."""
    stdio_entry(tmp_path)
    environment = clean_environment()

    def client(kind: str) -> list[str]:
        return [PYTHON, CLIENTS, kind, "--url", "config:mcp.json"]

    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", *client(recorded_by),
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    replayed = mcprec(
        "replay", "a.mcp", "--report", "found.json", "--", *client(replayed_by),
        environment=environment, folder=tmp_path,
    )  # fmt: skip

    assert recorded.status == 0, recorded.err
    found = json.loads((tmp_path / "found.json").read_text())["misses"]
    assert [each["title"].partition(" (")[0] for each in found] == misses, replayed.err
    assert all("era" in each["cause"] for each in found)
    made = "no handshake was recorded" in replayed.err
    assert made == (recorded_by == STATELESS)


@pytest.mark.parametrize("shape", ["env", "json"])
def test_a_cassette_is_served_over_http_by_hand(shape: str, tmp_path: Path) -> None:
    """For an agent that is started elsewhere: addresses and a ready config are printed."""
    stdio_entry(tmp_path)
    client = [PYTHON, CLIENTS, "mcp2-auto", "--url"]
    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", *client, "config:mcp.json",
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip
    with serving(
        "serve", "a.mcp", "--listen", "127.0.0.1:0", "--print", shape, folder=tmp_path
    ) as (process, _):
        assert process.stdout is not None
        if shape == "json":
            config = json.loads(process.stdout.readline())
            assert config.pop("env")["OPENAI_BASE_URL"].endswith("/openai/v1")
        else:
            lines = list(itertools.takewhile(lambda line: line[0] != "#", process.stdout))
            assert any(
                line.startswith("export MCPREC_URL_PEER=http://127.0.0.1:") for line in lines
            )
            url = next(line for line in lines if "URL_PEER" in line).split("=")[1].strip()
            config = {"mcpServers": {"peer": {"type": "http", "url": url}}}
        (tmp_path / "served.json").write_text(json.dumps(config))
        played = run(
            *client, "config:served.json", environment=clean_environment(), folder=tmp_path
        )
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONGEST_S)

    assert hidden(played.out) == hidden(recorded.out)
    assert ": 0 misses" in err.splitlines()[-1]
    assert process.returncode == 0


LINES = """
import json, os, subprocess, sys
entry = json.load(open(os.environ["MCPREC_CONFIG"]))["mcpServers"]["peer"]
def started():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([entry["command"], *entry["args"]], **pipes)
server = started()
def ask(line):
    server.stdin.write(line + b"\\n"); server.stdin.flush()
    return json.loads(server.stdout.readline())
"""
COUNTER = """
import json, os, sys
print(os.getpid(), file=open("server.pid", "w"))
for number, line in enumerate(sys.stdin.buffer):
    asked = json.loads(line)
    text = str(asked["params"]["arguments"].get("n", number))
    result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def counted(folder: Path, agent: str) -> list[str]:
    """Write a server that counts and an agent that talks to it in lines; return its command."""
    (folder / "counter.py").write_text(COUNTER)
    (folder / "agent.py").write_text(LINES + agent)
    entry(folder, command=PYTHON, args=[str(folder / "counter.py")])
    return [PYTHON, "agent.py"]


def test_answers_stay_in_order_across_a_restarted_server(tmp_path: Path) -> None:
    """Some SDKs start one process for each call; they are one server with one history."""
    agent = """
call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}'
print([ask(call)["result"]["content"][0]["text"] for _ in range(2)], end=" ")
server.stdin.close(); server.wait()
server = started()
print([ask(call)["result"]["content"][0]["text"] for _ in range(3)])
server.stdin.close(); server.wait()
"""
    command = counted(tmp_path, agent)
    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", *command,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    replayed = mcprec(
        "replay", "a.mcp", "--match", "ordered", *STRICT, "--", *command,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert recorded.out == replayed.out == "['0', '1'] ['0', '1', '2']\n", replayed.err
    assert replayed.status == 0, replayed.err


LEAVES = [None, True, False, 0, 1, -1, 1.0, 0.1, 1e21, 2**53 + 1, "", "1", "true", "é", "e\u0301"]
LEAVES += ["\u2028", "a/b~c", "ana@example.test"]
KEYS = ["q", "", "a/b", "m~n", "_meta", "id", "é", "0"]


def odd_value(chance: random.Random, depth: int = 0) -> object:
    kind = chance.random()
    if depth > 2 or kind < 0.5:
        return chance.choice(LEAVES)
    if kind < 0.75:
        return [odd_value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    return {chance.choice(KEYS): odd_value(chance, depth + 1) for _ in range(chance.randint(0, 3))}


def shuffled(value: object, chance: random.Random) -> object:
    match value:
        case dict():
            items = [(key, shuffled(each, chance)) for key, each in value.items()]
            chance.shuffle(items)
            return dict(items)
        case list():
            return [shuffled(each, chance) for each in value]
        case _:
            return value


def test_every_recorded_call_finds_its_own_answer(tmp_path: Path) -> None:
    """In another order, with keys shuffled, new ids, other whitespace and other escapes."""
    chance = random.Random(7)  # noqa: S311 (any odd values do)
    calls = [
        {"name": f"t{n % 5}", "arguments": {"x": odd_value(chance), "n": n}} for n in range(200)
    ]
    first = [(n, call, json.dumps(call, ensure_ascii=bool(n % 2))) for n, call in enumerate(calls)]
    wide = (",", " : ")
    again = [
        (
            n + 1000,
            call,
            json.dumps(shuffled(call, chance), ensure_ascii=not n % 2, separators=wide),
        )
        for n, call in enumerate(calls)
    ]
    chance.shuffle(again)
    agent = """
for request_id, call, text in json.load(open("calls.json")):
    line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}'
    said = ask(line % (request_id, text.encode()))
    assert said["id"] == request_id, said
    assert said["result"]["content"][0]["text"] == str(call["arguments"]["n"]), said
server.stdin.close(); server.wait()
"""
    command = counted(tmp_path, agent)
    (tmp_path / "calls.json").write_text(json.dumps(first))
    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", *command,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip
    (tmp_path / "calls.json").write_text(json.dumps(again))

    replayed = mcprec(
        "replay", "a.mcp", *STRICT, "--", *command,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert recorded.status == 0, recorded.err
    assert replayed.status == 0, replayed.err
    assert "0 misses, 200 of 200" in replayed.err


def test_secrets_of_the_config_reach_the_server_and_not_the_cassette(tmp_path: Path) -> None:
    """They have no shape that anybody could know; a plain setting stays readable."""
    secrets = ["kx91-secret-value", "tt-4410-nobody-knows-this-shape"]
    (tmp_path / "srv.py").write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    text = f\"{sys.argv[2]}, {os.environ['TRACKER_TOKEN']}, LOG={os.environ['LOG']}\"\n"
        "    result = {'content': [{'type': 'text', 'text': text}]}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': result}), flush=True)\n"
    )
    ping = """b'{"jsonrpc":"2.0","id":1,"method":"ping"}'"""
    asked = f'print(ask({ping})["result"]["content"][0]["text"])'
    started = LINES.replace("**pipes)", '**pipes, env=os.environ | entry["env"])')
    (tmp_path / "agent.py").write_text(started + asked)
    entry(
        tmp_path,
        command=PYTHON,
        args=[str(tmp_path / "srv.py"), "--api-key", secrets[0]],
        env={"TRACKER_TOKEN": secrets[1], "LOG": "1"},
    )

    recorded = mcprec(
        "record", "--config", "mcp.json", "--out", "a.mcp", "--", PYTHON, "agent.py",
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip
    text = (tmp_path / "a.mcp").read_text()

    assert recorded.out == f"{secrets[0]}, {secrets[1]}, LOG=1\n", recorded.err
    assert not any(secret in text + recorded.err for secret in secrets)
    assert "LOG=1" in text


def test_a_config_is_swapped_in_place_and_put_back(tmp_path: Path) -> None:
    """For an agent that reads a fixed path; here one that is stopped in the middle, too."""
    path = stdio_entry(tmp_path)
    before = path.read_bytes()
    agent = [PYTHON, CLIENTS, "mcp2-auto", "--url", f"stdio:sh -c {shlex.quote(FROM_FILE)}"]
    # No argument is the config's path, so nothing but the swap leads the client.
    (tmp_path / "start.sh").write_text(FROM_FILE)

    recorded = mcprec(
        "record", "--config", "mcp.json", "--in-place", "--out", "a.mcp", "--", *agent,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip
    replayed = mcprec(
        "replay", "a.mcp", "--in-place", *STRICT, "--", *agent,
        environment=clean_environment(), folder=tmp_path,
    )  # fmt: skip

    assert recorded.status == 0, recorded.err
    assert hidden(replayed.out) == hidden(recorded.out), replayed.err
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.mcp", "mcp.json", "start.sh"]


# Starts the server of the config by its fixed path, spelt so that no option is led to the copy.
FROM_FILE = (
    f'exec {PYTHON} -c \'import json, os; name = "mcp" + ".json"; '
    'e = json.load(open(name))["mcpServers"]["peer"]; '
    'os.execv(e["command"], [e["command"], *e["args"]])\''
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_in_place_that_is_ended_puts_back(number: signal.Signals, tmp_path: Path) -> None:
    """After a SIGKILL the next start or `mcprec restore` does it."""
    path = stdio_entry(tmp_path)
    before = path.read_bytes()
    with serving(
        "record", "--config", "mcp.json", "--in-place", "--out", "a.mcp", folder=tmp_path
    ) as (process, _):
        assert path.read_bytes() != before
        second = mcprec(
            "record", "--config", "mcp.json", "--in-place", "--out", "b.mcp", "--", "true",
            environment=clean_environment(), folder=tmp_path,
        )  # fmt: skip
        process.send_signal(number)
        process.communicate(timeout=LONGEST_S)
    restored = mcprec("restore", environment=clean_environment(), folder=tmp_path)

    assert second.status == 2
    assert "another run has it swapped" in second.err
    assert restored.status == 0
    assert restored.out.startswith("nothing to put back") == (number is not signal.SIGKILL)
    assert path.read_bytes() == before


TALKING = """
call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"n":%d}}}'
for number in range(1000):
    ask(call % (number, number))
    print(number, server.pid, flush=True)
    if number == 5:
        sys.stdin.readline()
"""


@contextmanager
def talking(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Record an agent that has made six calls and waits; give mcprec and the relay's pid."""
    command = [
        *(PYTHON, "-m", "mcprec_addon", "record", "--config", "mcp.json", "--out", "a.mcp"),
        *("--", *counted(folder, "print(os.getpid(), flush=True)\n" + TALKING)),
    ]
    with subprocess.Popen(
        command, cwd=folder, env=clean_environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        agent = int(process.stdout.readline())
        relay = [int(process.stdout.readline().split()[1]) for _ in range(6)][-1]
        process.agent = agent  # type: ignore[attr-defined] # for the test alone
        try:
            yield process, relay
        finally:
            for pid in (agent, relay, process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue


def test_a_killed_agent_leaves_a_whole_cassette(tmp_path: Path) -> None:
    """What was said until then is there, and nobody is left behind."""
    with talking(tmp_path) as (process, relay):
        os.kill(process.agent, signal.SIGKILL)  # type: ignore[attr-defined]
        _, err = process.communicate(timeout=LONGEST_S)
        assert gone(relay)  # it takes its server with it

    assert process.returncode == 128 + signal.SIGKILL, err
    assert len(load_cassette(tmp_path / "a.mcp").exchanges) == 6


def test_a_killed_relay_is_a_server_that_died(tmp_path: Path) -> None:
    """The agent sees it as it would see its server die."""
    with talking(tmp_path) as (process, relay):
        os.kill(relay, signal.SIGKILL)
        _, err = process.communicate("\n", timeout=LONGEST_S)

    assert process.returncode == 1, err
    assert len(load_cassette(tmp_path / "a.mcp").exchanges) >= 6


def test_a_killed_server_breaks_the_call(tmp_path: Path) -> None:
    """Without us the agent would see the same."""
    with talking(tmp_path) as (process, _):
        os.kill(int((tmp_path / "server.pid").read_text()), signal.SIGKILL)
        _, err = process.communicate("\n", timeout=LONGEST_S)

    assert process.returncode == 1, err
    assert len(load_cassette(tmp_path / "a.mcp").exchanges) >= 6


def test_a_killed_recorder_does_not_hold_the_agent_up(tmp_path: Path) -> None:
    """The conversation goes on without it, and what was said before can be recovered."""
    with talking(tmp_path) as (process, _):
        until(lambda: b'"seq":6' in (tmp_path / ".a.mcp.journal").read_bytes())
        process.kill()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        last = [process.stdout.readline() for _ in range(994)][-1]
    recovered = mcprec(
        "recover", ".a.mcp.journal", environment=clean_environment(), folder=tmp_path
    )

    assert last.startswith("999 ")
    assert recovered.status == 4, recovered.err
    assert len(load_cassette(tmp_path / "a.mcp").exchanges) == 6

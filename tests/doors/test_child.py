"""The child of a run has its own environment, status and signals."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcprec_addon.doors.child import (
    Child,
    Doors,
    credential_variables,
    dummies,
    eval_environment,
    find_program,
    reached_directly,
    replay_environment,
    until_stopped,
    url_variable,
    with_urls,
)
from mcprec_addon.errors import UsageError

pytestmark = pytest.mark.door


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # what signal handlers of a loop belong to


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for ten seconds at most."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 (another process makes it hold)
            await asyncio.sleep(0.01)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("", 0),
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", 137),
    ],
    ids=["fine", "its own", "killed"],
)
async def test_the_status_is_the_childs_own(script: str, status: int) -> None:
    """A signal is 128 + n, as in a shell; nobody asked the run to stop."""
    child = Child([sys.executable, "-c", script], os.environ)

    assert await child.run() == status
    assert not child.was_stopped


@pytest.mark.anyio
async def test_the_child_has_our_output_and_the_given_environment(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """An agent behind a pipe must not notice us, and gets no variable that we kept back."""
    script = "import os; print(os.environ.get('A'), os.environ.get('B'))"

    await Child([sys.executable, "-c", script], {"A": "1"}).run()

    assert capfd.readouterr().out == "1 None\n"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("number", "trapped", "status"),
    [
        (signal.SIGTERM, True, 5),
        (signal.SIGTERM, False, 143),
        (signal.SIGINT, True, 5),
        (signal.SIGHUP, False, 129),
    ],
)
async def test_signals_reach_the_child(
    number: signal.Signals,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    trapped: bool,
) -> None:
    """A supervisor stops the agent through us; how it ends is the agent's own affair."""
    monkeypatch.setattr(os, "isatty", lambda _: False)
    ready = tmp_path / "ready"
    action = "lambda *_: sys.exit(5)" if trapped else "signal.SIG_DFL"
    script = (
        "import pathlib, signal, sys, time\n"
        f"signal.signal({int(number)}, {action})\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(30)"
    )
    child = Child([sys.executable, "-c", script], os.environ)
    running = asyncio.create_task(child.run())
    await until(ready.exists)

    os.kill(os.getpid(), number)

    assert await asyncio.wait_for(running, 10) == status
    assert child.was_stopped


@pytest.mark.anyio
async def test_ctrl_c_at_a_terminal_is_not_passed_on_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal sends it to the child as well, and a second one kills what cleans up."""
    monkeypatch.setattr(os, "isatty", lambda _: True)
    ready, go = tmp_path / "ready", tmp_path / "go"
    script = (
        "import pathlib, time\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        f"while not pathlib.Path({str(go)!r}).exists(): time.sleep(0.01)\n"
    )
    child = Child([sys.executable, "-c", script], os.environ)
    running = asyncio.create_task(child.run())
    await until(ready.exists)

    os.kill(os.getpid(), signal.SIGINT)
    await until(lambda: child.was_stopped)
    go.touch()

    assert await asyncio.wait_for(running, 10) == 0


@pytest.mark.anyio
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_without_a_child_a_signal_is_the_normal_end(number: signal.Signals) -> None:
    """Open doors stay open until a person or a supervisor says stop."""
    before = signal.getsignal(number)
    waiting = asyncio.create_task(until_stopped())
    await asyncio.sleep(0)

    os.kill(os.getpid(), number)
    await asyncio.wait_for(waiting, 10)

    assert signal.getsignal(number) in (before, signal.SIG_DFL, signal.default_int_handler)


def test_a_missing_program_is_named() -> None:
    """Before anything else is started; the child's own PATH counts."""
    find_program([sys.executable], {})
    with pytest.raises(UsageError, match="no-such-program: command not found"):
        find_program(["no-such-program"], os.environ)
    with pytest.raises(UsageError, match="python3: command not found"):
        find_program(["python3"], {"PATH": "/nowhere"})


@pytest.mark.anyio
async def test_a_file_that_is_no_program_is_an_error(tmp_path: Path) -> None:
    """One line that says why, and no traceback."""
    program = tmp_path / "agent"
    program.write_bytes(b"\x7fELF, but not really")
    program.chmod(0o755)

    with pytest.raises(UsageError, match="cannot be started, Exec format error"):
        await Child([str(program)], os.environ).run()


@pytest.mark.parametrize(
    "name",
    [
        *("A_TOKEN", "TOKEN", "B_API_KEY", "OPENAI_APIKEY", "MY_SECRET", "DB_PASSWORD", "X_PASSWD"),
        *("AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS", "NPM_AUTH", "a_token"),
    ],
)
def test_a_credential_is_told_by_its_name(name: str) -> None:
    """A replay gives every one of them a value that opens nothing."""
    assert credential_variables({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "name", ["MAX_TOKENS", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "TOKENIZER", "AUTHOR", "PATH"]
)
def test_other_variables_are_no_credentials(name: str) -> None:
    """A counter or a socket without its value breaks the agent."""
    assert credential_variables({name: "x"}) == {}


def test_an_empty_credential_is_none() -> None:
    """There is nothing to hide, and some programs test for the empty value."""
    assert credential_variables({"A_TOKEN": ""}) == {}


def test_a_replay_has_dummies_and_no_telemetry() -> None:
    """Real keys have no business in a replay, unless they are kept by name."""
    environment = {"OPENAI_API_KEY": "real", "MY_TOKEN": "real", "OTHER_TOKEN": "real", "A": "1"}

    stand_ins = dummies(environment, sources=["GONE"], keep=["MY_TOKEN"])
    made = replay_environment(environment | stand_ins, Doors())

    assert made["OPENAI_API_KEY"].startswith("sk-")
    assert made["ANTHROPIC_API_KEY"].startswith("sk-ant-")
    assert "" != made["OTHER_TOKEN"] != made["GONE"] != "real"
    assert (made["MY_TOKEN"], made["A"]) == ("real", "1")
    assert made["DISABLE_TELEMETRY"] == "1"


def test_a_variable_to_keep_that_is_not_set_stays_unset() -> None:
    """The agent may take another way where a key is absent."""
    made = dummies({}, sources=["TRACKER_TOKEN"], keep=["TRACKER_TOKEN", "ANTHROPIC_API_KEY"])

    assert made.keys().isdisjoint({"TRACKER_TOKEN", "ANTHROPIC_API_KEY"})


def test_the_doors_go_before_what_was_set() -> None:
    """An office proxy in the environment would lead a replay outside."""
    environment = {"HTTPS_PROXY": "http://office:3128", "no_proxy": "*", "OPENAI_BASE_URL": "x"}
    doors = Doors(
        proxy="http://127.0.0.1:9",
        model={"OPENAI_BASE_URL": "http://127.0.0.1:9/openai/v1"},
        direct=["127.0.0.1:9", "127.0.0.1:10"],
    )

    made = replay_environment(environment, doors)

    assert made["HTTPS_PROXY"] == made["https_proxy"] == "http://127.0.0.1:9"
    assert made["NO_PROXY"] == made["no_proxy"] == "127.0.0.1:9,127.0.0.1:10"
    assert made["OPENAI_BASE_URL"] == "http://127.0.0.1:9/openai/v1"
    assert made["NODE_USE_ENV_PROXY"] == "1"


def test_certificates_replace_or_add_as_each_client_takes_them() -> None:
    """A trust store that holds our authority alone would break every other connection."""
    doors = Doors(bundle=Path("/run/bundle.pem"), added=Path("/run/ours.pem"), run_dir=Path("/run"))

    assert doors.variables() == {
        **dict.fromkeys(
            (
                "SSL_CERT_FILE",
                "REQUESTS_CA_BUNDLE",
                "CURL_CA_BUNDLE",
                "AWS_CA_BUNDLE",
                "GIT_SSL_CAINFO",
            ),
            "/run/bundle.pem",
        ),
        **dict.fromkeys(("NODE_EXTRA_CA_CERTS", "DENO_CERT"), "/run/ours.pem"),
        "MCPREC_RUN_DIR": "/run",
    }


def test_without_a_proxy_none_is_named() -> None:
    """Base URLs alone leave the child's other traffic as it is."""
    doors = Doors(servers={"my-server.2": "http://127.0.0.1:8/mcp"})

    assert doors.variables() == {"MCPREC_URL_MY_SERVER_2": "http://127.0.0.1:8/mcp"}
    assert url_variable("wiki") == "MCPREC_URL_WIKI"


def test_addresses_reach_the_command() -> None:
    """`{url:NAME}` stands for a server's door, anywhere in an argument; other braces stay."""
    command = ["run", "{url:a}/x", "--a={url:a}", "{config}", "{}"]

    assert with_urls(command, {"a": "http://d"}) == [
        "run",
        "http://d/x",
        "--a=http://d",
        "{config}",
        "{}",
    ]


@pytest.mark.parametrize(
    ("urls", "known"), [({"b": "http://d", "a": "http://e"}, "a, b"), ({}, "none")]
)
def test_an_address_of_no_server_is_refused(urls: dict[str, str], known: str) -> None:
    """The line names the servers there are."""
    with pytest.raises(UsageError, match=f"no such server in this run; there is {known}$"):
        with_urls(["{url:c}"], urls)


def test_an_evals_child_keeps_what_leads_to_its_model() -> None:
    """Dummies are for what the recorded servers were asked with."""
    environment = {"OPENAI_API_KEY": "live", "TRACKER_TOKEN": "live", "OTHER": "live"}

    seen = eval_environment(environment, used=["TRACKER_TOKEN", "OPENAI_API_KEY"], keep=[])
    kept = eval_environment(environment, used=["TRACKER_TOKEN"], keep=["TRACKER_TOKEN"])

    assert seen == {**environment, "TRACKER_TOKEN": "mcprec-dummy-tracker_token"}
    assert kept == environment


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({}, None),
        ({"NO_PROXY": "a"}, None),
        ({"https_proxy": "http://p"}, "127.0.0.1:9"),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "a,b"}, "a,b,127.0.0.1:9"),
        ({"ALL_PROXY": "http://p", "no_proxy": "*"}, None),
    ],
)
def test_our_ports_are_past_the_childs_own_proxy(
    environment: dict[str, str], added: str | None
) -> None:
    """It would look for them on its own machine."""
    found = reached_directly(environment, ["127.0.0.1:9"])

    assert found == ({} if added is None else {"NO_PROXY": added, "no_proxy": added})

"""The child of a run: its environment, and its life in the foreground.

The child gets stdin, stdout and signals as without us, and its exit status is its own.
"""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mcprec_addon.errors import UsageError
from mcprec_addon.wire.providers import PROVIDERS

_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# These replace a client's trust store, so they get a bundle; the others add to it.
_BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
)
_ADDING_VARIABLES = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")
_CREDENTIAL = re.compile(
    r"(?i)(^|_)(api_?key|token|secret|passw(or)?d|credentials?|access_?key(_id)?|auth)$"
)
_NOT_CREDENTIALS = frozenset({"SSH_AUTH_SOCK", "GPG_AGENT_INFO"})
_OF_PROVIDERS = frozenset[str]().union(*(row.credentials for row in PROVIDERS.values()))
_DUMMY = "mcprec-dummy"
_NO_TELEMETRY = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
    "DISABLE_TELEMETRY": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_STOPS = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if name in signal.Signals.__members__  # Windows has no SIGHUP
)
_STANDARD = (0, 1, 2)  # stdin, stdout, stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What a run's child is told of its doors.

    Attributes:
        proxy: Address of the proxy, or None where base URLs alone are used.
        model: Base URLs of model APIs by variable, or empty where the proxy alone is used.
        servers: Address by server label.
        bundle: File for variables that replace a trust store.
        added: File for variables that add to one.
        direct: ``host:port`` that must not go through the proxy.
        run_dir: The run's private folder.
    """

    proxy: str | None = None
    model: Mapping[str, str] = field(default_factory=dict[str, str])
    servers: Mapping[str, str] = field(default_factory=dict[str, str])
    bundle: Path | None = None
    added: Path | None = None
    direct: Sequence[str] = ()
    run_dir: Path | None = None

    def variables(self) -> dict[str, str]:
        """Return the variables that lead a child through these doors."""
        found: dict[str, str] = {}
        found |= self.model
        found |= {url_variable(label): url for label, url in self.servers.items()}
        if self.proxy is not None:
            for name in _PROXY_VARIABLES:
                found |= {name: self.proxy, name.lower(): self.proxy}
            found |= {
                "NO_PROXY": ",".join(self.direct),
                "no_proxy": ",".join(self.direct),
            }
            found["NODE_USE_ENV_PROXY"] = "1"
        if self.bundle is not None:
            found |= dict.fromkeys(_BUNDLE_VARIABLES, str(self.bundle))
        if self.added is not None:
            found |= dict.fromkeys(_ADDING_VARIABLES, str(self.added))
        if self.run_dir is not None:
            found["MCPREC_RUN_DIR"] = str(self.run_dir)
        return found


def url_variable(label: str) -> str:
    """Return the variable that tells a child where the server of this label is."""
    return "MCPREC_URL_" + re.sub(r"[^A-Z0-9]", "_", label.upper())


def with_urls(command: Sequence[str], urls: Mapping[str, str]) -> list[str]:
    """Return a command with ``{url:NAME}`` replaced by the server's address.

    Raises:
        UsageError: A name is no server of this run.
    """

    def address(match: re.Match[str]) -> str:
        name = match[1]
        if name not in urls:
            known = ", ".join(sorted(urls)) or "none"
            message = f"{{url:{name}}}: no such server in this run; there is {known}"
            raise UsageError(message)
        return urls[name]

    return [re.sub(r"\{url:([^{}]+)\}", address, argument) for argument in command]


def is_credential_name(name: str) -> bool:
    """Return whether the name of a variable or flag says that it holds a credential."""
    is_named = _CREDENTIAL.search(name) is not None or name in _OF_PROVIDERS
    return is_named and name not in _NOT_CREDENTIALS


def credential_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose names say that they hold a credential."""
    return {
        name: value for name, value in environment.items() if value and is_credential_name(name)
    }


def dummies(
    environment: Mapping[str, str], *, sources: Iterable[str], keep: Iterable[str]
) -> dict[str, str]:
    """Return stand-ins of a valid shape for every credential a replayed child may look for.

    Args:
        environment: The environment mcprec was started with.
        sources: Names of variables that held a secret while recording.
        keep: Variables that keep their value.
    """
    names = {*sources, *credential_variables(environment)}
    # One for each variable: a replay tells by its value which secret it stands for.
    found = {name: f"{_DUMMY}-{name.lower()}" for name in names}
    for provider in PROVIDERS.values():
        found |= provider.dummies
    kept = set(keep)
    return {name: value for name, value in found.items() if name not in kept}


def replay_environment(environment: Mapping[str, str], doors: Doors) -> dict[str, str]:
    """Return the environment of a replayed child: doors, and no telemetry."""
    return {**environment, **_NO_TELEMETRY, **doors.variables()}


def eval_environment(
    environment: Mapping[str, str], *, used: Iterable[str], keep: Iterable[str]
) -> dict[str, str]:
    """Return an environment in which what was used for MCP alone holds stand-ins.

    Args:
        environment: The environment mcprec was started with.
        used: Names of variables that the MCP half used; those of model APIs are left alone.
        keep: Variables that keep their value.
    """
    of_models = {name for row in PROVIDERS.values() for name in (*row.dummies, *row.credentials)}
    names = {*used} - of_models - {*keep}
    return {**environment, **{name: f"{_DUMMY}-{name.lower()}" for name in sorted(names)}}


def reached_directly(environment: Mapping[str, str], hosts: Sequence[str]) -> dict[str, str]:
    """Return the variables that let a child past its own proxy to these hosts alone.

    Args:
        environment: The child's.
        hosts: ``host:port`` each.
    """
    names = [spelt for name in _PROXY_VARIABLES for spelt in (name, name.lower())]
    if not any(environment.get(name) for name in names):
        return {}
    before = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if before.strip() == "*":
        return {}
    value = ",".join(filter(None, [before, *hosts]))
    return {"NO_PROXY": value, "no_proxy": value}


def find_program(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Check that the command can be started.

    Raises:
        UsageError: It is not there.
    """
    if shutil.which(command[0], path=environment.get("PATH")) is None:
        message = f"{command[0]}: command not found; give the agent's command after --"
        raise UsageError(message)


class Child:
    """One child in the foreground; signals that we get are passed on to it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self.was_stopped = False

    async def run(self) -> int:
        """Start the child and wait for it.

        Returns:
            Its exit status, 128 + n where signal n ended it.

        Raises:
            UsageError: It cannot be started.
        """
        try:
            process = await asyncio.create_subprocess_exec(*self._command, env=self._environment)
        except OSError as error:
            message = f"{self._command[0]}: cannot be started, {error.strerror}"
            raise UsageError(message) from error
        with stops_handled(lambda number: self._pass_on(process, number)):
            status = await process.wait()
        return status if status >= 0 else 128 - status

    def _pass_on(self, process: asyncio.subprocess.Process, number: signal.Signals) -> None:
        self.was_stopped = True
        # A terminal sends Ctrl-C to the whole foreground group: the child has it already.
        if number is signal.SIGINT and any(map(os.isatty, _STANDARD)):
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)


async def until_stopped() -> None:
    """Wait for Ctrl-C, SIGTERM or the end of the terminal."""
    stopped = asyncio.Event()
    with stops_handled(lambda _: stopped.set()):
        await stopped.wait()


@contextmanager
def stops_handled(handle: Callable[[signal.Signals], None]) -> Generator[None]:
    """Handle what asks us to end, then put back how that was handled before."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _STOPS}
    for number in _STOPS:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)

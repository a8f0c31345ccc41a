"""The recorded MCP servers of a replay, and which one stands for each server an agent knows of.

A server is found by its label, then by its address, then as the only one of the cassette.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcprec_addon.agent_servers import AgentServers, Lead, made_copy, stand_in
from mcprec_addon.doors.routes import HOST, Ways, door_url
from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Half, Server
from mcprec_addon.replay.staging import recorded_labels
from mcprec_addon.wire.http import server_address

_PATH = "/mcp"  # where a server that was recorded on stdio is served over HTTP


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedServers:
    """What one replay plays, and for whom.

    Attributes:
        cassette: What is replayed.
        servers: What the agent knows of.
        recorded: Servers of the cassette by label.
        label_of: Label in the cassette by the agent's own name for the server.
        missing: The config that the cassette names and that is not there, or None.
        via: The way in that was asked for; None for the recorded one.
    """

    cassette: Cassette
    servers: AgentServers
    recorded: Mapping[str, Server]
    label_of: Mapping[str, str] = field(default_factory=dict[str, str])
    missing: Path | None = None
    via: Ways | None = None

    @classmethod
    def find(
        cls,
        cassette: Cassette,
        servers: AgentServers,
        *,
        path: Path,
        halves: frozenset[Half],
        environment: Mapping[str, str],
        via: Ways | None = None,
    ) -> "PlayedServers":
        """Find the recorded server for each that the agent knows of.

        Args:
            cassette: What is replayed.
            servers: What the agent knows of; configs named in the cassette where it has none.
            path: The cassette's file.
            halves: Which halves are replayed.
            environment: What references in configs are resolved with.
            via: The way in that was asked for; None for the recorded one.

        Raises:
            UsageError: A config cannot be read, or knows a server that the cassette does not.
        """
        named = [path.parent / each for each in cassette.header.config]
        if not servers.configs:
            there = [each for each in named if each.is_file()]
            servers = AgentServers.read(there, http=servers.http, shims=servers.shims)
        recorded = recorded_servers(cassette)
        found = _found(servers, recorded, environment)
        known = ", ".join(recorded) or "none"
        problems = [
            f'{where}: server "{name}" is not in {path}, which knows {known}; '
            "record again, or disable it"
            for name, where in servers.names().items()
            if name not in found
        ]
        if problems and "mcp" in halves:
            raise UsageError("\n".join(problems))
        missing = next((each for each in named if not each.is_file()), None)
        return cls(
            cassette=cassette,
            servers=servers,
            recorded=recorded,
            label_of=found,
            missing=missing,
            via=via,
        )

    def warnings(self) -> Iterator[str]:
        """Yield a line for each thing through which an agent may reach a live server."""
        if self.missing is not None:
            yield (
                f"{self.missing} is not there, and the agent's config was recorded under that "
                "name; give it with --config, or the agent may start live servers"
            )
        for label, server in self.recorded.items():
            if not _is_stdio(server) or label in self.label_of.values() or self.missing:
                continue
            yield (
                f"{label} is in the cassette and in no config; "
                f"if the agent's code starts it, add --stdio {label}='{server.command or 'CMD'} …'"
            )

    def addresses(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the label in the cassette of each address the agent knows."""
        known = self.servers.addresses(environment, need_all=False)
        return {url: self.label_of[name] for name, url in known.items() if name in self.label_of}

    def options(self) -> list[str] | None:
        """Return the options that declared the agent's servers; None where none did."""
        return self.servers.options() or None

    def has_stdio(self) -> bool:
        """Whether processes may stand for servers in this replay."""
        if self.servers.commands():
            return True
        return not self.servers.configs and any(map(_is_stdio, self.recorded.values()))

    def urls(self, ports: Mapping[str, int], environment: Mapping[str, str]) -> dict[str, str]:
        """Return where each server is reached, by the agent's names and the cassette's.

        Args:
            ports: Port of the door of each recorded server.
            environment: What references in configs are resolved with.
        """
        own = self.servers.addresses(environment, need_all=False)
        found: dict[str, str] = {}
        for name, label in {**{label: label for label in self.recorded}, **self.label_of}.items():
            url = own.get(name) or self.recorded[label].url or f"http://{HOST}{_PATH}"
            found[name] = url if self._stays(label) else door_url(ports[label], url)
        return found

    def _stays(self, label: str) -> bool:
        """Whether a server keeps its address, because it is reached through the proxy."""
        server = self.recorded[label]
        return server.url is not None and (self.via or server.via) == "proxy"

    def lead(self, folder: Path, *, socket: Path, urls: Mapping[str, str]) -> Lead:
        """Write what leads the agent to the doors into a run's private folder."""
        doors = {
            name: urls[name] for name, label in self.label_of.items() if not self._stays(label)
        }
        lead = self.servers.lead(folder, socket=socket, urls=doors, labels=self.label_of)
        if self.servers.configs:
            return lead
        commands = {
            label: stand_in(socket, label)
            for label, server in self.recorded.items()
            if _is_stdio(server)
        }
        others = {label: urls[label] for label in self.recorded if label not in commands}
        sse = sse_labels(self.recorded)
        copies = made_copy(folder, commands=commands, urls=others, sse=sse, original=self.missing)
        return replace(lead, copies=copies)


def recorded_servers(cassette: Cassette) -> dict[str, Server]:
    """Return the servers of a cassette by label, in the order of its header."""
    header = cassette.header.servers
    return {label: header.get(label, Server()) for label in recorded_labels(cassette)}


def sse_labels(recorded: Mapping[str, Server]) -> frozenset[str]:
    """Return the labels of servers that were recorded over HTTP+SSE."""
    return frozenset(label for label, each in recorded.items() if each.transport == "sse")


def _is_stdio(server: Server) -> bool:
    return server.transport == "stdio"


def _found(
    servers: AgentServers, recorded: Mapping[str, Server], environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the label in the cassette of each server that the agent names."""
    names = servers.names()
    found = {name: name for name in names if name in recorded}
    by_address = {
        server_address(server.url): label for label, server in recorded.items() if server.url
    }
    for name, url in servers.addresses(environment, need_all=False).items():
        label = by_address.get(server_address(url))
        if label is not None:
            found.setdefault(name, label)
    if len(names) == len(recorded) == 1:
        return dict.fromkeys(names, next(iter(recorded)))
    return found

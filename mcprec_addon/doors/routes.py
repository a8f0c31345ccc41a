"""Which upstream a request at one of a recording's own ports is meant for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

HOST = "127.0.0.1"
"""Where a run listens: loopback alone."""
type Ways = Literal["both", "base-url", "proxy"]
"""Which ways in a run opens."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request goes: scheme, host, port and path with query."""

    scheme: str
    host: str
    port: int
    path: str
    label: str | None = None
    provider: str | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port, the default one left out."""
        default = _DEFAULT_PORTS.get(self.scheme) == self.port
        return f"{self.scheme}://{self.host}{'' if default else f':{self.port}'}"

    @property
    def url(self) -> str:
        """The absolute URL."""
        return f"{self.origin}{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRoute:
    """A port of its own for one MCP server: paths stay as they are."""

    label: str
    upstream: str

    def target(self, path: str) -> Target:
        """Return where a request for `path` goes."""
        return _target(self.upstream, path, self.label)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRoute:
    """One port for all model APIs, a prefix for each provider; behind it paths stay as they are."""

    upstreams: Mapping[str, str]

    def target(self, path: str) -> Target | None:
        """Return where a request for `path` goes, or None where the prefix is unknown."""
        prefix, slash, rest = path.removeprefix("/").partition("/")
        upstream = self.upstreams.get(prefix)
        if upstream is None:
            return None
        return replace(_target(upstream, slash + rest, None), provider=prefix)


type Route = ServerRoute | ModelRoute


def _target(upstream: str, path: str, label: str | None) -> Target:
    parts = urlsplit(upstream)
    return Target(
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=parts.port or _DEFAULT_PORTS.get(parts.scheme, 80),
        path=path or "/",
        label=label,
    )


def door_url(port: int, upstream: str) -> str:
    """Return the address that stands for `upstream` at one of our ports, its path kept."""
    parts = urlsplit(upstream)
    query = f"?{parts.query}" if parts.query else ""
    return f"http://{HOST}:{port}{parts.path}{query}"

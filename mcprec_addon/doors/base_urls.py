"""Where base-URL variables lead: to the service while it is recorded, to our port in its place.

Behind our port each provider has a prefix, and behind that paths stay as they are.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcprec_addon.doors.routes import HOST
from mcprec_addon.wire.http import origin_of
from mcprec_addon.wire.provider import Provider
from mcprec_addon.wire.providers import PROVIDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    """Where a provider is reached.

    Attributes:
        url: Scheme and host, with what stands before the paths of the API.
        variables: Variables that lead there, each with what it has behind the address.
    """

    url: str
    variables: Mapping[str, str]


def model_upstreams(environment: Mapping[str, str]) -> dict[str, str]:
    """Return where each provider's live traffic goes: a variable set already, or its API.

    A provider is not there if neither says where it is, or if clients sign the address of its
    API: that one is left to the proxy.

    Args:
        environment: The environment mcprec was started with.
    """
    return {name: each.url for name, each in _live(environment).items()}


def live_variables(port: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that lead clients of live APIs to a port of ours.

    Args:
        port: The port.
        environment: What is set already keeps its path.
    """
    return _led(port, _live(environment), HOST)


def played_variables(
    port: int, recorded: Collection[str] = (), *, host: str = HOST
) -> dict[str, str]:
    """Return the variables that lead clients to a port that answers in place of the APIs.

    Args:
        port: The port.
        recorded: Providers that have calls: the address of some is the customer's to say, and
            elsewhere a variable for it might tell an agent to use them.
        host: The host of the port.
    """
    addresses = {
        name: _Address(url=row.upstream or "", variables=row.base_urls)
        for name, row in PROVIDERS.items()
        if row.upstream is not None or name in recorded
    }
    return _led(port, addresses, host)


def needed_variables(environment: Mapping[str, str], recorded: Collection[str]) -> dict[str, str]:
    """Return what recorded clients need besides to start, where a replay has not got it."""
    rows = (PROVIDERS[name] for name in recorded if name in PROVIDERS)
    return {
        name: value
        for row in rows
        for name, (value, others) in row.needed.items()
        if not any(environment.get(each) for each in (name, *others))
    }


def _led(port: int, addresses: Mapping[str, _Address], host: str) -> dict[str, str]:
    return {
        variable: f"http://{host}:{port}/{name}{urlsplit(address.url).path.rstrip('/')}{suffix}"
        for name, address in addresses.items()
        for variable, suffix in address.variables.items()
    }


def _live(environment: Mapping[str, str]) -> dict[str, _Address]:
    found = {name: _address(row, environment) for name, row in PROVIDERS.items()}
    return {name: each for name, each in found.items() if each is not None}


def _address(row: Provider, environment: Mapping[str, str]) -> _Address | None:
    given = {
        variable: _url(value, row.upstream or "").rstrip("/")
        for variable in row.base_urls
        if (value := environment.get(variable, "").strip())
    }
    is_open = row.upstream is not None and not row.signs_host
    if not given:
        usual = _Address(url=row.upstream or "", variables=row.base_urls)
        return usual if is_open and row.base_urls else None
    variable, first = next(iter(given.items()))
    # A path without what the variable usually has behind the address has nothing to add.
    suffix = row.base_urls[variable]
    is_usual = first.endswith(suffix)
    url = first.removesuffix(suffix)
    return _Address(
        url=url,
        variables={
            name: usual if is_usual else ""
            for name, usual in row.base_urls.items()
            # One that leads elsewhere is left to the proxy, as are others of a service of
            # one's own: that it is led says which one an agent is to use.
            if (is_open if name not in given else origin_of(given[name]) == origin_of(first))
        },
    )


def _url(value: str, usual: str) -> str:
    """Return an address with its scheme, and of a host alone with the usual port."""
    if "://" in value:
        return value
    host, slash, path = value.partition("/")
    host = host.replace("0.0.0.0", HOST)  # noqa: S104 - where a server listens
    parts = urlsplit(usual)
    scheme = parts.scheme or "http"
    if host.startswith(":"):
        host = f"{parts.hostname or HOST}{host}"
    if urlsplit(f"//{host}").port is None and parts.port is not None:
        host = f"{host}:{parts.port}"
    return f"{scheme}://{host}{slash}{path}"

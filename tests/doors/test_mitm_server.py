"""A mitmproxy in this process listens where it is told, and stops."""

import socket
from contextlib import closing
from pathlib import Path

import pytest

from mcprec_addon.doors.mitm_server import MitmServer, free_ports, office_proxy, upstream_ca
from mcprec_addon.errors import ListenError

pytestmark = [pytest.mark.door, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # mitmproxy's own loop


@pytest.fixture(autouse=True)
def _no_proxies_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class Nothing:
    name = "nothing"


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_it_listens_until_it_is_stopped(tmp_path: Path) -> None:
    """A door that stays open behind a run would record the next one's traffic."""
    ports = free_ports(3)
    server = MitmServer(confdir=tmp_path)

    await server.start(Nothing(), proxy_port=ports[0], ports=ports[1:])
    listening = list(map(answers, ports))
    await server.stop()

    assert listening == [True, True, True]
    assert list(map(answers, ports)) == [False, False, False]


async def test_its_certificate_is_made_for_this_run_alone(tmp_path: Path) -> None:
    """A shared authority would let one run read another's traffic."""
    authorities: list[bytes] = []
    for folder in ("a", "b"):
        server = MitmServer(confdir=tmp_path / folder)
        await server.start(Nothing(), proxy_port=free_ports(1)[0], ports=[])
        authorities.append(server.ca_pem)
        await server.stop()

    assert all(b"BEGIN CERTIFICATE" in pem for pem in authorities)
    assert authorities[0] != authorities[1]


async def test_stopping_twice_and_before_the_start_is_fine(tmp_path: Path) -> None:
    """A run that fails half-way closes what there is."""
    server = MitmServer(confdir=tmp_path)
    await server.stop()
    await server.start(Nothing(), proxy_port=free_ports(1)[0], ports=[])

    await server.stop()
    await server.stop()


@pytest.mark.parametrize("taken_by", ["proxy", "server"])
async def test_a_taken_port_is_an_error(taken_by: str, tmp_path: Path) -> None:
    """Traffic that goes to someone else's port would be recorded by nobody; nothing stays open."""
    free = free_ports(1)[0]
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port: int = taken.getsockname()[1]
        proxy_port, other = (port, free) if taken_by == "proxy" else (free, port)
        server = MitmServer(confdir=tmp_path)

        with pytest.raises(ListenError, match=f"127.0.0.1:{port}, the port is in use") as caught:
            await server.start(Nothing(), proxy_port=proxy_port, ports=[other])

    assert caught.value.address == f"127.0.0.1:{port}"
    assert not answers(free)


def test_free_ports_are_all_different() -> None:
    """Two doors on one port are one door."""
    ports = free_ports(20)

    assert len(set(ports)) == 20
    assert not any(map(answers, ports))


@pytest.mark.parametrize(
    ("variable", "address", "scheme", "proxy"),
    [
        ("HTTPS_PROXY", "http://proxy.corp:3128", "https", ("http", ("proxy.corp", 3128))),
        ("https_proxy", "https://proxy.corp:3129", "https", ("https", ("proxy.corp", 3129))),
        ("http_proxy", "http://proxy.corp:3128", "http", ("http", ("proxy.corp", 3128))),
        ("ALL_PROXY", "proxy.corp:3128", "https", ("http", ("proxy.corp", 3128))),
        ("HTTPS_PROXY", "http://me:pw@proxy.corp", "https", ("http", ("proxy.corp", 80))),
        ("http_proxy", "http://proxy.corp:3128", "https", None),
        ("HTTPS_PROXY", "", "https", None),
        ("HTTPS_PROXY", "http://", "https", None),
    ],
)
def test_the_users_proxy_is_taken_over(
    variable: str,
    address: str,
    scheme: str,
    proxy: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind an office proxy nothing outside is reached without it."""
    monkeypatch.setenv(variable, address)

    assert office_proxy(scheme, "api.openai.com", 443) == proxy


@pytest.mark.parametrize(
    ("past", "host", "port", "is_direct"),
    [
        ("internal.corp", "internal.corp", 443, True),
        ("internal.corp", "wiki.internal.corp", 443, True),
        (".corp", "internal.corp", 443, True),
        ("internal.corp:8443", "internal.corp", 8443, True),
        ("internal.corp:8443", "internal.corp", 443, False),
        ("other.corp, 127.0.0.1", "127.0.0.1", 9, True),
        ("*", "api.openai.com", 443, True),
        ("internal.corp", "api.openai.com", 443, False),
    ],
)
def test_what_goes_past_the_users_proxy_still_does(
    past: str, host: str, port: int, *, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An office proxy often cannot reach what is inside the office."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.corp:3128")
    monkeypatch.setenv("NO_PROXY", past)

    assert (office_proxy("https", host, port) is None) is is_direct


def test_without_a_proxy_there_is_none() -> None:
    """Most machines have a direct way out."""
    assert office_proxy("https", "api.openai.com", 443) is None


def test_the_users_bundle_checks_upstream_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corporate authority is in the user's own bundle; one that is gone is not asked."""
    bundle, gone = tmp_path / "corporate.pem", tmp_path / "gone.pem"
    bundle.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(gone))
    assert upstream_ca() is None

    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    assert upstream_ca() == str(bundle)

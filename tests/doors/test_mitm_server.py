"""A mitmproxy in this process listens where it is told, and stops."""

import socket
from pathlib import Path

import pytest

from mcprec_addon.doors.mitm_server import MitmServer, free_ports, office_proxy
from mcprec_addon.errors import ListenError

pytestmark = [pytest.mark.door, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # mitmproxy's own loop


class Nothing:
    name = "nothing"


async def test_a_taken_port_is_an_error(tmp_path: Path) -> None:
    """Traffic that goes elsewhere would be recorded by nobody."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = MitmServer(confdir=tmp_path)
        with pytest.raises(ListenError, match=str(port)):
            await server.start(Nothing(), proxy_port=free_ports(1)[0], ports=[port])


async def test_it_listens_until_it_is_stopped(tmp_path: Path) -> None:
    """Its certificate is made for this run alone."""
    ports = free_ports(2)
    server = MitmServer(confdir=tmp_path)
    await server.start(Nothing(), proxy_port=ports[0], ports=ports[1:])
    assert b"BEGIN CERTIFICATE" in server.ca_pem
    await server.stop()

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", ports[0])) != 0


async def test_the_users_proxy_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so are the hosts that go past it."""
    monkeypatch.setenv("https_proxy", "http://proxy.corp:3128")
    monkeypatch.setenv("no_proxy", "internal.corp")

    assert office_proxy("https", "api.openai.com", 443) == ("http", ("proxy.corp", 3128))
    assert office_proxy("https", "internal.corp", 443) is None

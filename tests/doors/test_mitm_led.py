"""Through the proxy an eval's MCP calls reach the recording, and all else goes on, live."""

import pytest
from mitmproxy.test import tflow, tutils

from mcprec_addon.doors.mitm_led import LedAddon, led
from mcprec_addon.wire.http import HttpRequest, Reply

pytestmark = pytest.mark.door


def test_what_is_taken_is_led_to_the_door() -> None:
    """Past the user's own proxy, and with the address that was asked."""
    addon = LedAddon(lambda _: True, port=9, chain=lambda *_: ("http", ("corp", 8080)))
    flow = tflow.tflow(req=tutils.treq(host="mcp.acme.com", port=443, scheme=b"https"))

    addon.requestheaders(flow)
    addon.request(flow)

    assert (flow.request.data.host, flow.request.data.port) == ("127.0.0.1", 9)
    assert flow.server_conn.via is None
    assert flow.request.headers["x-mcprec-url"] == "https://mcp.acme.com/path"


def test_everything_else_goes_on_as_it_was_meant_to() -> None:
    """Through the proxy that the user's own environment names."""
    addon = LedAddon(lambda _: False, port=9, chain=lambda *_: ("http", ("corp", 8080)))
    flow = tflow.tflow(req=tutils.treq(host="api.openai.com", port=443, scheme=b"https"), resp=True)

    addon.requestheaders(flow)
    addon.request(flow)
    addon.responseheaders(flow)

    assert flow.request.data.host == "api.openai.com"
    assert flow.server_conn.via == ("http", ("corp", 8080))
    assert flow.response is not None
    assert flow.response.stream is True
    assert "x-mcprec-url" not in flow.request.headers


def test_the_door_sees_a_request_as_it_was_made() -> None:
    """By its address a server is found, and its way in is compared with the recorded one."""
    seen: list[HttpRequest] = []

    def respond(request: HttpRequest) -> Reply:
        seen.append(request)
        return Reply(status=202)

    lines = (("x-mcprec-url", "https://h/mcp"), ("x-mcprec-via", "proxy"), ("a", "b"))
    led(respond)(HttpRequest(method="POST", url="http://127.0.0.1:9/mcp", headers=lines))
    led(respond)(HttpRequest(method="POST", url="http://127.0.0.1:9/x"))

    assert (seen[0].url, seen[0].via, seen[0].headers) == ("https://h/mcp", "proxy", (("a", "b"),))
    assert seen[1].url == "http://127.0.0.1:9/x"

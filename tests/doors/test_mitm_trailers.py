"""A trailer behind a body costs neither the body nor the exchange."""

import pytest
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.proxy.layers.http import _http1

from mcprec_addon.doors.mitm_trailers import let_trailers_pass

pytestmark = pytest.mark.door


def test_a_body_ends_behind_its_trailers() -> None:
    """Mitmproxy raises at one, and the agent's answer breaks off."""
    let_trailers_pass()
    data = ReceiveBuffer()
    data += b"1;pad=1\r\nx\r\n0;pad=2\r\nX-Sum: 9\r\n\r\nHTTP/1.1 200 OK"
    reader = _http1.make_body_reader(None)

    body, end = reader(data), reader(data)

    assert getattr(body, "data", None) == b"x"
    assert getattr(end, "headers", None) == []
    assert bytes(data) == b"HTTP/1.1 200 OK"

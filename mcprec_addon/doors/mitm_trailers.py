"""Chunked bodies that end in trailers: mitmproxy would break off, so they pass without these.

RFC 9112, 7.1.2: a recipient may discard the trailer section; nothing of it is recorded either.
"""

from h11 import Data, EndOfMessage
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.proxy.layers.http import _http1  # pyright: ignore[reportPrivateUsage]


class _WithoutTrailers(ChunkedReader):
    """Reads a chunked body; its trailers end it and are forgotten."""

    def __call__(self, buf: ReceiveBuffer) -> Data | EndOfMessage | None:
        event = super().__call__(buf)
        return EndOfMessage() if isinstance(event, EndOfMessage) else event


def let_trailers_pass() -> None:
    """Have mitmproxy read chunked bodies without their trailers, in this process."""
    # There is no other way to have them: the class stands in its module, and nowhere else.
    _http1.ChunkedReader = _WithoutTrailers  # type: ignore[attr-defined]

"""The first event of HTTP+SSE, which tells a client where to post.

Clients refuse an endpoint of another origin than the stream's, so it stays within one.

Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".
"""

from urllib.parse import urljoin, urlsplit

from mcprec_addon.wire.sse import SseEvent, encode_event

_NAME = "endpoint"
_MOST_HELD = 8192  # bytes; no address in use is longer


def endpoint_url(event: SseEvent, stream_url: str) -> str | None:
    """Return the absolute address that an event tells to post to, or None where it is another.

    Args:
        event: The first event of a stream.
        stream_url: Where the stream was asked for.
    """
    if event.event != _NAME or not event.data:
        return None
    url = urljoin(stream_url, event.data)
    own, other = urlsplit(stream_url), urlsplit(url)
    return url if (own.scheme, own.netloc) == (other.scheme, other.netloc) else None


def endpoint_event(path: str) -> bytes:
    """Return the event that tells a client to post to `path`."""
    return encode_event(path, event=_NAME)


class EndpointLead:
    """Leads an absolute endpoint within a server's origin to a door that stands for it.

    Bytes are held back until the first event is whole, which no client acts on before; a
    relative endpoint, and all that follows, passes as it came.
    """

    def __init__(self, origin: str, door: str) -> None:
        """Begin with a stream.

        Args:
            origin: The server's scheme, host and port.
            door: What the client knows in their place.
        """
        self._origin = origin.encode()
        self._door = door.encode()
        self._held: bytearray | None = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """Return what goes to the client now; an empty chunk is the end of the stream."""
        if self._held is None:
            return chunk
        self._held += chunk
        is_whole = any(end in self._held for end in (b"\n\n", b"\r\r", b"\r\n\r\n"))
        if chunk and not is_whole and len(self._held) < _MOST_HELD:
            return b""
        held, self._held = bytes(self._held), None
        for space in (b"", b" "):
            absolute = b"data:" + space + self._origin + b"/"
            if b"endpoint" in held and absolute in held:
                return held.replace(absolute, b"data:" + space + self._door + b"/", 1)
        return held

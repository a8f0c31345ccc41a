"""Which headers of an answer a cassette keeps: those a client may act on."""

from collections.abc import Iterable, Mapping

# Describe the connection, the server or a cache on the way, not the answer.
_DROPPED = frozenset(
    [
        "age",
        "alt-svc",
        "cache-control",
        "cf-cache-status",
        "cf-ray",
        "connection",
        "content-encoding",
        "content-length",
        "content-security-policy",
        "date",
        "etag",
        "expires",
        "keep-alive",
        "last-modified",
        "mcp-session-id",
        "nel",
        "pragma",
        "proxy-connection",
        "referrer-policy",
        "report-to",
        "server",
        "server-timing",
        "strict-transport-security",
        "transfer-encoding",
        "upgrade",
        "vary",
        "via",
        "x-accel-buffering",
        "x-content-type-options",
        "x-envoy-upstream-service-time",
        "x-frame-options",
        "x-powered-by",
        "x-xss-protection",
    ]
)
_DROPPED_PREFIXES = ("access-control-", "cf-", "x-envoy-", "sec-")
_TRACKING_COOKIES = (
    "__cf",
    "_cf",
)  # set by the content delivery network on every answer


def kept_headers(
    lines: Iterable[tuple[str, str]], *, usual_type: str, exact: bool = False
) -> dict[str, str | list[str]]:
    """Return the headers to keep, by lower-case name; repeated ones as a list.

    Args:
        lines: Header lines, names in lower case.
        usual_type: Media type that goes without saying.
        exact: A media type with parameters is not the usual one.
    """
    kept: dict[str, str | list[str]] = {}
    for name, value in lines:
        if name == "content-type":
            is_usual = (value if exact else media_type(value)) == usual_type
        else:
            is_usual = _is_dropped(name, value)
        if is_usual:
            continue
        held = kept.get(name)
        match held:
            case None:
                kept[name] = value
            case str():
                kept[name] = [held, value]
            case list():
                held.append(value)
    return kept


def _is_dropped(name: str, value: str) -> bool:
    if name == "set-cookie":
        return value.startswith(_TRACKING_COOKIES)
    return name in _DROPPED or name.startswith(_DROPPED_PREFIXES)


def media_type(content_type: str | None) -> str:
    """Return the media type of a Content-Type value, lower case, without parameters."""
    return (content_type or "").partition(";")[0].strip().lower()


def header_lines(headers: Mapping[str, str | list[str]]) -> list[tuple[str, str]]:
    """Return headers as lines, a repeated one as several."""
    return [
        (name, value)
        for name, values in headers.items()
        for value in ([values] if isinstance(values, str) else values)
    ]

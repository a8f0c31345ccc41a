"""One header for several recordings, or what keeps them from having one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from mcprec_addon.errors import UsageError
from mcprec_addon.exchange import Cassette, Header, Json, Matching, Server

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A recording that is to be merged, and what it is called."""

    name: str
    cassette: Cassette


def joined_header(
    sources: Sequence[Source], *, same: frozenset[str]
) -> tuple[Header, tuple[str, ...]]:
    """Return the header of all, placeholders aside, and what is worth knowing.

    Args:
        sources: The recordings, one or more.
        same: Labels of servers that are one wherever they were recorded.

    Raises:
        UsageError: They cannot be replayed together, with every reason on a line.
    """
    problems = [*_rule_problems(sources), *_match_problems(sources)]
    problems += _server_problems(sources, same)
    if problems:
        raise UsageError("\n".join(problems))
    headers = [source.cassette.header for source in sources]
    first = headers[0]
    servers: dict[str, Server] = {}
    for header in headers:
        for label, server in header.servers.items():
            servers[label] = _filled(servers[label], server) if label in servers else server
    redaction = replace(
        first.redaction, builtin=max(header.redaction.builtin for header in headers)
    )
    joined = replace(
        first,
        protocol=_union(header.protocol for header in headers),
        servers=servers,
        model=_union(header.model for header in headers),
        redaction=redaction,
        match=_joined_match([header.match for header in headers]),
        config=_union(header.config for header in headers),
        recovered=any(header.recovered for header in headers),
        extra=_filled_extra([header.extra for header in headers]),
    )
    return joined, tuple(_version_notes(sources))


def moved_inside(inside: Iterable[str], seqs: Mapping[int, int]) -> Iterator[str]:
    """Yield the places of secrets in fields that must not change, under new numbers."""
    for place in inside:
        seq, slash, rest = place.removeprefix("#").partition("/")
        is_numbered = place.startswith("#") and seq.isdecimal() and int(seq) in seqs
        yield f"#{seqs[int(seq)]}{slash}{rest}" if is_numbered else place


def _union[T](lists: Iterable[Sequence[T]]) -> list[T]:
    found: list[T] = []
    for each in lists:
        found += [item for item in each if item not in found]
    return found


def _filled_extra(extras: Sequence[dict[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for extra in extras:
        found |= {name: value for name, value in extra.items() if name not in found}
    return found


def _joined_match(rules: Sequence[Matching]) -> Matching:
    return replace(
        rules[0],
        ignore=_union(each.ignore for each in rules),
        normalize=_union(each.normalize for each in rules),
        extra=_filled_extra([each.extra for each in rules]),
    )


def _filled(server: Server, other: Server) -> Server:
    return Server(
        transport=server.transport or other.transport,
        url=server.url or other.url,
        command=server.command or other.command,
        era=server.era or other.era,
        via=server.via or other.via,
        name=server.name or other.name,
        version=server.version or other.version,
        extra={**other.extra, **server.extra},
    )


def _rule_problems(sources: Sequence[Source]) -> Iterator[str]:
    first = sources[0]
    ours = first.cassette.header.redaction.custom
    for source in sources[1:]:
        theirs = source.cassette.header.redaction.custom
        if theirs != ours:
            yield (
                f"{source.name}: recorded under {_rules(theirs)}, {first.name} under "
                f"{_rules(ours)}; run mcprec redact on one of them, with the rules of the other"
            )


def _rules(custom: str | None) -> str:
    return f"redaction rules of its own ({custom[:15]}…)" if custom else "the built-in rules alone"


def _match_problems(sources: Sequence[Source]) -> Iterator[str]:
    first = sources[0]
    for source in sources[1:]:
        theirs, ours = source.cassette.header.match.extra, first.cassette.header.match.extra
        for name in theirs.keys() & ours.keys():
            if theirs[name] != ours[name]:
                yield (
                    f"{source.name}: match.{name} differs from that of {first.name}; "
                    "make the two headers agree"
                )


def _server_problems(sources: Sequence[Source], same: frozenset[str]) -> Iterator[str]:
    known: dict[str, tuple[str, Server]] = {}
    for source in sources:
        for label, server in source.cassette.header.servers.items():
            name, other = known.setdefault(label, (source.name, server))
            if label not in same and not _is_one(server, other):
                yield (
                    f'{source.name}: server "{label}" is {_address(server)}, in {name} it is '
                    f"{_address(other)}; if they are one server, add --same {label}, "
                    "else record one of them under another name"
                )


def _is_one(server: Server, other: Server) -> bool:
    if server.url is None or other.url is None:
        return server.command == other.command or None in (server.command, other.command)
    one, two = urlsplit(server.url), urlsplit(other.url)
    if {one.hostname, two.hostname} <= _LOOPBACK:  # ports there are given out anew each time
        return one.path.rstrip("/") == two.path.rstrip("/")
    return server.url.rstrip("/") == other.url.rstrip("/")


def _address(server: Server) -> str:
    return server.url or f"the program {server.command}"


def _version_notes(sources: Sequence[Source]) -> Iterator[str]:
    known: dict[str, tuple[str, str]] = {}
    for source in sources:
        for label, server in source.cassette.header.servers.items():
            if server.version is None:
                continue
            name, version = known.setdefault(label, (source.name, server.version))
            if version != server.version:
                yield (
                    f"server {label} is version {version} in {name} and {server.version} "
                    f"in {source.name}"
                )

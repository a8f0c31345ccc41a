"""One header for several recordings."""

from mcprec_addon.exchange import Cassette, Header, Matching, Redaction, Server
from mcprec_addon.upkeep.merged_header import Source, joined_header, moved_inside


def source(name: str, **fields: object) -> Source:
    return Source(name=name, cassette=Cassette(header=Header(**fields)))  # type: ignore[arg-type]


def test_what_the_headers_say_is_joined() -> None:
    """Rules of either hold, and the newer built-in rules, for they find what the older do."""
    header, notes = joined_header(
        [
            source("a", servers={"s": Server(version="1")}, config=["mcp.json"]),
            source(
                "b",
                servers={"s": Server(version="2", era="classic"), "t": Server()},
                match=Matching(ignore=["/args/since"]),
                redaction=Redaction(builtin=2),
                config=["mcp.json", "b.json"],
                recovered=True,
            ),
        ],
        same=frozenset(),
    )

    assert header.servers == {"s": Server(version="1", era="classic"), "t": Server()}
    assert (header.match.ignore, header.redaction.builtin) == (["/args/since"], 2)
    assert (header.config, header.recovered) == (["mcp.json", "b.json"], True)
    assert notes == ("server s is version 1 in a and 2 in b",)


def test_a_port_of_loopback_is_no_other_server() -> None:
    """It is given out anew on each start."""
    header, _ = joined_header(
        [
            source("a", servers={"s": Server(url="http://127.0.0.1:4000/mcp")}),
            source("b", servers={"s": Server(url="http://localhost:5000/mcp/")}),
        ],
        same=frozenset(),
    )

    assert header.servers["s"].url == "http://127.0.0.1:4000/mcp"


def test_places_of_secrets_follow_their_exchange() -> None:
    """The header names them by number."""
    assert [*moved_inside(["#7/input/state", "elsewhere"], {7: 9})] == [
        "#9/input/state",
        "elsewhere",
    ]

"""The header record and back."""

import pytest

from mcprec_addon.cassette.fields import Fields, RecordProblemError
from mcprec_addon.cassette.header import header_record, read_header
from mcprec_addon.exchange import Header, Json, Matching, ModelUse, Redaction, Server

FULL = Header(
    recorder="mcprec 0.1.0",
    recorded="2026-11-30T10:02:11Z",
    protocol=["2026-07-28"],
    servers={
        "tracker": Server(
            transport="http",
            url="https://mcp.acme.com/mcp",
            era="stateless",
            via="proxy",
            name="acme-tracker",
            version="3.2.0",
            extra={"region": "eu"},
        ),
        "files": Server(transport="stdio", command="npx", era="classic"),
    },
    model=[ModelUse(provider="openai", name="gpt-5"), ModelUse(provider="x", temperature=0.5)],
    redaction=Redaction(
        custom="sha256:00",
        placeholders={"email": 2, "api-key": 1},
        sources={"api-key-1": ["env:TRACKER_TOKEN"]},
        inside=["/result/nextCursor"],
    ),
    match=Matching(ignore=["/args/since"], normalize=["date"], extra={"newer": True}),
    config=["mcp.json"],
    recovered=True,
    extra={"note": "by hand"},
)


def test_every_field_has_its_name_in_the_file() -> None:
    """Other implementations read these names."""
    assert header_record(FULL) == {
        "mcprec": 1,
        "recorder": "mcprec 0.1.0",
        "recorded": "2026-11-30T10:02:11Z",
        "protocol": ["2026-07-28"],
        "servers": {
            "tracker": {
                "transport": "http",
                "url": "https://mcp.acme.com/mcp",
                "era": "stateless",
                "via": "proxy",
                "name": "acme-tracker",
                "version": "3.2.0",
                "region": "eu",
            },
            "files": {"transport": "stdio", "command": "npx", "era": "classic"},
        },
        "model": [
            {"provider": "openai", "name": "gpt-5", "temperature": None},
            {"provider": "x", "temperature": 0.5},
        ],
        "redaction": {
            "builtin": 1,
            "custom": "sha256:00",
            "placeholders": {"email": 2, "api-key": 1},
            "sources": {"api-key-1": ["env:TRACKER_TOKEN"]},
            "inside": ["/result/nextCursor"],
        },
        "match": {"ignore": ["/args/since"], "normalize": ["date"], "newer": True},
        "config": "mcp.json",
        "recovered": True,
        "note": "by hand",
    }


@pytest.mark.parametrize("header", [FULL, Header(), Header(config=["a.json", "b.json"])])
def test_reading_what_was_written_gives_it_back(header: Header) -> None:
    """A header survives a load and a save."""
    assert read_header(Fields(header_record(header))) == header


def test_the_version_alone_is_a_header() -> None:
    """A cassette can be written by hand."""
    assert read_header(Fields({"mcprec": 1})) == Header()


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"mcprec": 2}, "format version 2 is unknown, this mcprec reads 1"),
        ({"mcprec": "1"}, '"mcprec" must be the format version'),
        ({"mcprec": True}, '"mcprec" must be the format version'),
        ({"mcprec": 1, "servers": {"a": "2.1.0"}}, '"servers.a" must be an object'),
        ({"mcprec": 1, "servers": {"a": {"transport": "udp"}}}, '"http" or "stdio" or "sse"'),
        ({"mcprec": 1, "model": ["gpt"]}, '"model" must be an object'),
        ({"mcprec": 1, "model": [{}]}, 'no "provider"'),
        ({"mcprec": 1, "config": [1]}, '"config" must be a path or a list of paths'),
        ({"mcprec": 1, "redaction": {"placeholders": {"email": "2"}}}, '"placeholders" must be'),
        ({"mcprec": 1, "redaction": {"sources": {"email-1": "env:X"}}}, '"email-1" must be a list'),
        ({"mcprec": 1, "recovered": 1}, '"recovered" must be true or false'),
    ],
)
def test_a_wrong_header_is_named(record: dict[str, Json], problem: str) -> None:
    """The first line is the one people edit."""
    with pytest.raises(RecordProblemError) as caught:
        read_header(Fields(record))

    assert problem in str(caught.value)

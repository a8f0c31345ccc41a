"""`mcprec merge` on files."""

import base64
import json
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from mcprec_addon.doors.cassette_file import load_cassette, put_cassette
from mcprec_addon.exchange import Cassette, Header, McpAnswer, McpCall, McpExchange

pytestmark = pytest.mark.door

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 64).decode()


def put(path: Path, *ids: int, config: str = "mcp.json") -> Path:
    path.parent.mkdir(exist_ok=True)
    exchanges = tuple(
        McpExchange(
            seq=seq,
            call=McpCall(server="s", method="tools/call", name="get", args={"id": each}),
            answer=McpAnswer(kind="result", value={"data": PICTURE, "id": each}),
        )
        for seq, each in enumerate(ids, 1)
    )
    put_cassette(path, Cassette(header=Header(config=[config]), exchanges=exchanges))
    return path


def test_cassettes_of_several_folders_become_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With their pictures, and their configs named from where it stands; they stay as they were."""
    first, second = put(tmp_path / "a" / "a.mcp", 1, 2), put(tmp_path / "b" / "b.mcp", 2, 3)
    before = first.read_bytes(), second.read_bytes()
    out = tmp_path / "all.mcp"

    status = status_of(["merge", str(first), str(second), "-o", str(out)])
    checked = status_of(["inspect", str(out), "--self-check"])

    told = capfd.readouterr().out.splitlines()
    assert (status, checked) == (0, 0)
    assert told[0] == f"{out}: 3 exchanges of 2 cassettes; 1 in more than one"
    assert load_cassette(out).header.config == ["a/mcp.json", "b/mcp.json"]
    assert len([*(tmp_path / "all.mcp.blobs").iterdir()]) == 1
    assert (first.read_bytes(), second.read_bytes()) == before


def test_a_file_that_is_there_is_not_overwritten_unasked(tmp_path: Path) -> None:
    """Also where it is one of those that are joined."""
    first, second = put(tmp_path / "a.mcp", 1), put(tmp_path / "b.mcp", 2)

    refused = status_of(["merge", str(first), str(second), "-o", str(first)])
    done = status_of(["merge", str(first), str(second), "-o", str(first), "--force"])

    assert (refused, done) == (2, 0)
    assert [each.seq for each in load_cassette(first).exchanges] == [1, 2]


def test_a_missing_picture_and_a_conflict_are_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line each, and nothing is written."""
    first, broken = put(tmp_path / "a.mcp", 1), put(tmp_path / "b.mcp", 2)
    (blob,) = (tmp_path / "a.mcp.blobs").iterdir()
    blob.unlink()
    header, rest = broken.read_bytes().split(b"\n", 1)
    conflict = tmp_path / "c.mcp"
    conflict.write_bytes(header + b"\n<<<<<<< ours\n" + rest)
    two = tmp_path / "d.mcp"
    two.write_bytes(header + b"\n" + header + b"\n")
    out = tmp_path / "all.mcp"

    statuses = [status_of(["merge", str(each), "-o", str(out)]) for each in (first, conflict, two)]

    missing, marker, doubled = capfd.readouterr().err.splitlines()
    assert statuses == [2, 2, 2]
    assert "a.mcp.blobs/" in missing
    assert "is missing" in missing
    assert "c.mcp:2:" in marker
    assert "d.mcp:2: a second header" in doubled
    assert not out.exists()


def test_a_joined_cassette_is_text_like_any_other(tmp_path: Path) -> None:
    """A cassette merged with itself is the same file."""
    path, out = put(tmp_path / "a.mcp", 1, 2), tmp_path / "b.mcp"

    assert status_of(["merge", str(path), str(path), "-o", str(out)]) == 0
    assert out.read_bytes() == path.read_bytes()
    assert json.loads(out.read_bytes().splitlines()[0])["mcprec"] == 1

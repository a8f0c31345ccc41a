"""Pictures stand beside the cassette, and reach the agent as they did."""

import json
import stat
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.recording import Recording
from mcprec_addon.exchange import ModelExchange
from mcprec_addon.wire.http import HttpRequest
from tests.conftest import StartPeer
from tests.peers.process import ROOT
from tests.test_run import clean_environment, mcprec, run
from tests.test_stdio_doors import entry

pytestmark = pytest.mark.door

CLIENT = [sys.executable, str(ROOT / "tests" / "peers" / "picture_client.py")]
SERVER = str(ROOT / "tests" / "peers" / "picture_server.py")


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_picture_is_a_file_and_comes_again(
    way: str, start_peer: StartPeer, tmp_path: Path
) -> None:
    """Three answers with two pictures are two files, and lines that a person can read."""
    environment = clean_environment()
    if way == "stdio":
        entry(tmp_path, command=sys.executable, args=[SERVER, "--stdio"])
        url, options = "config:mcp.json", ["--config", "mcp.json"]
        direct = run(*CLIENT, url, environment=environment, folder=tmp_path)
    else:
        live = start_peer("tests.peers.picture_server")
        url, options = "{url:peer}", ["--http", f"peer={live.mcp_url}"]
        direct = run(*CLIENT, live.mcp_url, environment=environment, folder=tmp_path)

    recorded = mcprec(
        "record", *options, "--out", "a.mcp", "--", *CLIENT, url,
        environment=environment, folder=tmp_path,
    )  # fmt: skip
    replayed = mcprec(
        "replay", "a.mcp", "--strict", "--all-used", "--", *CLIENT, url,
        environment=environment, folder=tmp_path,
    )  # fmt: skip

    assert direct.status == 0, direct.err
    assert (recorded.status, recorded.out) == (0, direct.out), recorded.err
    assert (replayed.status, replayed.out) == (0, direct.out), replayed.err
    blobs = list((tmp_path / "a.mcp.blobs").iterdir())
    assert [each.suffix for each in blobs] == [".png", ".png"]
    assert max(map(len, (tmp_path / "a.mcp").read_bytes().splitlines())) < 5000


def record_question(path: Path, picture: str) -> None:
    """Record one chat call that shows a model a picture."""
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    recording = Recording(path, urls={})
    url = "https://api.openai.com/v1/chat/completions"
    tap = recording.request(HttpRequest(method="POST", url=url, body=json.dumps(body).encode()))
    assert tap is not None
    tap.head(200, [("content-type", "application/json")])
    tap.data(b'{"id":"x"}', recording.now_ms())
    tap.finish("complete", recording.now_ms())
    recording.end(tap)
    assert recording.close().failure is None


def test_a_picture_in_a_prompt_is_a_file(tmp_path: Path) -> None:
    """It stands in a part, which many turns share."""
    picture = b64encode(bytes(range(256)) * 60).decode()

    record_question(tmp_path / "a.mcp", picture)

    (exchange,) = load_cassette(tmp_path / "a.mcp").exchanges
    assert isinstance(exchange, ModelExchange)
    assert picture in str(exchange.call.request)
    assert picture[:100] not in (tmp_path / "a.mcp").read_text()
    (blob,) = (tmp_path / "a.mcp.blobs").iterdir()
    assert blob.read_bytes() == bytes(range(256)) * 60


def test_a_new_recording_takes_the_old_pictures_away(tmp_path: Path) -> None:
    """A folder that only grows would be reviewed by nobody."""
    record_question(tmp_path / "a.mcp", b64encode(b"one" * 5000).decode())
    first = {each.name for each in (tmp_path / "a.mcp.blobs").iterdir()}

    record_question(tmp_path / "a.mcp", b64encode(b"two" * 5000).decode())

    second = {each.name for each in (tmp_path / "a.mcp.blobs").iterdir()}
    assert len(first) == len(second) == 1
    assert first != second


def test_a_cassette_that_was_moved_away_keeps_its_pictures(tmp_path: Path) -> None:
    """Its folder was left behind; whoever moves it next must find them."""
    record_question(tmp_path / "a.mcp", b64encode(b"one" * 5000).decode())
    (tmp_path / "a.mcp").rename(tmp_path / "old.mcp")

    record_question(tmp_path / "a.mcp", b64encode(b"two" * 5000).decode())

    assert len(list((tmp_path / "a.mcp.blobs").iterdir())) == 2


def test_pictures_are_as_private_as_their_cassette(tmp_path: Path) -> None:
    """Who closed the one to others meant all of it."""
    record_question(tmp_path / "a.mcp", b64encode(b"one" * 5000).decode())
    (tmp_path / "a.mcp").chmod(0o600)

    record_question(tmp_path / "a.mcp", b64encode(b"two" * 5000).decode())

    (blob,) = (tmp_path / "a.mcp.blobs").iterdir()
    assert stat.S_IMODE(blob.stat().st_mode) == 0o600


def test_inspect_names_what_is_wrong_with_pictures(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is missing, altered or left over, and the rest of the cassette all the same."""
    path = tmp_path / "a.mcp"
    record_question(path, b64encode(b"one" * 5000).decode())
    (blob,) = (tmp_path / "a.mcp.blobs").iterdir()
    blob.write_bytes(b"other")
    (tmp_path / "a.mcp.blobs" / f"{'0' * 64}.bin").write_bytes(b"left")

    shown = status_of(["inspect", str(path)])
    one = status_of(["inspect", str(path), "--seq", "1"])
    checked = status_of(["inspect", str(path), "--self-check"])

    told = capfd.readouterr()
    assert (shown, one, checked) == (0, 0, 2)
    assert f"blob a.mcp.blobs/{blob.name[:16]}….png was altered; restore it" in told.out
    assert f"nothing refers to a.mcp.blobs/{'0' * 16}….bin" in told.out
    assert "1 exchange: 0 mcp, 1 model" in told.out
    assert f"{path}:3: blob a.mcp.blobs/{blob.name} was altered" in told.err


def test_inspect_shows_a_reference_in_place_of_content(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Twenty thousand characters of base64 tell nobody anything."""
    record_question(tmp_path / "a.mcp", b64encode(b"one" * 5000).decode())

    status_of(["inspect", str(tmp_path / "a.mcp"), "--seq", "1"])

    out = capfd.readouterr().out
    assert '"$blob": "sha256:' in out
    assert '"bytes": 15000' in out
    assert len(out) < 3000

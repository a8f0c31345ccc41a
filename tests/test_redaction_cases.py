"""What went wrong with redaction in other tools, held here from recording to replay."""

import hashlib
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from mcprec_addon.cli import status_of
from mcprec_addon.doors.cassette_file import load_cassette
from mcprec_addon.doors.recording import Recording
from mcprec_addon.exchange import Cassette, Half, Json, McpExchange
from mcprec_addon.jsonvalue import dumps, loads
from mcprec_addon.redact import rules as builtin
from mcprec_addon.redact.own_rules import OwnRules, with_own
from mcprec_addon.redact.patterns import PATTERNS, Pattern
from mcprec_addon.redact.rules import Rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import PlayOptions
from mcprec_addon.replay.staging import stage
from mcprec_addon.wire.http import HttpRequest

pytestmark = pytest.mark.door

MCP = "http://127.0.0.1:9/mcp"
CHAT = "http://127.0.0.1:9/v1/chat/completions"
JSON = [("content-type", "application/json")]


def post(url: str, body: Json) -> HttpRequest:
    return HttpRequest(method="POST", url=url, headers=(), body=dumps(body))


def tool(name: str, **args: Json) -> HttpRequest:
    params: Json = {"name": name, "arguments": args}
    return post(MCP, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def result(value: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "result": value}


def recorded(path: Path, *asked: tuple[HttpRequest, Json], rules: Rules | None = None) -> Cassette:
    recording = Recording(path, urls={"s": MCP}, rules=rules)
    for request, answer in asked:
        tap = recording.request(request)
        assert tap is not None
        tap.head(200, JSON)
        tap.data(dumps(answer), recording.now_ms())
        tap.finish("complete", recording.now_ms())
        recording.end(tap)
    assert recording.close().failure is None
    return load_cassette(path)


class Replay:
    """A replay of a cassette, asked by hand."""

    def __init__(self, cassette: Cassette) -> None:
        self.misses = list[Miss]()
        halves = frozenset[Half]({"mcp", "model"})
        _, self._responder = stage(
            cassette, PlayOptions(), halves=halves, on_miss=self.misses.append
        )

    def ask(self, request: HttpRequest) -> Json:
        """Return the body of the answer."""
        return loads(self._responder.respond(request).body)

    def result(self, request: HttpRequest) -> Json:
        """Return the result of a JSON-RPC answer."""
        answer = self.ask(request)
        assert isinstance(answer, dict), answer
        return answer["result"]


@pytest.mark.parametrize("repeats", [1, 400], ids=["inline", "as a blob"])
def test_a_picture_with_a_key_in_its_base64_stays_whole(tmp_path: Path, repeats: int) -> None:
    """A picture that a rule has hit is none any more, but text in base64 may hide a key."""
    hit = "AKIA" + "ABCDEFGHIJKLMNOP"
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" + (hit + "/" + hit + "AAA") * repeats
    hidden = b64encode(f"key={hit}".encode()).decode()
    content: Json = [
        {"type": "image", "mimeType": "image/png", "data": data},
        {"type": "text", "text": f"found key {hit} in config"},
        {"type": "text", "text": f"data:text/plain;base64,{hidden}"},
    ]
    resource: Json = {"uri": "file:///k.txt", "mimeType": "text/plain", "blob": hidden}
    asked = (
        (tool("screenshot"), result({"content": content})),
        (tool("file"), result({"content": [{"type": "resource", "resource": resource}]})),
    )

    replay = Replay(recorded(tmp_path / "a.mcp", *asked))

    shown = replay.result(tool("screenshot"))
    file = replay.result(tool("file"))
    assert isinstance(shown, dict)
    assert isinstance(shown["content"], list)
    picture, text, coded = (dict(each) for each in shown["content"] if isinstance(each, dict))
    digest = hashlib.sha256(b64decode(data)).hexdigest()
    assert hashlib.sha256(b64decode(str(picture["data"]))).hexdigest() == digest
    assert picture["data"] == data
    assert text["text"] == "found key aws-key-1 in config"
    assert b64decode(str(coded["text"]).partition(",")[2]) == b"key=aws-key-1"
    assert b64encode(b"key=aws-key-1").decode() in str(file)
    assert (tmp_path / "a.mcp.blobs").is_dir() == (repeats > 1)
    assert replay.misses == []


LOOKUP = '{"mail":"ana@example.test"}'
ASKED: Json = {"model": "m", "messages": [{"role": "user", "content": "Find ana@example.test"}]}
CALLED: Json = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "lookup", "arguments": LOOKUP},
                    }
                ],
            }
        }
    ]
}


def test_what_is_clean_in_the_file_is_found_by_what_is_raw_on_the_wire(tmp_path: Path) -> None:
    """The requests with personal data are the ones that would never match their own recording."""
    cassette = recorded(
        tmp_path / "a.mcp",
        (post(CHAT, ASKED), CALLED),
        (tool("lookup", mail="ana@example.test"), result({"text": "id 7"})),
        (tool("lookup", mail="bo@example.test"), result({"text": "id 8"})),
    )

    replay = Replay(cassette)
    by_model = replay.ask(post(CHAT, ASKED))
    own = replay.result(tool("lookup", mail="ana@example.test"))
    other = replay.result(tool("lookup", mail="bo@example.test"))
    as_written = Replay(cassette).result(tool("lookup", mail="email-1@mcprec.example"))

    assert LOOKUP.replace('"', '\\"') in dumps(by_model).decode()
    assert own == as_written == {"text": "id 7"}
    assert other == {"text": "id 8"}
    assert replay.misses == []
    assert "example.test" not in (tmp_path / "a.mcp").read_text()


def test_rules_that_are_not_those_of_the_recording_are_named_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under others its calls would come in redacted another way, and each would miss."""
    own = OwnRules(patterns={"employee": "EMP-[0-9]{6}"})
    asked = tool("lookup", who="EMP-004711"), result({"text": "id 7"})
    recorded(tmp_path / "a.mcp", asked, rules=with_own(builtin.default_rules(), own))

    status = status_of(["replay", str(tmp_path / "a.mcp"), "--", "true"])

    said = capsys.readouterr().err.splitlines()
    assert status == 2
    assert len(said) == 1
    assert "recorded under rules of one's own" in said[0]


ROWS: Json = [
    {"mail": "ana@example.test", "tel": "+49 30 5550101"},
    {"mail": "bo@example.test", "tel": "+49 30 5550102"},
    {"mail": "ANA@example.test", "tel": "+49 30 5550101"},
]


def test_two_people_are_two_placeholders(tmp_path: Path) -> None:
    """One mask for all, and nobody can tell one customer from another."""
    cassette = recorded(
        tmp_path / "a.mcp",
        (tool("list_customers"), result({"structuredContent": {"rows": ROWS}})),
        (tool("open_tickets", mail="bo@example.test"), result({"structuredContent": {"n": 2}})),
        (tool("open_tickets", mail="ana@example.test"), result({"structuredContent": {"n": 0}})),
    )
    replay = Replay(cassette)

    listed = replay.result(tool("list_customers"))
    assert isinstance(listed, dict)
    assert isinstance(listed["structuredContent"], dict)
    rows = listed["structuredContent"]["rows"]
    assert isinstance(rows, list)
    mails = [str(row["mail"]) for row in rows if isinstance(row, dict)]
    phones = [str(row["tel"]) for row in rows if isinstance(row, dict)]
    bo = replay.result(tool("open_tickets", mail=mails[1]))
    ana = replay.result(tool("open_tickets", mail=mails[0]))

    assert mails == [f"email-{number}@mcprec.example" for number in (1, 2, 3)]
    assert phones[0] == phones[2] != phones[1]
    assert bo == {"structuredContent": {"n": 2}}
    assert ana == {"structuredContent": {"n": 0}}
    assert replay.misses == []


def test_a_cassette_keeps_to_the_rules_it_was_recorded_under(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer mcprec knows more secrets; what it would hide now stands in older cassettes."""
    asked = tool("find", ticket="TICK-0815-XYZ"), result({"text": "TICK-0815-XYZ is open"})
    old = recorded(tmp_path / "old.mcp", asked)
    newer = Pattern("ticket", "TICK-", "TICK-[0-9]{4}-[A-Z]{3}", since=2)
    monkeypatch.setattr(builtin, "PATTERNS", (*PATTERNS, newer))
    monkeypatch.setattr(builtin, "BUILTIN", 2)
    versions = builtin.default_rules.__wrapped__
    monkeypatch.setattr("mcprec_addon.replay.staging.default_rules", versions)

    new = recorded(tmp_path / "new.mcp", asked, rules=versions(2))
    replays = Replay(old), Replay(new)
    answers = [replay.result(asked[0]) for replay in replays]

    assert (old.header.redaction.builtin, new.header.redaction.builtin) == (1, 2)
    assert "TICK-0815" in (tmp_path / "old.mcp").read_text()
    assert "TICK-0815" not in (tmp_path / "new.mcp").read_text()
    assert answers == [{"text": "TICK-0815-XYZ is open"}] * 2
    assert [replay.misses for replay in replays] == [[], []]
    (exchange,) = new.exchanges
    assert isinstance(exchange, McpExchange)
    assert exchange.call.args == {"ticket": "ticket-1"}


def test_a_cassette_of_newer_rules_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its placeholders of a class that is not known here would match nothing."""
    path = tmp_path / "a.mcp"
    path.write_text('{"mcprec":1,"redaction":{"builtin":99}}\n')

    status = status_of(["replay", str(path), "--", "true"])

    assert status == 2
    assert capsys.readouterr().err == (
        f"mcprec: {path}: recorded under built-in redaction rules 99, this mcprec has them up to "
        f"{builtin.BUILTIN}; update it: pip install -U mcprec-addon\n"
    )

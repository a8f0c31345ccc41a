"""One HTTP request of a replay gets its recorded answer, or is refused and counted."""

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from mcprec_addon.cassette.format import read_cassette
from mcprec_addon.cassette.writing import write_cassette
from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Half,
    Header,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Server,
    StreamEvent,
    Via,
)
from mcprec_addon.jsonvalue import loads
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from mcprec_addon.replay.miss import Miss
from mcprec_addon.replay.play import OnMiss, PlayOptions
from mcprec_addon.replay.player import Player
from mcprec_addon.replay.responder import Responder
from mcprec_addon.wire.http import HttpRequest, Reply
from mcprec_addon.wire.jsonrpc import Request
from mcprec_addon.wire.mcp import SESSION, SESSION_HEADER, TOKEN, call_of
from mcprec_addon.wire.sse import SseReader

URL = "http://127.0.0.1:9/mcp"
BOTH: frozenset[Half] = frozenset({"mcp", "model"})
CHAT = "/v1/chat/completions"


def exchange(seq: int, method: str, answer: McpAnswer, params: Json = None) -> McpExchange:
    """Return a recording as the recorder makes it of a request with these params."""
    return McpExchange(seq=seq, call=call_of(Request(seq, method, params), "s"), answer=answer)


def recorded_call(seq: int, body: str, answer: McpAnswer) -> McpExchange:
    """Return a recording of a tool call, from its raw params."""
    return exchange(seq, "tools/call", answer, loads(body))


class Replay:
    """A responder with what a test wants to see of its player."""

    def __init__(
        self,
        *exchanges: Exchange,
        header: Header | None = None,
        messages: Sequence[Message] = (),
        halves: frozenset[Half] = BOTH,
        model_via: Via | None = None,
        on_miss: OnMiss = "fail",
    ) -> None:
        header = header or Header(servers={"s": Server(transport="http", url=URL)})
        cassette = Cassette(
            header=header, exchanges=exchanges, messages=tuple(messages), model_via=model_via
        )
        bindings = Bindings(header.redaction, default_rules())
        options = PlayOptions(halves=halves, on_miss=on_miss)
        self.player = Player(cassette, bindings=bindings, options=options)
        self.told = list[Miss]()
        self.responder = Responder(cassette, self.player, halves=halves, on_miss=self.told.append)
        self.turned = self.responder.turned
        self.respond = self.responder.respond


def post(body: object, url: str = URL, *, via: Via = "base-url", **headers: str) -> HttpRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpRequest(method="POST", url=url, headers=lines, body=data, via=via)


def raw_call(params: str, request_id: str = "1") -> HttpRequest:
    """Return a tool call whose params and id are spelt exactly so."""
    head = f'{{"jsonrpc":"2.0","id":{request_id},"method":"tools/call","params":'
    return post(f"{head}{params}}}".encode())


def rpc(method: str, request_id: Json = 1, params: Json = None) -> dict[str, Json]:
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def answered(reply: Reply) -> dict[str, Json]:
    body: dict[str, Json] = json.loads(reply.body)
    return body


def text_of(reply: Reply) -> Json:
    """Return the text of a tool's answer, or the message of an error."""
    body = json.loads(reply.body)
    if "error" in body:
        return str(body["error"]["message"])
    return str(body["result"]["content"][0]["text"])


def told(text: str) -> McpAnswer:
    return McpAnswer(kind="result", value={"content": [{"type": "text", "text": text}]})


def streamed(reply: Reply) -> list[Json]:
    events = SseReader().feed(reply.body)
    return [json.loads(event.data) for event in events if event.data]


def opened(reply: Reply) -> list[tuple[Json, int]]:
    """Open a reply that is fed, and return what comes on it at once, with its time."""
    fed: list[tuple[Json, int]] = []

    def send(data: bytes, at_ms: int) -> None:
        (event,) = SseReader().feed(data)
        fed.append((json.loads(event.data or ""), at_ms))

    assert reply.live is not None
    reply.live.open(send, lambda: None)
    return fed


def listen_to(url: str = URL, accept: str = "text/event-stream") -> HttpRequest:
    version = ("mcp-protocol-version", "2025-11-25")  # the client has shaken hands
    return HttpRequest(method="GET", url=url, headers=(("accept", accept), version))


TOOLS = exchange(1, "tools/list", McpAnswer(kind="result", value={"tools": []}))


@pytest.mark.parametrize("request_id", ["1", 1, 0, "", "q-é", 9007199254740993, -5], ids=repr)
def test_the_id_comes_back_as_sent(request_id: Json) -> None:
    """A client that asked with "1" never finds an answer to 1, and waits."""
    replay = Replay(TOOLS)

    hit = answered(replay.respond(post(rpc("tools/list", request_id))))
    miss = answered(replay.respond(post(rpc("prompts/list", request_id))))

    assert hit == {"jsonrpc": "2.0", "id": request_id, "result": {"tools": []}}
    assert (miss["id"], type(miss["id"])) == (request_id, type(request_id))
    assert "error" in miss


def test_ids_in_flight_together_each_get_their_own_answer() -> None:
    """`"1"` and `1` are two requests; errors carry the caller's id as results do."""
    error: Json = {"code": -32602, "message": "no b"}
    replay = Replay(
        recorded_call(1, '{"name":"t","arguments":{"k":"a"}}', told("A")),
        recorded_call(
            2, '{"name":"t","arguments":{"k":"b"}}', McpAnswer(kind="error", value=error)
        ),
    )
    asked = [('"1"', "a"), ("1", "b"), ("0", "a"), ('""', "a"), ('"init-1"', "b"), ("-5", "a")]

    replies = [
        replay.respond(raw_call(f'{{"name":"t","arguments":{{"k":"{key}"}}}}', request_id))
        for request_id, key in asked
    ]

    assert [json.dumps(answered(reply)["id"]) for reply in replies] == [each[0] for each in asked]
    assert list(map(text_of, replies)) == ["A", "no b", "A", "A", "no b", "A"]


def test_an_id_with_more_digits_than_a_double_keeps_them() -> None:
    """An id is compared by the client, digit for digit."""
    reply = Replay(TOOLS).respond(post(b'{"jsonrpc":"2.0","id":1e400,"method":"tools/list"}'))

    assert b'"id":1e400' in reply.body


def test_only_the_meta_of_the_params_is_skipped() -> None:
    """Tokens and client versions change with every call; a `_meta` argument is the tool's own."""
    result: Json = {"content": [{"type": "text", "text": "two hits"}], "_meta": {"took": 3}}
    params = (
        '{"name":"find","arguments":{"q":"open","_meta":{"page":1}},"_meta":{"progressToken":6,'
        '"io.modelcontextprotocol/clientInfo":{"name":"agent","version":"1.0.0"}}}'
    )
    replay = Replay(recorded_call(1, params, McpAnswer(kind="result", value=result)))

    newer = replay.respond(
        raw_call(
            '{"_meta":{"progressToken":"tok-9"},"arguments":{"_meta":{"page":1},"q":"open"},'
            '"name":"find"}',
            '"r1"',
        )
    )
    bare = replay.respond(
        raw_call('{"name":"find","arguments":{"q":"open","_meta":{"page":1}}}', '"r2"')
    )
    other = replay.respond(raw_call('{"name":"find","arguments":{"q":"open","_meta":{"page":2}}}'))

    assert answered(newer) == {"jsonrpc": "2.0", "id": "r1", "result": result}
    assert answered(bare) == {"jsonrpc": "2.0", "id": "r2", "result": result}
    assert "/args/_meta/page" in str(text_of(other))


def test_pages_of_a_list_are_told_apart() -> None:
    """Lists may be asked for more often than recorded; cursors are opaque text."""
    first: Json = {"tools": [{"name": "a"}], "nextCursor": "8"}
    second: Json = {"tools": [{"name": "c"}]}
    replay = Replay(
        exchange(1, "tools/list", McpAnswer(kind="result", value=first), {}),
        exchange(2, "tools/list", McpAnswer(kind="result", value=second), {"cursor": "8"}),
    )
    asked: list[Json] = [
        None,
        {},
        {"cursor": "8"},
        {"cursor": "8"},
        {"_meta": {"progressToken": 3}},
    ]

    found = [answered(replay.respond(post(rpc("tools/list", 1, params)))) for params in asked]
    miss = replay.respond(post(rpc("tools/list", 1, {"cursor": "9"})))

    assert [each["result"] for each in found] == [first, first, second, second, first]
    assert "/params/cursor" in str(text_of(miss))
    assert 'recorded "|8"' in replay.told[0].text()


SAME = [
    ("275.0", "275"),
    ("1e2", "100"),
    ("1E+2", "100.00"),
    ("0.10", "0.1"),
    ("-0", "0"),
    ("-0.0", "0"),
    ("1.5e-3", "0.0015"),
]
DIFFERENT = [
    ("1", "true"),
    ("0", "false"),
    ("1", '"1"'),
    ("0", "null"),
    ("275", "275.0000000000001"),
    ("0.1", "0.10000000000000001"),
    ("1e400", "1e401"),
    ("1e-400", "0"),
    ("1E999999999", "1E999999998"),
]


def pay(amount: str) -> str:
    return f'{{"name":"pay","arguments":{{"amount":{amount},"in":{{"deep":[{amount}]}}}}}}'


@pytest.mark.parametrize(("recorded", "asked"), SAME)
def test_equal_numbers_hit_whatever_their_spelling(recorded: str, asked: str) -> None:
    """SDKs write one number in many ways; the answer keeps its own spelling."""
    result = McpAnswer(kind="result", value=loads(f'{{"paid":{recorded}}}'))

    reply = Replay(recorded_call(1, pay(recorded), result)).respond(raw_call(pay(asked)))

    assert b'"result"' in reply.body
    assert loads(reply.body) == loads(f'{{"jsonrpc":"2.0","id":1,"result":{{"paid":{recorded}}}}}')


@pytest.mark.parametrize(("recorded", "asked"), DIFFERENT)
def test_different_numbers_miss_and_are_shown_as_written(recorded: str, asked: str) -> None:
    """Two values that Python takes for equal are two questions, and must not print alike."""
    replay = Replay(recorded_call(1, pay(recorded), told("ok")))

    reply = replay.respond(raw_call(pay(asked)))

    assert "differs at /args/amount, /args/in/deep/0" in str(text_of(reply))
    shown = replay.told[0].text()
    assert recorded.strip('"') in shown
    assert asked.strip('"') in shown


def test_a_list_is_not_its_only_element() -> None:
    """The shape counts as the numbers do."""
    replay = Replay(recorded_call(1, pay("[1]"), told("ok")))

    assert "/args/amount" in str(text_of(replay.respond(raw_call(pay("1")))))


def test_nan_in_an_answer_comes_back_as_it_came() -> None:
    """Python servers write it, Python clients read it; the tokens are the server's."""
    result = '{"content":[],"structuredContent":{"std":NaN,"max":-Infinity}}'
    replay = Replay(
        recorded_call(1, '{"name":"stat"}', McpAnswer(kind="result", value=loads(result)))
    )

    reply = replay.respond(raw_call('{"name":"stat"}', '"q"'))

    assert reply.body == f'{{"jsonrpc":"2.0","id":"q","result":{result}}}'.encode()


def test_nan_in_arguments_is_itself_and_never_null() -> None:
    """For matching the same text is the same value."""
    replay = Replay(recorded_call(1, '{"name":"f","arguments":{"x":NaN}}', told("nan")))

    assert text_of(replay.respond(raw_call('{"name":"f","arguments":{ "x": NaN }}'))) == "nan"
    for other in ("null", '"NaN"', "Infinity"):
        reply = replay.respond(raw_call(f'{{"name":"f","arguments":{{"x":{other}}}}}'))
        assert "/args/x" in str(text_of(reply))


LEAVES: list[Json] = [
    *(None, True, False, 0, 1, -1, 1.0, 0.1, 1e21, 2**53 + 1, "", "1", "true", "é", "e\u0301"),
    *("\u2028", "a/b~c", "ana@example.test"),
]
KEYS = ["q", "", "a/b", "m~n", "_meta", "id", "é", "0"]


def any_value(chance: random.Random, depth: int = 0) -> Json:
    pick = chance.random()
    if depth > 2 or pick < 0.5:
        return chance.choice(LEAVES)
    if pick < 0.75:
        return [any_value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    members = range(chance.randint(0, 3))
    return {chance.choice(KEYS): any_value(chance, depth + 1) for _ in members}


def shuffled(value: object, chance: random.Random) -> object:
    """Return a value with the keys of its objects in another order."""
    if isinstance(value, list):
        return [shuffled(member, chance) for member in value]
    if isinstance(value, dict):
        return {key: shuffled(value[key], chance) for key in chance.sample(list(value), len(value))}
    return value


@pytest.mark.parametrize("redacted", [False, True], ids=["by hand", "written and read"])
def test_every_recorded_request_finds_itself_however_it_is_spelt(*, redacted: bool) -> None:
    """Recorder and matcher that build a key in two ways cannot replay their own recordings."""
    chance = random.Random(7)  # noqa: S311 (the same values in every run)
    calls: list[dict[str, Json]] = [
        {"name": f"t{n % 5}", "arguments": {"x": any_value(chance), "n": n}} for n in range(200)
    ]
    texts = [
        json.dumps(call, ensure_ascii=bool(n % 2), indent=n % 3 or None)
        for n, call in enumerate(calls)
    ]
    tape: list[Exchange] = [
        recorded_call(n + 1, text, told(str(n))) for n, text in enumerate(texts)
    ]
    header = Header()
    if redacted:
        redactor = Redactor(default_rules(), nonce="0a1b2c3d")
        closed = redactor.close([redactor.exchange(each) for each in tape])
        written = write_cassette(
            Cassette(header=Header(redaction=closed.redaction), exchanges=closed.exchanges)
        )
        read = read_cassette(written, path="a.mcp")
        tape, header = list(read.exchanges), read.header
    replay = Replay(*tape, header=header)

    answers = {
        n: text_of(
            replay.respond(
                raw_call(
                    json.dumps(shuffled(calls[n], chance), ensure_ascii=not n % 2, indent=1),
                    json.dumps(f"id-{n}"),
                )
            )
        )
        for n in chance.sample(range(200), 200)
    }

    assert answers == {n: str(n) for n in range(200)}
    assert (replay.told, replay.player.unused()) == ([], [])
    assert (header.redaction.placeholders == {"email": 1}) is redacted


NOTIFICATIONS: list[Json] = [
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}},
    {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
    {"jsonrpc": "2.0", "id": 77, "result": {"roots": []}},
]


@pytest.mark.parametrize("message", [*NOTIFICATIONS, NOTIFICATIONS], ids=range(5))
def test_a_notification_gets_202_and_nothing_else(message: Json) -> None:
    """Any other acknowledgement breaks one client or another in the handshake."""
    replay = Replay(TOOLS)

    assert replay.respond(post(message)) == Reply(status=202)
    assert (replay.told, replay.player.tally.misses) == ([], [])
    assert replay.player.unused() == [TOOLS]


def test_a_recorded_odd_acknowledgement_comes_back() -> None:
    """So one can test a client against a server that answers `200 null`, as often as it asks."""
    odd = McpAnswer(kind="body", value="null", headers={"content-type": "application/json"})
    replay = Replay(exchange(1, "notifications/initialized", odd), TOOLS)

    replies = [replay.respond(post(NOTIFICATIONS[0])) for _ in range(2)]

    assert [(reply.status, reply.body) for reply in replies] == [(200, b"null")] * 2
    assert replies[0].headers == (("content-type", "application/json"),)
    assert replay.player.unused() == [TOOLS]


def test_repeated_and_empty_headers_come_back_line_by_line() -> None:
    """MCP clients read the first of two challenges to start their sign-in."""
    cookies = ["a=1; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"]
    challenges = ['Bearer resource_metadata="https://x.example.test/m"', 'Basic realm="old"']
    refused = McpAnswer(
        kind="body",
        value="",
        status=401,
        headers={"set-cookie": [*cookies], "www-authenticate": [*challenges], "x-empty": ""},
    )

    reply = Replay(exchange(1, "tools/list", refused)).respond(post(rpc("tools/list")))

    assert (reply.status, reply.body) == (401, b"")
    assert reply.headers == (
        ("set-cookie", cookies[0]),
        ("set-cookie", cookies[1]),
        ("www-authenticate", challenges[0]),
        ("www-authenticate", challenges[1]),
        ("x-empty", ""),
    )


def test_a_batch_is_answered_by_a_batch() -> None:
    """In the order asked, each under its own id; what wants no answer gets none."""
    replay = Replay(TOOLS, exchange(2, "ping", McpAnswer(kind="result", value="c")))

    reply = replay.respond(
        post([rpc("ping", "a"), NOTIFICATIONS[0], rpc("tools/list", 2), rpc("prompts/list", None)])
    )
    single = replay.respond(post([rpc("tools/list", 5)]))

    results = json.loads(reply.body)
    assert [each["id"] for each in results] == ["a", 2, None]
    assert [each.get("result") for each in results] == ["c", {"tools": []}, None]
    assert json.loads(single.body) == [{"jsonrpc": "2.0", "id": 5, "result": {"tools": []}}]


def test_a_batch_with_messages_before_an_answer_is_a_stream() -> None:
    """What a server says in the middle of a call is part of it, in a batch as well."""
    log: dict[str, Json] = {"method": "notifications/message", "params": {"level": "info"}}
    chatty = McpAnswer(kind="result", value="c", events=(McpEvent(at_ms=1, message=log),))
    replay = Replay(TOOLS, replace(exchange(2, "ping", chatty), ms=5))

    reply = replay.respond(post([rpc("ping", "a"), rpc("tools/list", 2)]))

    assert streamed(reply) == [
        {"jsonrpc": "2.0", "id": 2, "result": {"tools": []}},
        {"jsonrpc": "2.0", **log},
        {"jsonrpc": "2.0", "id": "a", "result": "c"},
    ]
    assert (reply.status, reply.end) == (200, "complete")


def test_a_packed_request_is_read() -> None:
    """Clients may pack what they send; a call is what is inside."""
    body = gzip.compress(json.dumps(rpc("tools/list", 4)).encode())

    reply = Replay(TOOLS).respond(post(body, content_encoding="gzip"))

    assert answered(reply)["id"] == 4


def started() -> tuple[Replay, str]:
    """Return a replay whose client has just shaken hands, and its session."""
    answer = McpAnswer(kind="result", value={}, headers={SESSION_HEADER: SESSION})
    replay = Replay(exchange(1, "initialize", answer), TOOLS)
    reply = replay.respond(post(rpc("initialize")))
    return replay, dict(reply.headers)[SESSION_HEADER]


def test_sessions_are_minted_and_checked() -> None:
    """404 makes a client start over, as the protocol says; it is no miss."""
    replay, session = started()

    right = replay.respond(post(rpc("tools/list"), mcp_session_id=session))
    wrong = replay.respond(post(rpc("tools/list", "q"), mcp_session_id="zzz"))
    again = replay.respond(post(rpc("initialize"), mcp_session_id="zzz"))

    assert session != SESSION
    assert right.status == 200
    assert (wrong.status, answered(wrong)["id"]) == (404, "q")
    assert dict(again.headers)[SESSION_HEADER] not in (session, SESSION)
    assert replay.told == []


def test_a_session_that_was_ended_is_gone() -> None:
    """Also when it was the only one."""
    replay, session = started()

    end = HttpRequest(method="DELETE", url=URL, headers=((SESSION_HEADER, session),))
    ended = replay.respond(end)

    assert ended.status == 200
    assert replay.respond(post(rpc("tools/list"), mcp_session_id=session)).status == 404
    assert replay.respond(post(NOTIFICATIONS[0], mcp_session_id=session)).status == 404


def test_without_recorded_sessions_any_id_will_do() -> None:
    """A client that keeps one from elsewhere must not be sent in circles."""
    assert Replay(TOOLS).respond(post(rpc("tools/list"), mcp_session_id="x")).status == 200


def test_a_stream_that_was_not_recorded_is_not_offered() -> None:
    """405 keeps clients from asking again."""
    reply = Replay(TOOLS).respond(listen_to())

    assert (reply.status, reply.headers) == (405, (("allow", "POST, DELETE"),))


def test_a_recorded_stream_is_held_open_once() -> None:
    """With what the server sent on it; the stream itself ends when the client goes."""
    call = McpCall(server="s", method="", http_method="GET")
    stream = McpExchange(seq=4, call=call, answer=McpAnswer(kind="none"))
    changed = "notifications/tools/list_changed"
    sent = [
        Message(server="s", sender="server", method=changed, on=4, at_ms=20),
        Message(server="s", sender="client", method="notifications/initialized", on=4),
        Message(server="s", sender="server", method="notifications/message", on=5),
    ]
    replay = Replay(TOOLS, stream, messages=sent)

    reply = replay.respond(listen_to())
    fed = opened(reply)

    assert (reply.status, reply.end, reply.hold_ms) == (200, "hold", None)
    assert ("content-type", "text/event-stream") in reply.headers
    assert fed == [({"jsonrpc": "2.0", "method": changed}, 20)]
    assert replay.respond(listen_to()).status == 200  # the message on #5 may still come
    replay.responder.feed.take("s", 5)
    assert replay.respond(listen_to()).status == 405


def test_what_comes_while_a_client_listens_carries_its_id() -> None:
    """The subscription id in a cassette is a constant; the live one is the request's."""
    key = "io.modelcontextprotocol/subscriptionId"
    asked: Json = {"notifications": {"toolsListChanged": True}}
    listening = exchange(3, "subscriptions/listen", McpAnswer(kind="none"), asked)
    message = Message(
        server="s",
        sender="server",
        method="notifications/tools/list_changed",
        params={"_meta": {key: "$id"}},
        on=3,
    )
    replay = Replay(TOOLS, listening, messages=[message])

    reply = replay.respond(post(rpc("subscriptions/listen", "sub-9", asked)))

    assert (reply.status, reply.end, reply.streamed) == (200, "hold", True)
    fed = opened(reply)
    again = replay.respond(post(rpc("subscriptions/listen", "sub-10", asked)))

    assert [live["params"] for live, _ in fed if isinstance(live, dict)] == [
        {"_meta": {key: "sub-9"}}
    ]
    assert (again.end, opened(again)) == ("hold", [])


def test_progress_goes_to_those_who_asked_for_it() -> None:
    """Under the caller's own token, in the recorded order, before the answer."""
    step: dict[str, Json] = {
        "method": "notifications/progress",
        "params": {"progressToken": TOKEN, "progress": 1},
    }
    slow = McpAnswer(kind="result", value="done", events=(McpEvent(at_ms=7, message=step),))
    replay = Replay(exchange(1, "tools/call", slow, {"name": "slow"}))

    asked = replay.respond(raw_call('{"name":"slow","_meta":{"progressToken":0}}'))
    silent = replay.respond(raw_call('{"name":"slow"}'))

    assert streamed(asked) == [
        {"jsonrpc": "2.0", **step, "params": {"progressToken": 0, "progress": 1}},
        {"jsonrpc": "2.0", "id": 1, "result": "done"},
    ]
    assert streamed(silent) == [{"jsonrpc": "2.0", "id": 1, "result": "done"}]


def test_a_client_that_knows_the_headers_is_not_refused() -> None:
    """The refusal was recorded before the client had listed the tools."""
    error: Json = {"code": -32020, "message": "Header mismatch"}
    replay = Replay(
        recorded_call(1, '{"name":"t"}', McpAnswer(kind="error", value=error, status=400)),
        recorded_call(2, '{"name":"t"}', told("ok")),
    )
    body = json.loads(raw_call('{"name":"t"}').body)

    assert text_of(replay.respond(post(body, mcp_param_region="eu"))) == "ok"
    assert replay.player.unused() == []


def test_a_caller_is_answered_in_its_own_era() -> None:
    """A server of both eras says different things in each."""
    tape = [replace(TOOLS, era="stateless"), replace(TOOLS, seq=2, era="classic")]
    tape[1] = replace(tape[1], answer=McpAnswer(kind="result", value="classic"))

    reply = Replay(*tape).respond(post(rpc("tools/list"), mcp_protocol_version="2025-06-18"))

    assert answered(reply)["result"] == "classic"


def test_a_miss_is_an_answer_and_is_told_at_once() -> None:
    """HTTP 200 and an error is what every MCP client turns into an exception it can show."""
    replay = Replay(TOOLS)

    reply = replay.respond(post(rpc("prompts/list", 3)))

    assert reply.status == 200
    error = answered(reply)["error"]
    assert isinstance(error, dict)
    assert error["code"] == 4001
    assert [miss.title for miss in replay.told] == ["prompts/list (server s)"]


TWO_SERVERS = Header(
    servers={"a": Server(url="https://a.test/mcp"), "b": Server(url="https://b.test/mcp/?key=1")}
)


def test_a_server_is_found_by_its_port_then_by_its_address() -> None:
    """Two servers with one method each must not answer for each other."""
    tape = [
        McpExchange(
            seq=seq,
            call=McpCall(server=label, method="ping"),
            answer=McpAnswer(kind="result", value=label),
        )
        for seq, label in enumerate("ab", 1)
    ]
    replay = Replay(*tape, header=TWO_SERVERS)
    body = post(rpc("ping")).body
    at_port = HttpRequest(method="POST", url="http://127.0.0.1:8/x", body=body, label="b")

    assert answered(replay.respond(at_port))["result"] == "b"
    assert answered(replay.respond(post(rpc("ping"), "https://a.test/mcp?x=1")))["result"] == "a"
    assert answered(replay.respond(post(rpc("ping"), "https://b.test/mcp")))["result"] == "b"
    assert replay.respond(post(rpc("ping"), "https://c.test/mcp")).status == 403
    assert replay.turned.refused == {"c.test": 1}


def test_the_only_server_answers_at_any_address() -> None:
    """A hand-written cassette needs no addresses."""
    reply = Replay(TOOLS, header=Header()).respond(post(rpc("tools/list"), "https://x.test/rpc"))

    assert answered(reply)["result"] == {"tools": []}


def test_paths_beside_the_endpoint_are_not_found() -> None:
    """A replay never asks for a token: there is no metadata, so there is no sign-in."""
    request = HttpRequest(
        method="GET", url="http://127.0.0.1:9/.well-known/oauth-protected-resource", label="s"
    )

    assert Replay(TOOLS).respond(request).status == 404


@pytest.mark.parametrize("method", ["GET", "POST", "CONNECT"])
def test_anything_else_is_refused_and_counted(method: str) -> None:
    """A replay goes nowhere, and says by host what wanted to."""
    replay = Replay(TOOLS)
    request = HttpRequest(method=method, url="https://example.com/x", body=b'{"a":1}')

    replies = [replay.respond(request) for _ in range(2)]

    assert [reply.status for reply in replies] == [403, 403]
    assert ("x-should-retry", "false") in replies[0].headers
    assert b"example.com" in replies[0].body
    assert replay.turned.refused == {"example.com": 2}


def chat(prompt: str = "hi", **fields: Json) -> dict[str, Json]:
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], **fields}


def spoken(seq: int, answer: ModelAnswer) -> ModelExchange:
    return ModelExchange(
        seq=seq, call=ModelCall(provider="openai", path=CHAT, request=chat()), answer=answer
    )


HELLO = spoken(2, ModelAnswer(kind="body", value={"id": "chatcmpl-1"}))


@pytest.mark.parametrize(
    ("url", "via"),
    [
        (f"http://127.0.0.1:9/openai{CHAT}", "base-url"),
        ("http://127.0.0.1:9/openai/chat/completions", "base-url"),
        (f"https://api.openai.com{CHAT}", "proxy"),
        (f"https://gateway.corp/openai{CHAT}?api-version=2", "proxy"),
    ],
)
def test_a_model_call_is_told_by_path_and_body(url: str, via: Via) -> None:
    """At the model door the prefix names the provider and is no part of the path."""
    reply = Replay(HELLO).respond(post(chat(), url, via=via))

    assert (reply.status, answered(reply)) == (200, {"id": "chatcmpl-1"})


def test_a_streamed_answer_goes_out_event_by_event() -> None:
    """Clients read a stream by its framing, and its end marker is no JSON."""
    events = (
        StreamEvent(at_ms=3, kind="json", value={"n": 1.0}),
        StreamEvent(at_ms=4, kind="text", value="[DONE]"),
    )

    reply = Replay(spoken(1, ModelAnswer(kind="events", events=events))).respond(
        post(chat(), f"https://h{CHAT}")
    )

    assert [piece.data for piece in reply.pieces] == [b'data: {"n":1.0}\n\n', b"data: [DONE]\n\n"]
    assert (reply.streamed, reply.end) == (True, "complete")


def test_a_missed_model_call_is_not_retried() -> None:
    """In the provider's own error shape, or SDKs wait, ask again, and hide the cause."""
    replay = Replay(HELLO)

    reply = replay.respond(post(chat("bye"), f"https://api.openai.com{CHAT}"))

    assert reply.status == 400
    assert ("x-should-retry", "false") in reply.headers
    error = answered(reply)["error"]
    assert isinstance(error, dict)
    assert "/request/messages/0/content" in str(error["message"])
    assert len(replay.told) == 1


@pytest.mark.parametrize(
    ("url", "via", "path"),
    [
        (f"http://127.0.0.1:9/openai{CHAT}", "base-url", CHAT),
        (f"https://gateway.corp/openai{CHAT}", "proxy", f"/openai{CHAT}"),
    ],
)
def test_a_miss_names_the_path_as_it_would_be_recorded(url: str, via: Via, path: str) -> None:
    """The prefix of the model door is ours, that of a gateway is the gateway's."""
    replay = Replay(HELLO)

    replay.respond(post(chat("bye"), url, via=via))

    assert [miss.title for miss in replay.told] == [f"model call {path} (provider openai)"]


def test_a_half_that_is_off_is_refused() -> None:
    """A model call without a model half must not reach a live model; neither half is missed."""
    only_mcp = Replay(TOOLS, HELLO, halves=frozenset({"mcp"}))
    only_model = Replay(TOOLS, HELLO, halves=frozenset({"model"}))

    refused = only_mcp.respond(post(chat(), f"https://api.openai.com{CHAT}"))
    also = [only_model.respond(each) for each in (post(rpc("tools/list")), listen_to())]

    assert refused.status == 400
    assert b"the model half is not replayed and nothing goes live; mcprec eval" in refused.body
    assert only_mcp.turned.live_model
    assert only_mcp.turned.refused == {"the model half": 1}
    assert b"the mcp half is not replayed" in also[0].body
    assert also[1].status == 403
    assert only_model.turned.refused == {"the mcp half": 1, "127.0.0.1:9": 1}
    assert not only_model.turned.live_model
    assert only_mcp.told == only_model.told == []


def test_what_is_of_the_mcp_half_is_told_from_all_else() -> None:
    """A proxy leads the one to the replay and lets the other pass, whatever its address is."""
    takes = Replay(TOOLS, HELLO).responder.takes

    assert takes(post(rpc("tools/list"), "https://anywhere.example/x"))
    assert takes(listen_to())
    assert not takes(post(chat(), f"https://api.openai.com{CHAT}"))
    assert not takes(HttpRequest(method="GET", url="https://anywhere.example/x"))


def test_a_missed_tool_call_may_get_an_advice() -> None:
    """A live model reads a result; an error ends many an agent's run."""
    replay = Replay(
        recorded_call(1, '{"name":"search","arguments":{"q":"bug"}}', told("3")), on_miss="advise"
    )

    reply = replay.respond(raw_call('{"name":"search","arguments":{"q":"bugs"}}', '"seven"'))

    assert answered(reply)["id"] == "seven"
    assert '{"q":"bug"}' in str(text_of(reply))
    assert len(replay.told) == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/traces/ingest",
        "https://api.anthropic.com/api/event_logging/batch?x=1",
        "http://127.0.0.1:9/anthropic/api/hello",
    ],
)
def test_telemetry_of_sdks_is_absorbed(url: str) -> None:
    """Nobody meant to record it, and a refusal would fill the agent's log; it is counted."""
    replay = Replay(HELLO)

    reply = replay.respond(post({"data": []}, url))

    assert (reply.status, reply.body) == (200, b"{}")
    assert sum(replay.turned.absorbed.values()) == 1
    assert replay.turned.refused == {}


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://api.openai.com/v1/responses", 426),
        ("http://127.0.0.1:9/openai/v1/realtime?model=m", 426),
        ("https://example.com/chat", 403),
    ],
)
def test_a_websocket_of_a_model_api_falls_back_to_http(url: str, status: int) -> None:
    """426 makes clients use what can be replayed; any other socket is refused like the rest."""
    replay = Replay(HELLO)

    reply = replay.respond(HttpRequest(method="GET", url=url, headers=(("upgrade", "WebSocket"),)))

    assert reply.status == status
    assert replay.turned.sockets == (status == 426)
    assert sum(replay.turned.refused.values()) == (status == 403)


def test_telemetry_is_known_by_its_whole_path() -> None:
    """Only our own prefix is taken off: elsewhere it is another program's path."""
    replay = Replay(HELLO)

    reply = replay.respond(post({}, "https://example.com/openai/api/hello", via="proxy"))

    assert reply.status == 403
    assert replay.turned.absorbed == {}


def test_where_no_way_in_was_recorded_none_is_another() -> None:
    """A hand-written cassette says nothing of it."""
    replay = Replay(TOOLS, HELLO)

    replay.respond(post(rpc("tools/list"), via="proxy"))
    replay.respond(post(chat(), f"https://api.openai.com{CHAT}", via="proxy"))

    assert replay.turned.ways == {}


def test_another_way_in_is_noted() -> None:
    """It changes what some agents send, so it is said before the misses it causes."""
    header = Header(servers={"s": Server(url=URL, via="proxy")})
    replay = Replay(TOOLS, HELLO, header=header, model_via="base-url")

    replay.respond(post(chat(), f"http://127.0.0.1:9/openai{CHAT}"))
    assert replay.turned.ways == {}

    replay.respond(post(chat(), f"https://api.openai.com{CHAT}", via="proxy"))
    replay.respond(post(rpc("tools/list"), via="base-url"))
    assert replay.turned.ways == {"model": "proxy", "mcp": "base-url"}

"""A cassette as bytes: order, laws, damage."""

import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcprec_addon.cassette.format import read_cassette, read_journal
from mcprec_addon.cassette.writing import write_cassette, write_header, write_record
from mcprec_addon.errors import CassetteFormatError
from mcprec_addon.exchange import (
    Cassette,
    Exchange,
    Header,
    Input,
    Json,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Noise,
    Number,
    Opaque,
    Pairs,
    Server,
    StreamEvent,
)
from mcprec_addon.jsonvalue import canonical, loads

HEADER = b'{"mcprec":1}\n'
PING = b'{"seq":1,"method":"ping","result":{}}\n'
MODEL = (
    b'{"kind":"model","seq":7,"provider":"openai","path":"/v1","request":{"input":[%s]},"body":1}\n'
)


def read(*lines: bytes) -> Cassette:
    return read_cassette(b"".join(lines), path="t.mcp")


def refused(data: bytes) -> str:
    with pytest.raises(CassetteFormatError) as caught:
        read_cassette(data, path="t.mcp")
    return str(caught.value)


def call(seq: int, value: Json = None) -> McpExchange:
    asked = McpCall(server="a", method="tools/call", name="t", args={"value": value})
    return McpExchange(seq=seq, call=asked, answer=McpAnswer(kind="result", value=value))


def first_args(cassette: Cassette) -> Json:
    asked = cassette.exchanges[0].call
    assert isinstance(asked, McpCall)
    return asked.args


EXAMPLE = """\
{"mcprec":1,"recorder":"mcprec 0.1.0","protocol":["2026-07-28"],"servers":{"tracker":{"transport":"http","url":"https://mcp.acme.com/mcp","era":"stateless"}},"model":[{"provider":"openai","name":"gpt-5","temperature":null}],"redaction":{"builtin":1,"placeholders":{"email":2}},"match":{"ignore":["/args/since"]},"config":"mcp.json"}
{"kind":"message","server":"tracker","from":"client","method":"notifications/initialized","after":0}
{"seq":2,"server":"tracker","method":"tools/call","name":"search_issues","args":{"query":"label:bug state:open"},"result":{"isError":false,"content":[{"type":"text","text":"3 results: #412, #409, #377"}]},"ms":412}
{"kind":"noise","server":"tracker","after":2,"text":"warming up"}
{"kind":"section","section":"model","via":"base-url"}
{"kind":"part","part":"c05a29cb0aa9ec14","value":{"role":"system","content":"You triage bugs…"}}
{"kind":"model","seq":1,"provider":"openai","path":"/v1/chat/completions","request":{"model":"gpt-5","stream":true,"messages":[{"$part":"c05a29cb0aa9ec14"},{"role":"user","content":"Any open bugs?"}]},"status":200,"events":[{"at":310,"json":{"choices":[{"delta":{"role":"assistant"}}]}},{"run":["/choices/0/delta/content"],"of":{"json":{"choices":[{"delta":{"content":"The"}}]}},"values":[["The","ree"," open"]],"at":[330,341,352]},{"at":360,"text":"[DONE]"}],"ms":361}
{"kind":"model","seq":3,"provider":"openai","path":"/v1/chat/completions","request":{"model":"gpt-5","stream":true,"messages":[{"$turns":[1,2]},{"role":"assistant","content":null},{"role":"tool","content":"x"}]},"status":200,"body":{"price":275.0},"ms":204}
"""  # noqa: E501 - a record is one line


def test_a_whole_cassette_reads_and_writes_the_same() -> None:
    """Loading and saving leaves no diff, so a review shows what changed."""
    cassette = read(EXAMPLE.encode())

    assert write_cassette(cassette).decode() == EXAMPLE
    assert [exchange.seq for exchange in cassette.half("mcp")] == [2]
    assert [exchange.seq for exchange in cassette.half("model")] == [1, 3]
    assert cassette.model_via == "base-url"
    assert len(cassette.messages) == len(cassette.noise) == 1


def test_records_are_ordered_by_seq_and_messages_stand_behind_theirs() -> None:
    """Concurrent calls complete in any order; the file is in the order they came."""
    later = Message(server="a", sender="server", method="late", after=2)
    start = Message(server="a", sender="client", method="start")
    second = Message(server="a", sender="client", method="second")
    model = ModelExchange(
        seq=1, call=ModelCall(provider="x", path="/"), answer=ModelAnswer(kind="none")
    )
    cassette = Cassette(
        exchanges=(model, call(3), call(2)),
        messages=(later, start, second),
        noise=(Noise(server="a", text="n", after=2),),
    )

    lines = [json.loads(line) for line in write_cassette(cassette).splitlines()]

    shown = [line.get("method") or line.get("kind") for line in lines[1:]]
    assert shown == [
        *["start", "second", "tools/call", "late", "noise", "tools/call"],
        *["section", "model"],
    ]
    assert [line.get("seq") for line in lines] == [None, None, None, 2, None, None, 3, None, 1]


def test_era_and_way_in_are_written_where_they_differ() -> None:
    """What the header says of a server holds for its exchanges."""
    header = Header(servers={"a": Server(era="classic", via="proxy")})
    same = McpExchange(seq=1, call=call(1).call, answer=call(1).answer, era="classic", via="proxy")
    data = write_cassette(Cassette(header=header, exchanges=(same,)))

    assert data.count(b'"era"') == data.count(b'"via"') == 1


def test_a_minimal_cassette_is_enough() -> None:
    """Somebody can write one by hand."""
    cassette = read(HEADER, PING)

    assert cassette.exchanges == (
        McpExchange(
            seq=1,
            call=McpCall(server="server", method="ping"),
            answer=McpAnswer(kind="result", value={}),
        ),
    )


def test_the_only_server_of_the_header_is_meant() -> None:
    """One label need not be repeated on every line; of two, one must be chosen."""
    one = read(b'{"mcprec":1,"servers":{"files":{}}}\n', PING)

    assert one.half("mcp")[0].call.record()["server"] == "files"
    assert 'no "server"' in refused(b'{"mcprec":1,"servers":{"a":{},"b":{}}}\n' + PING)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + HEADER + PING,
        (HEADER + PING).replace(b"\n", b"\r\n"),
        HEADER + b"\n  \n" + PING,
        (HEADER + PING)[:-1],
        b'{ "mcprec" : 1 }\n' + PING,
    ],
)
def test_what_editors_do_to_a_file_is_taken(data: bytes) -> None:
    """A BOM, CRLF, a blank line or a missing last newline change nothing."""
    assert read(data) == read(HEADER, PING)


def test_one_line_per_record_whatever_is_in_it() -> None:
    """git, grep and diff see one record a line."""
    value: Json = "a\nb\r\u2028\u2029\x85\x0b\x0c\x00\ud800"
    data = write_cassette(Cassette(exchanges=(call(1, value), call(2, "\u2028"))))

    assert data.count(b"\n") == 3
    assert read(data).exchanges == (call(1, value), call(2, "\u2028"))


def test_nothing_but_strict_json_is_written() -> None:
    """Any reader can load the file, NaN in an answer or not."""
    value: Json = {"std": Number("NaN"), "max": Number("-Infinity"), "text": "NaN"}
    data = write_cassette(Cassette(exchanges=(call(1, value),)))

    def fail(constant: str) -> None:
        raise AssertionError(constant)

    for line in data.splitlines():
        json.loads(line, parse_constant=fail)
    assert read(data).exchanges == (call(1, value),)


def test_a_number_keeps_its_spelling() -> None:
    """`275.0` in a result stays `275.0`: typed clients read it as another type than `275`."""
    data = write_cassette(Cassette(exchanges=(call(1, [275.0, 275]),)))

    assert b"[275.0,275]" in data
    assert repr(read(data).exchanges) == repr((call(1, [275.0, 275]),))


def test_a_large_number_by_hand_is_read_exactly() -> None:
    """Whoever writes it in place means it."""
    line = '{"seq":1,"method":"x","args":[12345678901234567890123,0.10000000000000001,1e400],%s}\n'
    cassette = read(HEADER, (line % '"result":{}').encode())

    expected = [
        Number("12345678901234567890123"),
        Number("0.10000000000000001"),
        Number("1e400"),
    ]
    assert first_args(cassette) == expected
    assert read(write_cassette(cassette)) == cassette


def test_many_values_survive_writing_and_reading() -> None:
    """What a matcher compares must be what was recorded."""
    exchanges = tuple(call(n, value) for n, value in enumerate(generated_values(), 1))

    assert repr(read(write_cassette(Cassette(exchanges=exchanges))).exchanges) == repr(exchanges)


def generated_values() -> list[Json]:
    """Return 200 values as two writers of JSON spell them."""
    rnd = random.Random(7)  # noqa: S311 - reproducible, not secret
    leaf = [
        *[None, True, False, 0, 1, -1, 1.0, 0.1, 1e21, 2**53 + 1, "", "1", "true", "é"],
        *["e\u0301", "\u2028", "a/b~c", "ana@example.test"],
    ]
    keys = ["q", "", "a/b", "m~n", "_meta", "id", "é", "0"]

    def value(depth: int = 0) -> object:
        kind = rnd.random()
        if depth > 2 or kind < 0.5:
            return rnd.choice(leaf)
        if kind < 0.75:
            return [value(depth + 1) for _ in range(rnd.randint(0, 3))]
        return {rnd.choice(keys): value(depth + 1) for _ in range(rnd.randint(0, 3))}

    return [
        loads(json.dumps({"x": value(), "n": n}, ensure_ascii=bool(n % 2), indent=n % 3 or None))
        for n in range(200)
    ]


def test_unknown_fields_are_kept() -> None:
    """An older reader does not damage what a newer one wrote."""
    line = b'{"seq":1,"server":"server","method":"ping","result":{},"newer":{"$$part":1}}\n'
    cassette = read(HEADER, line)

    assert cassette.exchanges[0].extra == {"newer": {"$part": 1}}
    assert write_cassette(cassette).endswith(line)


def test_marker_like_keys_of_an_answer_come_back() -> None:
    """Escaping holds in every member of every record."""
    value: Json = {"$part": "x", "$$turns": [{"$blob": 1}]}
    exchange = ModelExchange(
        seq=2,
        call=ModelCall(provider="x", path="/"),
        answer=ModelAnswer(kind="events", events=(StreamEvent(at_ms=1, kind="json", value=value),)),
        note=value,
    )
    cassette = Cassette(exchanges=(call(1, value), exchange))

    assert read(write_cassette(cassette)).exchanges == cassette.exchanges


def test_two_branches_merged_without_a_word_load() -> None:
    """A merge joins lines that both sides numbered alike; none of them may be lost."""
    line = '{"seq":%d,"server":"tracker","method":"tools/call","name":"get","args":%s,"result":{}}'
    old = '{"id":%d,"api":"2025-11"}'
    lines = [
        '{"mcprec":1,"recorded":"2026-02-01","servers":{"tracker":{"version":"2.1.0"}}}',
        line % (1, '{"id":3,"api":"2026-01"}'),
        line % (2, '{"id":4,"api":"2026-01"}'),
        line % (2, old % 5),
        line % (3, old % 6),
    ]

    cassette = read("\n".join(lines).encode())

    assert [exchange.seq for exchange in cassette.exchanges] == [1, 2, 2, 3]
    assert cassette.warnings == (
        "t.mcp:4: seq 2 stands on line 3 too; both are kept, in file order",
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "t.mcp:1: the file is empty; a cassette starts with"),
        (b"\n \n", "t.mcp:1: the file is empty"),
        (PING, "t.mcp:1: the first line is no header; a cassette starts with"),
        (b"[1]\n", "t.mcp:1: the line is no object"),
        (b'{"mcprec":9}\n', "t.mcp:1: format version 9 is unknown"),
        (HEADER + PING + HEADER, "t.mcp:3: a second header; a cassette has one"),
        (HEADER + b"<<<<<<< ours\n" + PING, "t.mcp:2: a conflict marker is left"),
        (HEADER + PING + b"=======\n" + PING, "t.mcp:3: a conflict marker is left"),
        (HEADER + PING + b">>>>>>> theirs\n", "t.mcp:3: a conflict marker is left"),
        (b"version https://git-lfs.github.com/spec/v1\noid x\n", "t.mcp:1: this is a Git LFS"),
        (HEADER + b"\0" * 300 + b"\n" + PING, "t.mcp:2: 300 NUL bytes stand where text was lost"),
        (HEADER + PING[:-5] + b"\n" + PING, "t.mcp:2: the line is no JSON, "),
        (HEADER + PING[:-5], "t.mcp:2: the last line is torn; restore the file"),
        (HEADER + '{"seq":1,"x":"ö'.encode()[:-1], "t.mcp:2: the last line is torn"),
        (HEADER + b'{"a":"\xff"}\n', "t.mcp:2: byte 7 of the line is not UTF-8"),
        ("{}".encode("utf-16"), "t.mcp:1: "),
        (HEADER + b'{"seq":1,"result":{"std":NaN}}\n', "t.mcp:2: a bare NaN is no JSON"),
        (HEADER + b'{"kind":"exchnge"}\n', 't.mcp:2: record kind "exchnge" is unknown; format 1'),
        (HEADER + b'{"kind":5}\n', "t.mcp:2: record kind 5 is unknown"),
        (HEADER + b'{"kind":"section","section":"x"}\n', 't.mcp:2: section "x" is unknown'),
        (HEADER + b'{"kind":"part","part":"x"}\n', 't.mcp:2: the part has no "value"'),
        (HEADER + MODEL % b'{"$part":"00"}', 't.mcp:2: part "00" is not above this line'),
        (HEADER + MODEL % b'{"$turns":[1,1]}', "t.mcp:2: $turns names #1, no model exchange"),
        (HEADER + MODEL % b'{"$turns":[7,1]}', "t.mcp:2: $turns names #7, no model exchange"),
        (HEADER + b'{"seq":1,"raw":{"/seq/x":"1"}}\n', 't.mcp:2: "raw" names /seq/x'),
        (HEADER + b"[" * 600 + b"]" * 600 + b"\n", "t.mcp:2: the record is nested more than 250"),
        (HEADER + b'{"a":1e400,"a":1}\n', "t.mcp:2: the line is no object, or has a doubled key"),
        (
            HEADER
            + b'{"kind":"section","section":"model","via":"proxy"}\n'
            + b'{"kind":"section","section":"model"}\n',
            "t.mcp:3: an earlier section line has another via, proxy",
        ),
    ],
)
def test_a_bad_file_is_one_line_with_file_line_and_remedy(data: bytes, message: str) -> None:
    """Whoever meets it knows where to look and what to do, without a traceback."""
    text = refused(data)

    assert text.startswith(message)
    assert "\n" not in text


def test_a_deleted_turn_is_named() -> None:
    """A conversation must not be replayed shorter than it was."""
    lines = EXAMPLE.encode().splitlines(keepends=True)
    del lines[6]

    assert "$turns names #1, no model exchange with a conversation above" in refused(
        b"".join(lines)
    )


def test_a_journal_is_the_same_records_as_they_completed() -> None:
    """A crash leaves lines that are whole by themselves."""
    exchange = ModelExchange(
        seq=1,
        call=ModelCall(provider="x", path="/", request={"tools": ["t"], "input": [{"$part": 1}]}),
        answer=ModelAnswer(kind="none"),
        via="proxy",
    )
    message = Message(server="a", sender="client", method="m")
    noise = Noise(server="a", text="n")
    header = Header(recorder="mcprec 0.1.0", servers={"a": Server(era="classic")})
    records: list[Exchange | Message | Noise] = [exchange, message, call(2), noise]
    data = write_header(header) + b"".join(map(write_record, records))

    journal = read_journal(data, path=".t.journal")

    assert data.count(b"\n") == 5
    assert journal == Cassette(
        header=header, exchanges=(call(2), exchange), messages=(message,), noise=(noise,)
    )


def test_a_journal_needs_no_header() -> None:
    """The header is known at the end of a recording, the journal from its start."""
    assert read_journal(write_record(call(1)), path="j").exchanges == (call(1),)
    assert read_journal(b"", path="j") == Cassette()


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_the_torn_tail_of_a_journal_is_dropped_with_a_warning(cut: int) -> None:
    """What was whole before the crash is kept, and the reader says what was not."""
    torn = write_record(call(2, "größe"))[:-cut] if cut > 1 else b'{"a":"\xc3'
    journal = read_journal(write_record(call(1)) + torn, path="j")

    assert journal.exchanges == (call(1),)
    assert journal.warnings == ("j:2: the last line was cut off and is left out",)


def test_damage_in_the_middle_of_a_journal_is_no_torn_tail() -> None:
    """To stop there in silence would lose what follows."""
    with pytest.raises(CassetteFormatError, match="j:1: "):
        read_journal(b"\0\0\n" + write_record(call(1)), path="j")


EXACT: st.SearchStrategy[Json] = st.sampled_from(
    [
        Number("1e400"),
        Number("NaN"),
        Number("0.10000000000000001"),
        Number("-12345678901234567890123"),
        Pairs((("a", 1), ("a", Number("1e-400")))),
        Pairs((("$part", 1), ("$part", 2))),
        "\ud800",
        "\udfffx",
    ]
)
TEXT = st.text(max_size=6) | st.sampled_from(["\u2028", "$part", "$token", "raw", ""])
KEYS = TEXT | st.sampled_from(["$part", "$turns", "$blob", "$$part", "$$$turns", "\udc00"])
LEAVES: st.SearchStrategy[Json] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | EXACT
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)
MS = st.none() | st.integers(0, 10**9)
# One field: those that go through raw come back behind the others.
EXTRA = st.dictionaries(st.sampled_from(["newer", "$part"]), VALUES, max_size=1)
STATUS = st.integers(100, 599)
ENDS = st.sampled_from([None, "cut", "reset", "left", "stopped"])
HEADERS = st.dictionaries(TEXT, TEXT | st.lists(TEXT, max_size=2), max_size=2)
OPAQUE = st.binary(max_size=8).map(Opaque) | st.text(max_size=8).map(Opaque)

MCP_ANSWERS = st.builds(
    McpAnswer,
    kind=st.sampled_from(["result", "error", "body"]),
    value=VALUES | OPAQUE,
    events=st.lists(
        st.builds(McpEvent, at_ms=st.integers(0, 9), message=OBJECTS, answer=VALUES), max_size=2
    ).map(tuple),
    status=STATUS,
    headers=HEADERS,
    end=ENDS,
) | st.builds(McpAnswer, kind=st.just("none"), status=STATUS, headers=HEADERS, end=ENDS)
MCP_CALLS = st.builds(
    McpCall,
    server=TEXT,
    method=TEXT.filter(bool),
    name=st.none() | TEXT | st.just("\ud800"),
    args=VALUES.filter(lambda value: value != {}),
    params=VALUES.filter(lambda value: value is not None),
    input=st.none() | st.builds(Input, state=VALUES, responses=VALUES),
    meta=OBJECTS,
)
SHARED = {"note": VALUES, "pin": st.booleans(), "ms": MS, "extra": EXTRA}
MCP = st.builds(
    McpExchange,
    seq=st.just(1),
    call=MCP_CALLS,
    answer=MCP_ANSWERS,
    era=st.sampled_from([None, "classic", "stateless"]),
    via=st.sampled_from([None, "proxy", "base-url"]),
    **SHARED,
)
STREAM_EVENTS = st.builds(
    StreamEvent,
    at_ms=st.integers(0, 9),
    kind=st.just("json"),
    value=VALUES,
    event=st.none() | TEXT,
) | st.builds(
    StreamEvent, at_ms=st.integers(0, 9), kind=st.sampled_from(["text", "comment"]), value=TEXT
)
MODEL_ANSWERS = (
    st.builds(
        ModelAnswer,
        kind=st.just("body"),
        value=VALUES | OPAQUE,
        status=STATUS,
        headers=HEADERS,
        end=ENDS,
    )
    | st.builds(
        ModelAnswer,
        kind=st.just("events"),
        events=st.lists(STREAM_EVENTS, max_size=4).map(tuple),
        tail=st.none() | TEXT,
    )
    | st.builds(ModelAnswer, kind=st.just("none"), status=STATUS, end=ENDS)
)
CONVERSATION = st.lists(VALUES | st.just("y" * 1100), max_size=4)
REQUESTS = (
    VALUES
    | OPAQUE
    | st.lists(st.fixed_dictionaries({"name": TEXT, "content": VALUES | OPAQUE}), max_size=2)
    | st.fixed_dictionaries(
        {"model": TEXT},
        optional={
            "tools": VALUES,
            "system": VALUES,
            "messages": CONVERSATION,
            "input": CONVERSATION,
        },
    )
)
MODEL_EXCHANGES = st.builds(
    ModelExchange,
    seq=st.integers(1, 3),
    call=st.builds(
        ModelCall,
        provider=TEXT,
        path=TEXT,
        http_method=st.sampled_from(["POST", "GET"]),
        request=REQUESTS,
    ),
    answer=MODEL_ANSWERS,
    via=st.sampled_from([None, "proxy", "base-url"]),
    **SHARED,
)


@given(exchange=MCP)
def test_reading_an_mcp_exchange_gives_back_what_was_written(exchange: McpExchange) -> None:
    """A replay hands out what came, to the last character."""
    line = write_record(exchange)

    assert line.count(b"\n") == 1
    assert repr(read(HEADER, line).exchanges) == repr((exchange,))


@given(exchange=MODEL_EXCHANGES)
def test_reading_a_model_exchange_gives_back_what_was_written(exchange: ModelExchange) -> None:
    """A replay hands out what came, to the last character."""
    line = write_record(exchange)

    assert line.count(b"\n") == 1
    assert repr(read(HEADER, line).exchanges) == repr((exchange,))


@given(exchanges=st.lists(MODEL_EXCHANGES, max_size=5))
def test_sharing_changes_no_request(exchanges: list[ModelExchange]) -> None:
    """Parts and turns exist in the file only."""
    ordered = sorted(exchanges, key=lambda exchange: exchange.seq)
    data = write_cassette(Cassette(exchanges=tuple(exchanges)))
    again = read(data).exchanges

    assert list(again) == ordered
    for one, other in zip(again, ordered, strict=True):
        assert isinstance(one, ModelExchange)
        assert canonical(one.call.request) == canonical(other.call.request)
    assert read(write_cassette(read(data))) == read(data)


@given(
    messages=st.lists(
        st.builds(
            Message,
            server=TEXT,
            sender=st.sampled_from(["client", "server"]),
            method=TEXT,
            params=VALUES.filter(lambda value: value != {}),
            on=MS,
            at_ms=MS,
            extra=EXTRA,
        ),
        max_size=3,
    ),
    noise=st.lists(
        st.builds(Noise, server=TEXT, text=TEXT | st.just("\ud800"), after=MS.filter(bool))
    ),
)
def test_reading_messages_gives_back_what_was_written(
    messages: list[Message], noise: list[Noise]
) -> None:
    """Notifications are replayed in the order they came."""
    cassette = Cassette(
        messages=tuple(messages), noise=tuple(sorted(noise, key=lambda each: each.after))
    )

    assert repr(read(write_cassette(cassette))) == repr(cassette)


@given(data=st.binary(max_size=200) | st.binary(max_size=100).map(lambda data: HEADER + data))
def test_random_bytes_are_refused_or_read(data: bytes) -> None:
    """Nothing but CassetteFormatError escapes the reader."""
    for reader in (read_cassette, read_journal):
        try:
            reader(data, path="t.mcp")
        except CassetteFormatError as error:
            assert "\n" not in str(error)  # noqa: PT017 - reading may as well succeed


RICH = (
    EXAMPLE.encode()
    + write_record(call(9, {"a": Number("1e400"), "$part": 1}))
    + write_record(call(10, Opaque(b"\xff")))
)
PIECES = st.sampled_from(
    [
        *[b"", b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"true", b"-1", b"1e999", b"NaN"],
        *[b'{"$part":1}', b'{"$turns":[1]}', b'"raw":{"/a":1},', b"\n", b"\r", b"\0", b"\xff"],
        *[b"\\ud800", b'"kind":"model",', b'"kind":[],', b"{}", b"[]", b'"seq":"1",'],
    ]
)


@settings(max_examples=400)
@given(
    edits=st.lists(
        st.tuples(st.integers(0, len(RICH)), st.integers(0, 40), PIECES), min_size=1, max_size=4
    )
)
def test_an_edited_file_is_refused_or_read(edits: list[tuple[int, int, bytes]]) -> None:
    """Whatever an editor, a merge or a disk did to it, one line says what is wrong."""
    data = RICH
    for at, length, piece in edits:
        data = data[:at] + piece + data[at + length :]
    for reader in (read_cassette, read_journal):
        try:
            reader(data, path="t.mcp")
        except CassetteFormatError as error:
            assert "\n" not in str(error)  # noqa: PT017 - reading may as well succeed


def test_every_member_of_every_record_may_be_of_any_type() -> None:
    """A field of the wrong type is named, wherever it stands."""
    wrong: list[Json] = [None, True, -1, 1.5, "x", [], {}, [[]], [{}], {"a": []}]
    lines = [json.loads(line) for line in RICH.splitlines()]
    places = [(number, name) for number, line in enumerate(lines) for name in line]
    for (number, name), value in itertools.product(places, wrong):
        changed = [*lines[:number], lines[number] | {name: value}, *lines[number + 1 :]]
        data = "\n".join(json.dumps(line) for line in changed).encode()
        try:
            read_cassette(data, path="t.mcp")
        except CassetteFormatError as error:
            assert error.line >= number + 1  # noqa: PT017 - reading may as well succeed

"""A replay with live values: the same raw value always stands for the same placeholder."""

from base64 import b64encode

from mcprec_addon.exchange import (
    Call,
    Json,
    McpAnswer,
    McpCall,
    ModelAnswer,
    ModelCall,
    Redaction,
    StreamEvent,
)
from mcprec_addon.jsonvalue import canonical
from mcprec_addon.redact.bindings import Bindings
from mcprec_addon.redact.rules import default_rules


def bindings(**counts: int) -> Bindings:
    placeholders = {cls.replace("_", "-"): count for cls, count in counts.items()}
    return Bindings(Redaction(placeholders=placeholders), default_rules())


def lookup(mail: Json) -> McpCall:
    return McpCall(server="s", method="tools/call", name="lookup", args={"mail": mail})


def chat(text: str) -> ModelCall:
    request: Json = {"messages": [{"role": "user", "content": text}]}
    return ModelCall(provider="openai", path="/v1/chat/completions", request=request)


def unified(made: Bindings, recorded: Call, live: Call) -> dict[str, str] | None:
    """Match one recorded call with one live call, as a player does."""
    clean = made.live(live)
    wanted, names = made.shape(canonical(recorded.record()))
    found, others = made.shape(canonical(clean.record()))
    if wanted != found:
        return None
    return made.unify(names, others)


def matched(made: Bindings, recorded: Call, live: Call) -> bool:
    new = unified(made, recorded, live)
    made.bind(new or {})
    return new is not None


def test_a_raw_request_hits_its_clean_recording() -> None:
    """The test's own values, and what the replayed model said, are the recorded ones."""
    made = bindings(email=2)

    assert matched(made, chat("Find email-1@mcprec.example"), chat("Find ana@example.test"))
    assert matched(made, lookup("email-1@mcprec.example"), lookup("email-1@mcprec.example"))
    assert matched(made, lookup("email-1@mcprec.example"), lookup("ana@example.test"))
    assert not matched(made, lookup("email-1@mcprec.example"), lookup("bo@example.test"))
    assert not matched(made, lookup("email-2@mcprec.example"), lookup("ana@example.test"))
    assert matched(made, lookup("email-2@mcprec.example"), lookup("bo@example.test"))


def test_a_placeholder_stands_for_itself_alone() -> None:
    """The second recorded person is not the first, also by placeholder."""
    made = bindings(email=2)

    assert not matched(made, lookup("email-2@mcprec.example"), lookup("email-1@mcprec.example"))


def test_one_live_value_per_placeholder_within_a_call() -> None:
    """Two people cannot both be email-1, and one cannot be both."""
    made = bindings(email=2)
    two: Json = ["email-1@mcprec.example", "email-2@mcprec.example"]
    same: Json = ["email-1@mcprec.example", "email-1@mcprec.example"]

    assert unified(made, lookup(same), lookup(["ana@x.test", "bo@x.test"])) is None
    assert unified(made, lookup(two), lookup(["ana@x.test", "ana@x.test"])) is None
    assert unified(made, lookup(two), lookup(["ana@x.test", "bo@x.test"])) == {
        "email-1": "ana@x.test",
        "email-2": "bo@x.test",
    }
    assert made.unify(["email-1"], []) is None


def test_a_shape_names_classes() -> None:
    """Candidates are the recorded calls equal up to placeholders of a class."""
    made = bindings(email=1, api_key=1)

    shape = made.shape(b'{"a":"email-1@mcprec.example","b":"\\napi-key-12","c":"email-1"}')

    assert shape == (
        b'{"a":"email@mcprec.example","b":"\\napi-key","c":"email-1"}',
        ("email-1", "api-key-12"),
    )
    assert bindings().shape(b'"email-1@mcprec.example"') == (b'"email-1@mcprec.example"', ())


def test_a_lookalike_beyond_the_recorded_ones_is_text() -> None:
    """A number no recording gave out can be nobody's placeholder."""
    made = bindings(email=1)

    assert not matched(made, lookup("email-7@mcprec.example"), lookup("ana@example.test"))
    assert matched(made, lookup("email-7@mcprec.example"), lookup("email-7@mcprec.example"))


def test_a_known_value_stands_for_its_placeholder_from_the_start() -> None:
    """Whatever the recorded variable holds now is what api-key-1 stands for, in any spelling."""
    made = bindings(api_key=1)
    made.known({"api-key-1": "live-secret-4711", "api-key-9": "other-secret-4711"})
    code = b64encode(b"user:live-secret-4711").decode()

    clean = made.live(lookup(f"x live-secret-4711 {code}"))

    recorded = b64encode(b"user:api-key-1").decode()
    assert clean.record()["args"] == {"mail": f"x api-key-1 {recorded}"}


def test_a_secret_that_contains_a_placeholder_is_still_found() -> None:
    """Test credentials are often called like our placeholders."""
    made = bindings(api_key=1)
    made.known({"api-key-1": "test-api-key-123"})

    clean = made.live(lookup("test-api-key-123"))

    assert clean.record()["args"] == {"mail": "api-key-1"}


def test_live_values_come_back_in_answers() -> None:
    """The agent must see its own values, each in the spelling around it."""
    made = bindings(email=2, password=1)
    made.bind({"email-1": "ana@example.test", "password-1": 'a"b/c1234'})
    code = b64encode(b"user:password-1").decode()
    value: Json = {
        "text": "email-1@mcprec.example, email-2@mcprec.example, email-12@mcprec.example",
        "url": "/find?mail=email-1%40mcprec.example",
        "arguments": '{"p":"password-1"}',
        "plain": "password-1",
        "basic": code,
        "email-1@mcprec.example": 1,
    }

    answer = made.restore(McpAnswer(kind="result", value=value))

    assert answer.value == {
        "text": "ana@example.test, email-2@mcprec.example, email-12@mcprec.example",
        "url": "/find?mail=ana%40example.test",
        "arguments": '{"p":"a\\"b/c1234"}',
        "plain": 'a"b/c1234',
        "basic": b64encode(b'user:a"b/c1234').decode(),
        "ana@example.test": 1,
    }


def test_live_values_come_back_in_streams() -> None:
    """A delta of arguments is a piece of JSON."""
    made = bindings(password=1)
    made.bind({"password-1": 'a"b/c1234'})
    values: list[Json] = [
        {"type": "response.function_call_arguments.delta", "delta": '"password-1'},
        {"type": "response.output_text.delta", "delta": "password-1"},
        {"type": "content_block_delta", "delta": {"partial_json": "password-1"}},
    ]
    events = tuple(StreamEvent(at_ms=0, kind="json", value=value) for value in values)

    answer = made.restore(ModelAnswer(kind="events", events=events))

    assert isinstance(answer, ModelAnswer)
    assert [event.value for event in answer.events] == [
        {"type": "response.function_call_arguments.delta", "delta": '"a\\"b/c1234'},
        {"type": "response.output_text.delta", "delta": 'a"b/c1234'},
        {"type": "content_block_delta", "delta": {"partial_json": 'a\\"b/c1234'}},
    ]


def test_nothing_bound_changes_nothing() -> None:
    """A cassette without secrets costs nothing."""
    made = bindings()
    answer = McpAnswer(kind="result", value={"a": "email-1@mcprec.example"})

    assert made.restore(answer) is answer


def test_a_telephone_number_may_be_spelled_another_way() -> None:
    """The agent tidies a number up before it calls a tool, live and in a replay."""
    made = bindings(phone=2)
    first, second = "+12015550101", "+12015550102"

    assert matched(made, chat(f"Call {first}"), chat("Call +49 30 5550101"))
    assert matched(made, lookup(first), lookup("+49305550101"))
    assert not matched(made, lookup(first), lookup("+49305550102"))
    assert matched(made, lookup(second), lookup("+49305550102"))
    assert matched(made, lookup(second), lookup(second))


def test_numbers_stay_numbers_in_a_replay() -> None:
    """A tool that wants an integer gets one, whoever's it is."""
    made = bindings(phone=1, card=1, number=1)
    live: Json = {"phone": 4155552671, "card": "4242 4242 4242 4242", "token": 1234567890123456}
    recorded: Json = {
        "phone": 12015550101,
        "card": "4000 0099 0000 0012",
        "token": 8800000000000001,
    }

    assert matched(made, lookup(recorded), lookup(live))
    assert made.restore(McpAnswer(kind="result", value=recorded)).value == {
        "phone": 14155552671,
        "card": "4242 4242 4242 4242",
        "token": 1234567890123456,
    }
    flag: Json = {"n": 8800000000000002, "b": True}
    assert made.restore(McpAnswer(kind="result", value=flag)).value == flag


def test_a_number_is_said_from_outside_in_any_spelling() -> None:
    """`--secret phone-1=…` takes what stands on a business card, and answers are in their own."""
    made = bindings(phone=1, card=1)
    made.known({"phone-1": "+49 30 5550101", "card-1": "4242-4242-4242-4242"})
    text = "+12015550101 tel=%2B12015550101 12015550101 4000009900000012 4000-0099-0000-0012"

    answer = made.restore(McpAnswer(kind="result", value=text))

    assert answer.value == (
        "+49305550101 tel=%2B49305550101 49305550101 4242424242424242 4242-4242-4242-4242"
    )
    clean = made.live(lookup("(0049) is +49305550101, 4242 4242 4242 4242"))
    assert clean.record()["args"] == {"mail": "(0049) is +12015550101, 4000 0099 0000 0012"}


def test_hex_is_asked_and_answered_in_hex() -> None:
    """A digest-like argument of a known value is the same call on another machine."""
    bindings = Bindings(Redaction(placeholders={"api-key": 12}), default_rules())
    bindings.known({"api-key-1": "tt-4410-nöbody-knows", "api-key-12": "kx91-secret-value"})
    code = "tt-4410-nöbody-knows".encode().hex()
    recorded = b"x api-key-1".hex()

    asked = bindings.live(lookup(f"7820{code}")).record()["args"]
    answer = bindings.restore(
        McpAnswer(kind="result", value=[recorded.upper(), b"api-key-12".hex(), b"api-key-3".hex()])
    )

    assert asked == {"mail": recorded}
    assert answer.value == [f"7820{code}".upper(), b"kx91-secret-value".hex(), b"api-key-3".hex()]


def test_base64_of_two_placeholders_is_told_apart() -> None:
    """Base64 cuts the number at the end of a placeholder in two, so both look alike there."""
    bindings = Bindings(Redaction(placeholders={"api-key": 2}), default_rules())
    values = {"api-key-1": "tt-4410-nobody-knows", "api-key-2": "kx91-secret-value"}
    bindings.known(values)
    codes: list[Json] = [b64encode(f"x {name} y".encode()).decode() for name in values]

    answer = bindings.restore(McpAnswer(kind="result", value=[*codes, " ".join(map(str, codes))]))

    told = [b64encode(f"x {value} y".encode()).decode() for value in values.values()]
    assert answer.value == [*told, " ".join(told)]

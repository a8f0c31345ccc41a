"""Whole recordings: one secret one placeholder, shape kept, nothing left at close."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.exchange import (
    Exchange,
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
    StreamEvent,
)
from mcprec_addon.jsonvalue import dumps, leaves, loads
from mcprec_addon.redact.redactor import Redactor
from mcprec_addon.redact.rules import default_rules
from tests.redact.samples import SECRETS

FIXTURES = Path(__file__).parent.parent / "fixtures" / "redact"
OPAQUE = "tt-4410-nobody-knows-this-shape"
JWT = dict(SECRETS)["jwt"]


NUMBERS = ("+49 30 5550101", "+14155552671", "4242 4242 4242 4242", "4155552671")
WHOLE = (4242424242424242, 4155552671, 1234567890123456789)


def redactor() -> Redactor:
    return Redactor(default_rules(), nonce="0a1b2c3d")


def tool(seq: int, args: Json, result: Json) -> McpExchange:
    call = McpCall(server="tracker", method="tools/call", name="t", args=args)
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value=result))


def chat(seq: int, text: str, answer: Json = None) -> ModelExchange:
    request: Json = {"model": "m", "messages": [{"role": "user", "content": text}]}
    call = ModelCall(provider="openai", path="/v1/chat/completions", request=request)
    return ModelExchange(seq=seq, call=call, answer=ModelAnswer(kind="body", value=answer))


def closed(made: Redactor, *exchanges: Exchange) -> tuple[Exchange, ...]:
    return made.close([made.exchange(each) for each in exchanges]).exchanges


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.stem)
def test_real_traffic_without_secrets_is_left_alone(path: Path) -> None:
    """A rule that fires on ids or schemas breaks replays."""
    value = loads(path.read_bytes())

    assert redactor().json(value, "request", "model") is value
    assert redactor().json(value, "result", "mcp") is value


def test_one_secret_has_one_placeholder_in_both_halves() -> None:
    """The tool is called with what the model said, and the two must agree."""
    arguments = '{"mail":"ana@example.test"}'
    said: Json = {
        "choices": [{"message": {"tool_calls": [{"function": {"arguments": arguments}}]}}]
    }

    first, second, third = closed(
        redactor(),
        chat(1, "Find ana@example.test", said),
        tool(2, {"mail": "ana@example.test"}, {"text": "id 7"}),
        tool(3, {"mail": "bo@example.test"}, {"text": "id 8"}),
    )

    assert "Find email-1@mcprec.example" in str(first.call)
    assert '{"mail":"email-1@mcprec.example"}' in str(first.answer)
    assert second.call.record()["args"] == {"mail": "email-1@mcprec.example"}
    assert third.call.record()["args"] == {"mail": "email-2@mcprec.example"}


def test_two_people_are_two_placeholders() -> None:
    """One blot for all would make customers indistinguishable; case makes another value."""
    rows: Json = [
        {"mail": "ana@example.test"},
        {"mail": "bo@example.test"},
        {"mail": "ANA@example.test"},
    ]

    (only,) = closed(redactor(), tool(1, {}, {"structuredContent": {"rows": rows}}))

    assert isinstance(only.answer, McpAnswer)
    assert [leaf for _, leaf in leaves(only.answer.value)] == [
        "email-1@mcprec.example",
        "email-2@mcprec.example",
        "email-3@mcprec.example",
    ]


def test_people_have_telephones_and_cards() -> None:
    """Each keeps its type and its spelling, and the header counts them."""
    args: Json = {"tel": "+49 30 5550101", "card": 4242424242424242, "again": "0049305550101"}
    text = "ask +49305550101 or +1 (415) 555-2671, card 4242 4242 4242 4242"

    made = redactor()
    done = made.close([made.exchange(tool(1, args, {"text": text}))])

    (only,) = done.exchanges
    assert only.call.record()["args"] == {
        "tel": "+12015550101",
        "card": 4000009900000012,
        "again": "0049305550101",
    }
    assert only.answer.value == {
        "text": "ask +12015550101 or +12015550102, card 4000 0099 0000 0012"
    }
    assert done.redaction.placeholders == {"phone": 2, "card": 1}
    assert done.samples["card-1"] == "42…42"


def test_numbers_that_look_like_placeholders_are_passed_over() -> None:
    """A number of fiction may stand in the traffic already, also as a JSON number."""
    args: dict[str, Json] = {"a": "+12015550101", "b": 4000009900000012, "tel": "+49305550101"}

    made = redactor()
    done = made.close([made.exchange(tool(1, args, {"card": "4242424242424242"}))])

    (only,) = done.exchanges
    assert only.call.record()["args"] == {**args, "tel": "+12015550102"}
    assert only.answer.value == {"card": "4000009900000020"}


def test_a_secret_learned_late_is_gone_from_what_came_before() -> None:
    """A token may be echoed before the header that shows it is one."""
    made = redactor()
    early = made.exchange(tool(1, {"LOG": "1"}, {"text": f"I am {OPAQUE}, LOG=1"}))
    assert OPAQUE in str(early)

    made.learn_headers([("authorization", f"Bearer {OPAQUE}"), ("x-team", "blue-and-green")])
    done = made.close([early, made.exchange(chat(2, f"x {OPAQUE}"))])

    assert OPAQUE not in str(done)
    assert "'I am api-key-1, LOG=1'" in str(done.exchanges[0])
    assert done.redaction.placeholders == {"api-key": 1}
    assert done.redaction.sources == {"api-key-1": ["header:authorization"]}


def test_sources_name_what_held_the_secret() -> None:
    """A replay needs to know which variable stands for the placeholder."""
    made = redactor()
    made.learn(OPAQUE, source="env:TRACKER_TOKEN")
    made.learn(f"Bearer {OPAQUE}", source="header:x-auth")
    made.learn("unused-secret-17", source="env:OTHER")

    done = made.close([made.exchange(tool(1, {"k": OPAQUE}, {}))])

    assert done.redaction.sources == {"api-key-1": ["env:TRACKER_TOKEN", "header:x-auth"]}


def test_a_known_value_with_a_shape_has_the_class_of_its_shape() -> None:
    """However a token was found first, its class is the same."""
    made = redactor()
    made.learn(JWT, source="env:TOKEN")

    assert made.text(JWT) == "mcprec-0a1b2c3d-jwt-1-x"


def test_basic_credentials_are_learned_apart() -> None:
    """The password of an Authorization header turns up alone in an answer."""
    made = redactor()
    made.learn_headers([("Authorization", "Basic dXNlcjpodW50ZXIyaHVudGVy")])

    assert "hunter2hunter" not in made.text("password hunter2hunter")


def test_request_state_is_left_and_named() -> None:
    """The retry must give the state back to the character."""
    made = redactor()
    made.learn(OPAQUE)
    state = f"ana@example.test {OPAQUE}"
    asked = McpCall(
        server="s", method="tools/call", input=Input(state=state, responses={"k": OPAQUE})
    )
    unit = McpExchange(
        seq=1, call=asked, answer=McpAnswer(kind="result", value={"requestState": state})
    )

    done = made.close([made.exchange(unit)])

    assert done.exchanges[0].call.record()["input"] == {
        "state": state,
        "responses": {"k": "api-key-1"},
    }
    assert done.redaction.inside == ["/input/state", "/result/requestState"]


def test_headers_of_an_answer_by_name() -> None:
    """A cookie that an answer sets is a credential; its attributes are not."""
    answer = McpAnswer(
        kind="body",
        value="see ana@example.test",
        headers={"set-cookie": ["sid=abc123def456; Path=/"], "x-request-id": "req_abc123def456"},
    )
    unit = McpExchange(seq=1, call=McpCall(server="s", method="m"), answer=answer)

    (only,) = closed(redactor(), unit)

    assert only.answer.headers["set-cookie"] == ["sid=cookie-1; Path=/"]
    assert only.answer.value == "see email-1@mcprec.example"


def test_a_url_loses_its_credentials() -> None:
    """The header names a server's address, never how one gets in."""
    url = redactor().url("https://u:pw-77@docs.example.test/mcp?key=qk-2231&page=2")

    assert url == "https://docs.example.test/mcp?page=2"


def test_messages_and_noise_are_part_of_the_recording() -> None:
    """What a server logs on its own holds addresses too."""
    made = redactor()
    message = Message(
        server="s", sender="server", method="log", params={"data": "ana@example.test"}
    )
    noise = Noise(server="s", text="ana@example.test logged in")

    done = made.close([], [made.message(message)], [made.noise(noise)])

    assert done.messages[0].params == {"data": "email-1@mcprec.example"}
    assert done.noise[0].text == "email-1@mcprec.example logged in"


def test_the_last_gate_sees_every_spelling() -> None:
    """What redaction missed must not reach the disk; exempt members do not count."""
    made = redactor()
    made.learn(OPAQUE)

    assert made.leaks(dumps({"args": {"q": OPAQUE.encode().hex()}}).decode()) == ("/args/q",)
    assert made.leaks(dumps({"kind": "model", "request": {OPAQUE: 1}}).decode()) == ("/request",)
    assert made.leaks(dumps({"result": {"requestState": OPAQUE}}).decode()) == ()
    assert made.leaks(dumps({"input": {"state": OPAQUE}}).decode()) == ()
    assert made.leaks(f"no json {OPAQUE}") == ("",)


keys = st.sampled_from(
    ["id", "token", "mail", "phone", "card", "data", "arguments", "q", "ana@example.test"]
)
texts = st.sampled_from(
    [*(secret for _, secret in SECRETS), OPAQUE, "plain", "", "x\\ny", *NUMBERS]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WHOLE) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


def kinds(value: Json) -> list[tuple[int, type]]:
    return [(len(pointer), type(leaf)) for pointer, leaf in leaves(value)]


@given(args=values, result=values, text=texts)
def test_laws(args: Json, result: Json, text: str) -> None:
    """Redacting twice is redacting once, and keeps the shape, before and after the close."""
    made = redactor()
    made.learn(OPAQUE)
    event = McpEvent(at_ms=1, message={"method": "m", "params": {"x": text}})
    call = McpCall(server="s", method="tools/call", args=args)
    unit = McpExchange(
        seq=1, call=call, answer=McpAnswer(kind="result", value=result, events=(event,))
    )
    stream = ModelAnswer(
        kind="events", events=(StreamEvent(at_ms=0, kind="json", value={"x": result}),)
    )
    model = ModelExchange(seq=2, call=ModelCall(provider="openai", path="/x"), answer=stream)

    once = [made.exchange(unit), made.exchange(model)]
    done = made.close(once)

    assert [made.exchange(each) for each in once] == once
    assert kinds(done.exchanges[0].call.record()) == kinds(call.record())
    assert kinds(done.exchanges[0].answer.value) == kinds(result)
    again = redactor()
    assert tuple(again.exchange(each) for each in done.exchanges) == done.exchanges
    assert "mcprec-" not in str(done)

"""What a live model is told on a miss lets it correct itself, and gives nothing away."""

import json

import pytest

from mcprec_addon.exchange import Header, Json, McpAnswer, McpCall, Redaction
from mcprec_addon.replay.play import Hit
from mcprec_addon.replay.player import Player
from tests.replay.test_player import missed, player, tool

PEOPLE = Header(redaction=Redaction(placeholders={"email": 2, "api-key": 1}))


def call(name: str, args: Json) -> McpCall:
    return McpCall(server="s", method="tools/call", name=name, args=args)


def advised(made: Player, name: str, args: Json) -> tuple[str, McpAnswer]:
    """Return what a missed call is told, and the whole answer."""
    answer = made.advice(missed(made.play(call(name, args))), "classic")
    assert answer is not None
    assert isinstance(answer.value, dict)
    assert answer.value["isError"] is True
    content = answer.value["content"]
    assert isinstance(content, list)
    assert isinstance(content[0], dict)
    return str(content[0]["text"]), answer


def arguments_in(text: str) -> Json:
    """Return the arguments that an advice names, as a model reads them."""
    value: Json = json.loads(text.splitlines()[2])
    return value


def test_the_nearest_call_can_be_asked_as_it_is_told() -> None:
    """The model errs in one field, and its next call is right."""
    made = player(
        tool(1, "search", {"query": "label:bug", "limit": 10}, "3 found"), on_miss="advise"
    )

    text, _ = advised(made, "search", {"query": "label:bugs", "limit": 10})

    assert arguments_in(text) == {"query": "label:bug", "limit": 10}
    assert "They differ at /query." in text
    assert isinstance(made.play(call("search", arguments_in(text))), Hit)


def test_a_plain_answer_names_no_other_call() -> None:
    """An eval without help must not be helped."""
    made = player(tool(1, "search", {"query": "label:bug"}, "3 found"), on_miss="plain")

    text, _ = advised(made, "search", {"query": "label:bugs"})

    assert text == "No data for this call: search answers from a recording that does not have it."


@pytest.mark.parametrize(
    ("on_miss", "method"), [("fail", "tools/call"), ("advise", "prompts/get"), ("plain", "x/y")]
)
def test_everything_else_gets_an_error(on_miss: str, method: str) -> None:
    """Only a tool's result can say that it is no answer."""
    made = player(tool(1, "search", {"query": "label:bug"}, "3 found"), on_miss=on_miss)
    miss = missed(made.play(McpCall(server="s", method=method, name="search", args={"query": "x"})))

    assert made.advice(miss, "classic") is None


def test_an_advice_shows_the_values_of_this_run() -> None:
    """What the agent holds stands for the placeholder, bound or about to be."""
    made = player(
        tool(1, "me", {"mail": "email-1@mcprec.example"}, "Ana"),
        tool(2, "find", {"owner": "email-1@mcprec.example", "by": "email-2@mcprec.example"}, "x"),
        header=PEOPLE,
        on_miss="advise",
    )
    assert isinstance(made.play(call("me", {"mail": "ana@acme.com"})), Hit)

    text, _ = advised(made, "find", {"owner": "ana@acme.com", "by": "bo@acme.com", "limit": 3})

    assert arguments_in(text) == {"owner": "ana@acme.com", "by": "bo@acme.com"}
    assert isinstance(made.play(call("find", arguments_in(text))), Hit)


def test_a_placeholder_that_is_shown_can_be_used() -> None:
    """Nothing live stands for it in this run, so it stands for itself."""
    made = player(
        tool(1, "find", {"owner": "email-1@mcprec.example", "key": "api-key-1"}, "x"),
        header=PEOPLE,
        on_miss="advise",
    )

    text, _ = advised(made, "find", {"user": "somebody"})

    assert isinstance(made.play(call("find", arguments_in(text))), Hit)


def test_a_live_value_of_another_person_is_not_told() -> None:
    """Who was seen earlier in the run is nobody the model asked about here."""
    made = player(
        tool(1, "find", {"owner": "email-1@mcprec.example"}, "x"), header=PEOPLE, on_miss="advise"
    )

    text, _ = advised(made, "find", {"owner": "ana@acme.com bo@acme.com"})

    assert arguments_in(text) == {"owner": "email-1@mcprec.example"}
    assert "acme" not in text


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("serch", {}, "serch was never called in the recording. The nearest of the tools that "),
        ("other", {}, "on this server, but on t."),
        ("pay", {"id": 1}, "it was recorded once, and all of that has been given out."),
    ],
)
def test_what_cannot_be_corrected_is_said_in_a_sentence(name: str, args: Json, says: str) -> None:
    """A model told no arguments has nothing to repeat."""
    made = player(
        tool(1, "search", {"query": "label:bug"}, "3 found"),
        tool(2, "pay", {"id": 1}, "paid"),
        tool(3, "other", {}, "there", server="t"),
        strategy="ordered",
        on_miss="advise",
    )
    made.play(call("pay", {"id": 1}))

    text, _ = advised(made, name, args)

    assert says in text


def test_a_client_of_the_stateless_era_gets_its_form() -> None:
    """Its SDK takes no result without a type for one."""
    made = player(tool(1, "search", {"query": "label:bug"}, "3 found"), on_miss="advise")
    miss = missed(made.play(call("search", {})))

    answer = made.advice(miss, "stateless")

    assert answer is not None
    assert isinstance(answer.value, dict)
    assert answer.value["resultType"] == "complete"


def test_long_arguments_are_cut() -> None:
    """A file's content would fill the model's context."""
    made = player(tool(1, "write", {"text": "x" * 50_000}, "done"), on_miss="advise")

    text, _ = advised(made, "write", {"text": "y"})

    assert len(text) < 9_000

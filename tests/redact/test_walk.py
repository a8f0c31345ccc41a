"""Every text of an exchange is visited, in order."""

from dataclasses import replace

from mcprec_addon.exchange import (
    Input,
    McpAnswer,
    McpCall,
    McpEvent,
    McpExchange,
    Message,
    ModelAnswer,
    ModelCall,
    ModelExchange,
    Noise,
    Opaque,
    StreamEvent,
)
from mcprec_addon.redact import walk


class Seen(walk.Change):
    """Keeps every text it is shown, and returns it in capitals."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def text(self, text: str) -> str:
        """Note a text."""
        self.texts.append(text)
        return text.upper()


def test_every_text_of_an_mcp_exchange() -> None:
    """A text that is not visited is a text that leaks."""
    call = McpCall(
        server="s",
        method="tools/call",
        name="a",
        args=["b"],
        params=["c"],
        input=Input(state="d", responses="e"),
        meta={"f": "g"},
    )
    answer = McpAnswer(
        kind="error",
        events=(McpEvent(at_ms=0, message={"h": "i"}, answer="j"),),
        value=Opaque("k"),
        headers={"x": ["l", "m"], "y": "n"},
    )
    seen = Seen()

    changed = walk.exchange(McpExchange(seq=1, call=call, answer=answer), seen)

    assert sorted(seen.texts) == list("abcdefghijklmn")
    assert changed.answer.value == Opaque("K")
    assert changed.call.record()["server"] == "s"


def test_every_text_of_a_model_exchange() -> None:
    """The call comes before its answer: placeholders are numbered in this order."""
    call = ModelCall(provider="openai", path="a", request={"b": "c"})
    answer = ModelAnswer(
        kind="events",
        events=(StreamEvent(at_ms=0, kind="text", value="d", event="name"),),
        value="e",
        tail="f",
        headers={"x": "g"},
    )
    seen = Seen()

    walk.exchange(ModelExchange(seq=1, call=call, answer=answer), seen)

    assert seen.texts == list("abcdefg")


def test_a_task_id_is_left() -> None:
    """It is minted by the server, and not a name anyone chose."""
    call = McpCall(server="s", method="tasks/get", name="id")

    assert walk.call(call, Seen()) == call
    assert walk.call(replace(call, method="resources/read"), Seen()) != call


def test_what_stands_beside_exchanges() -> None:
    """Messages and noise hold text too."""
    message = Message(server="s", sender="server", method="m", params=["p"], answer="q")

    assert walk.message(message, Seen()).params == ["P"]
    assert walk.noise(Noise(server="s", text="n"), Seen()).text == "N"
    assert walk.opaque(Opaque(b"\xffa"), str.upper) == Opaque(b"\xffA")


def test_bytes_that_are_no_text_stay() -> None:
    """Chance finds addresses in sound, and a changed picture is broken."""
    sound = Opaque(b"\xff\x00a")

    assert walk.opaque(sound, str.upper) is sound

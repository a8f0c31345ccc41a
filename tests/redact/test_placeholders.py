"""Numbers of placeholders, with and without the table."""

from base64 import b64encode

from mcprec_addon.exchange import McpAnswer, McpCall, McpExchange, Message, Noise
from mcprec_addon.redact.forms import private
from mcprec_addon.redact.placeholders import renumber

NONCE = "0a1b2c3d"


def exchange(seq: int, text: str, answer: str = "") -> McpExchange:
    call = McpCall(server="s", method="tools/call", name="t", args={"q": text})
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value={"a": answer}))


def test_numbers_follow_first_appearance() -> None:
    """A reader meets email-1 before email-2, whatever order the run minted them in."""
    late = exchange(2, private(NONCE, "email", 1), private(NONCE, "token", 1))
    early = exchange(1, private(NONCE, "email", 2), private(NONCE, "email", 3))
    told = Message(
        server="s", sender="server", method="m", params={"p": private(NONCE, "jwt", 9)}, after=1
    )
    noise = Noise(server="s", text=private(NONCE, "jwt", 4), after=0)

    done = renumber([late, early], [told], [noise])

    assert str(done.exchanges[1]).count("email-1@mcprec.example") == 1
    assert done.exchanges[0].call.record()["args"] == {"q": "email-3@mcprec.example"}
    assert done.exchanges[0].answer.value == {"a": "token-1"}
    assert done.noise[0].text == "jwt-1"
    assert done.messages[0].params == {"p": "jwt-2"}
    assert done.counts == {"jwt": 2, "email": 3, "token": 1}
    assert done.names[private(NONCE, "email", 2)] == "email-1"


def test_lookalikes_in_the_traffic_are_passed_over() -> None:
    """A real api-key-1 in a prompt must not be taken for a placeholder."""
    unit = exchange(1, f"api-key-1 {private(NONCE, 'api-key', 1)} email-1@mcprec.example", "")
    other = exchange(2, private(NONCE, "email", 1))

    done = renumber([unit, other], [], [])

    assert done.exchanges[0].call.record()["args"] == {
        "q": "api-key-1 api-key-2 email-1@mcprec.example"
    }
    assert done.exchanges[1].call.record()["args"] == {"q": "email-2@mcprec.example"}
    assert done.counts == {"api-key": 2, "email": 2}


def test_spellings_survive_renumbering() -> None:
    """In a URL the @ stays encoded; base64 stays base64, and hex hex."""
    address = private(NONCE, "email", 7).replace("@", "%40")
    code = b64encode(f"user:{private(NONCE, 'password', 7)}".encode()).decode()

    digits = private(NONCE, "password", 7).encode().hex()

    done = renumber([exchange(1, address, f"Basic {code} {digits}")], [], [])

    assert done.exchanges[0].call.record()["args"] == {"q": "email-1%40mcprec.example"}
    assert done.exchanges[0].answer.value == {
        "a": f"Basic {b64encode(b'user:password-1').decode()} {b'password-1'.hex()}"
    }

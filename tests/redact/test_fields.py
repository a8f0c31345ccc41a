"""What is never touched, and what is, by member and content block."""

import hashlib
from base64 import b64decode, b64encode

from mcprec_addon.exchange import Json, Number, Opaque, Pairs
from mcprec_addon.redact.fields import MCP, MODEL, Fields, Scope
from mcprec_addon.redact.finder import Finder
from mcprec_addon.redact.forms import covering
from mcprec_addon.redact.rules import default_rules

KEY = "AK" + "IA" + "ABCDEFGHIJKLMNOP"
MAIL = "ana@example.test"


def fields(known: str = "") -> Fields:
    finder = Finder(default_rules(), lambda _, cls: f"<{cls}>", covered=covering("", ()))
    if known:
        finder.learn(known)
    return Fields(finder)


def redacted(value: Json, scope: Scope = MCP) -> Json:
    return fields().redacted(value, scope, "result")


def test_an_image_is_left_and_text_is_not() -> None:
    """A key-shaped run inside a picture must not break it; hidden in text it must not stay."""
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" + KEY + "/" + KEY + "AA="
    digest = hashlib.sha256(b64decode(data)).hexdigest()
    hidden = b64encode(f"key={KEY}".encode()).decode()
    result: dict[str, Json] = {
        "content": [
            {"type": "image", "mimeType": "image/png", "data": data},
            {"type": "text", "text": f"found key {KEY} in config"},
            {"type": "text", "text": f"data:text/plain;base64,{hidden}"},
        ]
    }

    clean = redacted(result)

    match clean:
        case {"content": [{"data": str(picture)}, {"text": text}, {"text": str(uri)}]}:
            assert hashlib.sha256(b64decode(picture)).hexdigest() == digest
            assert text == "found key <aws-key> in config"
            assert b64decode(uri.partition(",")[2]) == b"key=<aws-key>"
        case _:
            raise AssertionError(clean)


def test_a_text_blob_is_decoded_and_a_binary_one_is_not() -> None:
    """A resource says by its media type whether its blob is text."""
    code = b64encode(f"key={KEY}".encode()).decode()
    picture = b64encode(b"\x89PNG" + KEY.encode()).decode()
    result: Json = {
        "contents": [
            {"uri": "file:///a", "mimeType": "text/plain", "blob": code},
            {"uri": "file:///b", "mimeType": "image/png", "blob": picture},
            {"uri": "file:///c", "blob": picture},
        ]
    }

    clean = redacted(result)

    match clean:
        case {"contents": [{"blob": str(text)}, {"blob": named}, {"blob": unnamed}]}:
            assert b64decode(text) == b"key=<aws-key>"
            assert named == unnamed == picture
        case _:
            raise AssertionError(clean)


def test_protocol_members_of_mcp_stay() -> None:
    """A changed request state or cursor would be refused by the server."""
    result: Json = {
        "requestState": MAIL,
        "nextCursor": MAIL,
        "progressToken": KEY,
        "taskId": KEY,
        "_meta": {"requestId": KEY},
    }

    assert redacted(result) is result


def test_protocol_members_of_models_stay() -> None:
    """Providers refuse a changed signature, and replays match on ids."""
    request: Json = {
        "previous_response_id": KEY,
        "input": [
            {"type": "reasoning", "id": KEY, "encrypted_content": MAIL},
            {"type": "thinking", "signature": MAIL},
            {"type": "redacted_thinking", "data": MAIL},
            {"role": "tool", "tool_call_id": KEY},
            {"image_url": {"url": f"data:image/png;base64,{KEY}"}},
            {"source": {"type": "base64", "media_type": "image/png", "data": KEY}},
            {"inlineData": {"mimeType": "audio/wav", "data": KEY}, "thoughtSignature": MAIL},
            {"input_audio": {"format": "wav", "data": KEY}},
        ],
    }

    assert redacted(request, MODEL) is request


def test_an_id_in_data_is_data() -> None:
    """Only ids of the protocol are exempt: a tool may use an address as one."""
    call: Json = {"type": "tool_use", "id": "toolu_1", "input": {"id": MAIL, "cursor": MAIL}}

    clean = redacted({"content": [call], "id": MAIL}, MODEL)

    assert clean == {
        "content": [
            {
                "type": "tool_use",
                "id": "toolu_1",
                "input": {"id": "<email>", "cursor": "<email>"},
            }
        ],
        "id": "<email>",
    }


def test_names_in_a_schema_are_names() -> None:
    """A tool that takes a password has no password in its schema."""
    schema: Json = {
        "type": "object",
        "properties": {
            "password": {"type": "string", "description": "the password to use1"},
            "api_key": "any-schema-value1",
            "mail": {"type": "string", "default": MAIL},
        },
    }

    clean = redacted({"tools": [{"name": "login", "inputSchema": schema}]})

    assert str(clean).count("<") == 1
    assert "'default': '<email>'" in str(clean)


def test_pieces_of_text_called_token_stay() -> None:
    """Log probabilities name every piece of a text a token."""
    body: Json = {"choices": [{"logprobs": {"content": [{"token": "_tokens12x"}]}}]}

    assert redacted(body, MODEL) is body


def test_keys_are_redacted_too() -> None:
    """A table by e-mail has the address as a key."""
    assert redacted({MAIL: 1, "x": 2}) == {"<email>": 1, "x": 2}


def test_exact_leaves_stay_exact() -> None:
    """Doubled keys, long numbers and bodies without JSON keep their form."""
    value: Json = Pairs((("a", MAIL), ("a", Number("1e400"))))

    assert redacted(value) == Pairs((("a", "<email>"), ("a", Number("1e400"))))
    assert redacted(Opaque(b"\xff " + MAIL.encode())) == Opaque(b"\xff <email>")
    assert redacted(Opaque(b"\xff")) == Opaque(b"\xff")


def test_a_known_value_in_an_exempt_member_is_named() -> None:
    """Nothing is let through in silence."""
    walker = fields("tt-4410-nobody-knows")
    state: Json = {"requestState": "a tt-4410-nobody-knows b"}

    assert walker.redacted(state, MCP, "result") is state
    assert list(walker.inside) == ["/result/requestState"]

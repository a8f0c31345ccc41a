"""The row of Bedrock."""

import pytest

from mcprec_addon.exchange import Json, ModelCall
from mcprec_addon.wire.providers import api_of, error_body, find_api, model_name, temperature

MODEL = "/model/anthropic.claude-3-5-sonnet-20240620-v1%3A0"


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (f"{MODEL}/converse", {"messages": []}, "converse"),
        (f"{MODEL}/converse-stream", {"messages": []}, "converse"),
        (f"{MODEL}/invoke", {"inputText": "hi"}, "invoke"),
        (f"{MODEL}/invoke-with-response-stream", {"messages": []}, "invoke"),
        (f"{MODEL}/count-tokens", {"input": {}}, "count_tokens"),
    ],
)
def test_a_call_is_known_by_its_path(path: str, body: Json, expected: str) -> None:
    """Each maker's models are invoked with a body of their own."""
    row = find_api(path, body)

    assert row is not None
    assert (row[0].name, row[1].name) == ("bedrock", expected)


def test_model_and_temperature_are_found() -> None:
    """The header of a cassette tells how the model was asked."""
    request: Json = {"messages": [], "inferenceConfig": {"temperature": 0.5}}
    call = ModelCall(provider="bedrock", path=f"{MODEL}/converse", request=request)

    assert model_name(call) == "anthropic.claude-3-5-sonnet-20240620-v1:0"
    assert temperature(call) == 0.5


def test_streams_end_as_bedrock_says() -> None:
    """Converse closes with its metadata, an invoked model with its own end, and both by failing."""
    converse = api_of("bedrock", f"{MODEL}/converse-stream")
    invoke = api_of("bedrock", f"{MODEL}/invoke-with-response-stream")

    assert converse is not None
    assert converse.ends("", {"usage": {}}, "metadata")
    assert converse.ends("", {"message": "slow"}, "throttlingException")
    assert not converse.ends("", {"stopReason": "end_turn"}, "messageStop")
    assert invoke is not None
    assert invoke.ends("", {"bytes": {"type": "message_stop"}}, "chunk")
    assert invoke.ends("", {"bytes": {"amazon-bedrock-invocationMetrics": {"a": 1}}}, "chunk")
    assert not invoke.ends("", {"bytes": {"type": "ping"}}, "chunk")


def test_errors_have_the_shape_that_clients_read() -> None:
    """boto3 makes a class of the type."""
    assert error_body("bedrock", "m") == {"__type": "ValidationException", "message": "m"}

"""Amazon Bedrock: Converse, and models that are invoked in their own shape."""

from dataclasses import replace
from typing import Final

from mcprec_addon.exchange import Json
from mcprec_addon.wire.deltas import Channel, ToolCall, channel, tool_call
from mcprec_addon.wire.provider import ANY, Api, Provider, ends_at, members
from mcprec_addon.wire.rows import anthropic


def _error(message: str, kind: str, _code: str, _status: int) -> dict[str, Json]:
    # Clients read the kind in the body or in a header.
    return {"__type": kind, "message": message}


_MODEL: Final = "/model/(?P<model>[^/]+)"
_FAILURES: Final = frozenset(
    {
        "internalServerException",
        "modelStreamErrorException",
        "modelTimeoutException",
        "serviceUnavailableException",
        "throttlingException",
        "validationException",
    }
)
_IDS: Final = (
    "/messages/*/content/*/toolUse/toolUseId",
    "/messages/*/content/*/toolResult/toolUseId",
)
_NUMBER: Final = "/contentBlockIndex"
_CONVERSE: Final = (
    channel("/delta/text", by=(_NUMBER,), number=_NUMBER),
    channel("/delta/toolUse/input", "tool call", by=(_NUMBER,), number=_NUMBER),
    channel("/delta/reasoningContent/text", "reasoning", by=(_NUMBER,), number=_NUMBER),
)
_CONVERSE_TOOLS: Final = (tool_call("/start/toolUse/name", number=_NUMBER),)
# What other makers' models say when they are invoked.
_OTHERS: Final = (
    channel("/outputText"),
    channel("/generation"),
    channel("/outputs/*/text"),
    channel("/choices/*/delta/content"),
)


def _inside(within: Channel, *steps: str) -> Channel:
    return replace(
        within,
        delta=(*steps, *within.delta),
        by=tuple((*steps, *each) for each in within.by),
        number=within.number and (*steps, *within.number),
    )


def _tool_inside(within: ToolCall, *steps: str) -> ToolCall:
    number = within.number and (*steps, *within.number)
    return replace(within, name=(*steps, *within.name), number=number)


BEDROCK: Final = Provider(
    name="bedrock",
    error=_error,
    kinds={
        400: "ValidationException",
        403: "AccessDeniedException",
        404: "ResourceNotFoundException",
        408: "ModelTimeoutException",
        424: "ModelErrorException",
        429: "ThrottlingException",
        500: "InternalServerException",
        503: "ServiceUnavailableException",
    },
    apis=(
        Api(
            name="converse",
            path=f"{_MODEL}/(?:converse|converse-stream)",
            markers=(frozenset({"messages"}), frozenset({"promptVariables"})),
            temperature=("inferenceConfig", "temperature"),
            end_events=_FAILURES | {"metadata"},
            volatile=("/request/requestMetadata",),
            ids=_IDS,
        ),
        Api(
            name="invoke",
            path=f"{_MODEL}/(?:invoke|invoke-with-response-stream)",
            markers=members(),
            end_at=ends_at(
                {
                    "/bytes/type": frozenset({"message_stop"}),
                    "/bytes/amazon-bedrock-invocationMetrics": ANY,
                }
            ),
            end_events=_FAILURES,
            volatile=("/request/metadata",),
            volatile_texts=anthropic.BILLING,
            ids=(*anthropic.IDS, *_IDS),
        ),
        Api(name="count_tokens", path=f"{_MODEL}/count-tokens", markers=members("input")),
    ),
    base_urls={
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "",
        "AWS_BEDROCK_RUNTIME_ENDPOINT": "",
        "ANTHROPIC_BEDROCK_BASE_URL": "",
    },
    upstream="https://bedrock-runtime.us-east-1.amazonaws.com",
    signs_host=True,
    dummies={
        "AWS_ACCESS_KEY_ID": "AKIAMCPRECREPLAYS234",
        "AWS_SECRET_ACCESS_KEY": "mcprecReplaysWithoutAnyCredential0000000",
    },
    credentials=frozenset({"AWS_BEARER_TOKEN_BEDROCK"}),
    needed={"AWS_DEFAULT_REGION": ("us-east-1", ("AWS_REGION",))},
    channels=(
        *_CONVERSE,
        *(_inside(each, "bytes") for each in (*anthropic.CHANNELS, *_OTHERS)),
        *(_inside(each, "bytes", "contentBlockDelta") for each in _CONVERSE),
    ),
    tools=(
        *_CONVERSE_TOOLS,
        *(_tool_inside(each, "bytes") for each in anthropic.TOOLS),
        *(_tool_inside(each, "bytes", "contentBlockStart") for each in _CONVERSE_TOOLS),
    ),
    opaque=anthropic.OPAQUE | {"redactedContent"},
)

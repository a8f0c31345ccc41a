"""The server that MCP's conformance suite asks for, of the 2.x SDK and in both eras.

Run it with ``python -m tests.peers.conformance_server --port 0``. The names of its tools, prompts
and resources are the suite's.
"""

import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver import Audio, Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.types import (
    Completion,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.peers.mcp_serving import serve

PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(64))
SOUND = b"RIFF\x24\0\0\0WAVEfmt " + bytes(20)

server: MCPServer[None] = MCPServer("conformance", version="1.0", log_level="CRITICAL")


class Answer(BaseModel):
    """What the elicitation of a classic client asks for."""

    username: str
    email: str


def _embedded(uri: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return EmbeddedResource(type="resource", resource=contents)


@server.tool()
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@server.tool()
def test_image_content() -> Image:
    """Return an image."""
    return Image(data=PIXEL, format="png")


@server.tool()
def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio(data=SOUND, format="wav")


@server.tool(structured_output=False)
def test_embedded_resource() -> EmbeddedResource:
    """Return a resource."""
    return _embedded("test://embedded-resource", "This is an embedded resource content.")


@server.tool(structured_output=False)
def test_multiple_content_types() -> list[Any]:
    """Return contents of several kinds."""
    mixed = _embedded("test://mixed-content-resource", '{"test":"data","value":123}')
    return ["Multiple content types test:", Image(data=PIXEL, format="png"), mixed]


@server.tool()
async def test_tool_with_logging(ctx: Context[None]) -> str:
    """Log three times."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(text)
        await anyio.sleep(0.05)
    return "logged"


@server.tool()
async def test_tool_with_progress(ctx: Context[None]) -> str:
    """Report progress three times."""
    for step in (0, 50, 100):
        await ctx.report_progress(step, 100, f"{step} %")
        await anyio.sleep(0.05)
    return "progressed"


@server.tool()
def test_error_handling() -> str:
    """Fail."""
    message = "This tool intentionally returns an error for testing"
    raise ToolError(message)


@server.tool()
async def test_sampling(prompt: str, ctx: Context[None]) -> str:
    """Ask the client's model."""
    asked = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    answer = await ctx.session.create_message(
        [asked], max_tokens=100, related_request_id=ctx.request_id
    )
    return f"LLM response: {answer.content}"


@server.tool()
async def test_elicitation(message: str, ctx: Context[None]) -> str:
    """Ask the client's user."""
    answer = await ctx.elicit(message, Answer)
    return f"User response: {answer.action}"


@server.tool(structured_output=False)
async def test_reconnection(ctx: Context[None]) -> str:
    """Hang up in the middle."""
    await ctx.close_sse_stream()
    await anyio.sleep(0.1)
    return "reconnected"


def _question(message: str, **properties: str) -> ElicitRequest:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": [*properties],
    }
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _prompt(text: str) -> CreateMessageRequest:
    asked = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[asked], max_tokens=100))


def _said(ctx: Context[None], key: str) -> Any:  # noqa: ANN401 - whatever the client said
    return (ctx.input_responses or {}).get(key)


@server.tool(structured_output=False)
def test_input_required_result_elicitation(ctx: Context[None]) -> Any:  # noqa: ANN401
    """Ask who the user is."""
    answer = _said(ctx, "user_name")
    if answer is None:
        asked = _question("What is your name?", name="string")
        return InputRequiredResult(input_requests={"user_name": asked})
    return f"Hello, {answer.content['name']}!"


@server.tool(structured_output=False)
def test_input_required_result_sampling(ctx: Context[None]) -> Any:  # noqa: ANN401
    """Ask the client's model about a capital."""
    answer = _said(ctx, "capital_question")
    if answer is None:
        asked = _prompt("What is the capital of France?")
        return InputRequiredResult(input_requests={"capital_question": asked})
    return f"The model said: {answer.content}"


@server.tool(structured_output=False)
def test_input_required_result_list_roots(ctx: Context[None]) -> Any:  # noqa: ANN401
    """Ask for the client's roots."""
    answer = _said(ctx, "client_roots")
    if answer is None:
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
    return f"Roots: {[str(root.uri) for root in answer.roots]}"


@server.tool(structured_output=False)
def test_input_required_result_request_state(ctx: Context[None]) -> Any:  # noqa: ANN401
    """Ask, and know the retry by its state."""
    if _said(ctx, "confirm") is None or ctx.request_state is None:
        asked = _question("Please confirm", ok="boolean")
        return InputRequiredResult(input_requests={"confirm": asked}, request_state="state-1")
    return "state-ok: the state came back"


@server.tool(structured_output=False)
def test_input_required_result_multiple_inputs(ctx: Context[None]) -> Any:  # noqa: ANN401
    """Ask three things at once."""
    if _said(ctx, "user_name") is None:
        requests: dict[str, CreateMessageRequest | ListRootsRequest | ElicitRequest] = {
            "user_name": _question("What is your name?", name="string"),
            "greeting": _prompt("Generate a greeting"),
            "client_roots": ListRootsRequest(),
        }
        return InputRequiredResult(input_requests=requests, request_state="multiple")
    return "all three came"


@server.tool(structured_output=False)
def test_input_required_result_multi_round(ctx: Context[None]) -> Any:  # noqa: ANN401
    """Ask one thing after the other."""
    if ctx.request_state is None:
        asked = _question("Step 1: What is your name?", name="string")
        return InputRequiredResult(input_requests={"step1": asked}, request_state="round-1")
    if ctx.request_state == "round-1":
        asked = _question("Step 2: What is your favorite color?", color="string")
        return InputRequiredResult(input_requests={"step2": asked}, request_state="round-2")
    return "done"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return PIXEL


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> dict[str, str | bool]:  # noqa: A002 - the suite's name
    """What is kept under an id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.resource("test://watched-resource", mime_type="text/plain")
def watched() -> str:
    """A text that may change."""
    return "Watched resource content"


@server.prompt()
def test_simple_prompt() -> str:
    """Return a text."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Return a text with arguments in it."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 - theirs
    """Return a resource and a text."""
    embedded = _embedded(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(embedded), UserMessage("Please process the embedded resource above.")]


@server.prompt()
def test_prompt_with_image() -> list[Message]:
    """Return an image and a text."""
    image = Image(data=PIXEL, format="png").to_image_content()
    assert isinstance(image, ImageContent)
    return [UserMessage(image), UserMessage("Please analyze the image above.")]


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(*_: object) -> Completion:
    """Complete anything."""
    return Completion(values=["test-1", "test-2"], total=2, has_more=False)


if __name__ == "__main__":
    serve(server)

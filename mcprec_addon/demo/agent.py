"""The demo's agent: it answers a question with a tracker's tools and a model.

It knows nothing of mcprec but one line: where a run tells it the tracker's URL in
``MCPREC_URL_TRACKER``, it goes there. With ``--config`` it takes the tracker of an MCP config, as
agents do that know nothing at all. Where the model is, and the key for it, is the OpenAI
SDK's own business (``OPENAI_BASE_URL``, ``OPENAI_API_KEY``). Run it with
``python -m mcprec_addon.demo.agent [QUESTION]``.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent, Tool
from openai import AsyncOpenAI, OpenAIError
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessage,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionMessageParam,
)

from mcprec_addon.jsonvalue import JsonError, loads

QUESTION = "Any open bugs?"
_SYSTEM = "You triage the bugs of Acme. Look them up in the tracker, then answer in one sentence."
_MOST_TURNS = 8  # more than any sensible answer needs, and an end for a loop


class AgentError(Exception):
    """The agent cannot answer; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What the agent works with.

    Attributes:
        tracker: A connected client of the issue tracker.
        model: The model API.
        sort: Added to every search as ``sort:…``; None leaves the model's query as it is.
        model_name: Which model to ask.
    """

    tracker: Client
    model: AsyncOpenAI
    sort: str | None = None
    model_name: str = "gpt-5"

    async def answer(self, question: str) -> str:
        """Return the model's answer, after as many tool calls as it asks for.

        Raises:
            AgentError: The model goes on asking for tools.
        """
        tools = [_function(tool) for tool in (await self.tracker.list_tools()).tools]
        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": question},
        ]
        for _ in range(_MOST_TURNS):
            reply = await self._ask(messages, tools)
            calls = [call for call in reply.tool_calls or () if call.type == "function"]
            if not calls:
                return reply.content or ""
            messages.append(_as_message(reply, calls))
            for call in calls:
                text = await self._use(call.function.name, call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        problem = f"no answer after {_MOST_TURNS} turns"
        raise AgentError(problem)

    async def _ask(
        self,
        messages: Iterable[ChatCompletionMessageParam],
        tools: list[ChatCompletionFunctionToolParam],
    ) -> ChatCompletionMessage:
        stream = await self.model.chat.completions.create(
            model=self.model_name, messages=messages, tools=tools, stream=True
        )
        state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
        async for chunk in stream:
            state.handle_chunk(chunk)
        return state.get_final_completion().choices[0].message

    async def _use(self, name: str, arguments: str) -> str:
        args = loads(arguments)
        if not isinstance(args, dict):
            problem = f"the model calls {name} with {arguments!r}, which is no object"
            raise AgentError(problem)
        if name == "search_issues" and self.sort is not None:
            args["query"] = f"{args.get('query')} sort:{self.sort}"
        return _text(await self.tracker.call_tool(name, args))


def _function(tool: Tool) -> ChatCompletionFunctionToolParam:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description or "",
            "parameters": tool.input_schema,
        },
    }


def _as_message(
    reply: ChatCompletionMessage, calls: Iterable[ChatCompletionMessageFunctionToolCall]
) -> ChatCompletionAssistantMessageParam:
    return {
        "role": "assistant",
        "content": reply.content,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in calls
        ],
    }


def _text(result: CallToolResult) -> str:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return "\n".join(texts)


async def _run(place: str | StdioServerParameters, question: str, sort: str | None) -> str:
    async with AsyncOpenAI() as model, Client(place) as tracker:
        return await Agent(tracker=tracker, model=model, sort=sort).answer(question)


def _tracker_of(config: Path) -> str | StdioServerParameters:
    """Return where the tracker of an MCP config is: its address, or how it is started."""
    value = loads(config.read_bytes())
    match value:
        case {"mcpServers": {"tracker": {"url": str(url)}}}:
            return url
        case {"mcpServers": {"tracker": {"command": str(command), "args": list(args)}}}:
            return StdioServerParameters(command=command, args=[str(each) for each in args])
        case _:
            problem = f"{config}: has no tracker with a url, or with a command and args"
            raise AgentError(problem)


def _leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    nested = (
        _leaves(one) if isinstance(one, BaseExceptionGroup) else [one] for one in group.exceptions
    )
    return [leaf for leaves in nested for leaf in leaves]


def _one_line(failure: Exception) -> str:
    words = " ".join(str(failure).split())
    return f"agent: {type(failure).__name__}: {words}\n"


def main(argv: list[str] | None = None) -> int:
    """Print the answer to a question; 1 and one line on stderr where a call fails."""
    # The one line an agent can add for mcprec: in a run, the tracker is where the run says.
    known = os.environ.get("MCPREC_URL_TRACKER") or os.environ.get("TRACKER_URL")
    parser = argparse.ArgumentParser(prog="python -m mcprec_addon.demo.agent")
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--tracker", metavar="URL", default=known, help="else $TRACKER_URL")
    parser.add_argument("--sort", help="order of search results, such as updated")
    parser.add_argument("--config", type=Path, metavar="FILE", help="an MCP config with a tracker")
    options = parser.parse_args(argv)
    if not options.tracker and options.config is None:
        parser.error("no tracker; give --tracker URL or --config FILE, or set TRACKER_URL")
    failures: list[Exception] = []
    try:
        place = _tracker_of(options.config) if options.config is not None else options.tracker
        sys.stdout.write(asyncio.run(_run(place, options.question, options.sort)) + "\n")
    except* (AgentError, JsonError, MCPError, OpenAIError, OSError, httpx2.HTTPError) as group:
        failures = _leaves(group)
    if failures:
        sys.stderr.write(_one_line(failures[0]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

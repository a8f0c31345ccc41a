"""An agent of the openai-agents SDK that declares its stdio server in code and calls its tools.

``openai_agents_client.py COMMAND [ARGUMENT]…`` prints what it saw as one line of JSON.
"""

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio
from agents.mcp.server import MCPServerStdioParams

CALLS: list[tuple[str, dict[str, object]]] = [
    ("add", {"a": 1, "b": 2}),
    ("put", {"key": "k", "value": "v"}),
    ("get", {"key": "k"}),
    ("boom", {"msg": "no"}),
]


async def main() -> None:
    """Start the server twice, as an agent that has several turns may do."""
    parameters = MCPServerStdioParams(command=sys.argv[1], args=sys.argv[2:])
    seen: list[object] = []
    for _ in range(2):
        async with MCPServerStdio(params=parameters) as server:
            seen.append([tool.name for tool in await server.list_tools()])
            for name, arguments in CALLS:
                result = await server.call_tool(name, arguments)
                seen.append(result.model_dump(mode="json", exclude={"meta"}))
    sys.stdout.write(json.dumps(seen) + "\n")


asyncio.run(main())

"""The demo's MCP server: a small issue tracker over Streamable HTTP, or on stdio.

It always starts with the same issues, so the same calls get the same answers. Run it with
``python -m mcprec_addon.demo.server``; its first line on stdout is ``{"port": N}``. With
``--stdio`` it is a server for an agent's config.
"""

import argparse
import socket
import sys
from typing import TypedDict

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

PATH = "/mcp"
"""Where the server answers on its port."""


class Issue(TypedDict):
    """One issue as ``get_issue`` shows it."""

    number: int
    title: str
    state: str
    labels: list[str]
    reporter: str
    updated: str
    body: str


class IssueLine(TypedDict):
    """One issue as ``search_issues`` shows it."""

    number: int
    title: str


class Found(TypedDict):
    """What a search found, best first."""

    total: int
    issues: list[IssueLine]


class Labels(TypedDict):
    """The labels of an issue after a change."""

    number: int
    labels: list[str]


def first_issues() -> dict[int, Issue]:
    """Return the issues every tracker starts with, by number."""
    issues: list[Issue] = [
        {
            "number": 412,
            "title": "Crash when a saved filter is empty",
            "state": "open",
            "labels": ["bug", "crash"],
            "reporter": "ana@acme.com",
            "updated": "2026-11-12",
            "body": "Open a saved filter without terms. Write to ana@acme.com for the log.",
        },
        {
            "number": 409,
            "title": "Export stops after 1000 rows",
            "state": "open",
            "labels": ["bug"],
            "reporter": "ben@acme.com",
            "updated": "2026-11-20",
            "body": "The file ends in the middle of a line.",
        },
        {
            "number": 398,
            "title": "Keyboard shortcuts for the board",
            "state": "open",
            "labels": ["feature"],
            "reporter": "ana@acme.com",
            "updated": "2026-10-02",
            "body": "As in the list view.",
        },
        {
            "number": 377,
            "title": "Dark theme forgets its setting",
            "state": "closed",
            "labels": ["bug"],
            "reporter": "cleo@acme.com",
            "updated": "2026-09-30",
            "body": "Fixed in 3.1.",
        },
    ]
    return {issue["number"]: issue for issue in issues}


def search(issues: dict[int, Issue], query: str) -> Found:
    """Return the issues that fit every term of a query, highest number first.

    Args:
        issues: All issues by number.
        query: Words of the title, ``label:NAME``, ``state:open`` and ``sort:updated``.
    """
    terms = query.lower().split()
    found = [issue for issue in issues.values() if all(_fits(issue, term) for term in terms)]
    found.sort(key=lambda issue: issue["number"], reverse=True)
    if "sort:updated" in terms:
        found.sort(key=lambda issue: issue["updated"], reverse=True)
    lines: list[IssueLine] = [{"number": one["number"], "title": one["title"]} for one in found]
    return {"total": len(lines), "issues": lines}


def _fits(issue: Issue, term: str) -> bool:
    match term.partition(":"):
        case "label", ":", label:
            return label in issue["labels"]
        case "state", ":", state:
            return state == issue["state"]
        case "sort", ":", _:
            return True
        case _:
            return term in issue["title"].lower()


def tracker() -> MCPServer[None]:
    """Return a tracker with the first issues in it."""
    issues = first_issues()
    server: MCPServer[None] = MCPServer("acme-tracker", version="3.2.0", log_level="ERROR")

    def issue_of(number: int) -> Issue:
        if number not in issues:
            problem = f"there is no issue #{number}"
            raise ToolError(problem)
        return issues[number]

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def search_issues(query: str) -> Found:  # pyright: ignore[reportUnusedFunction]
        """Find issues: words of the title, label:NAME, state:open, sort:updated."""
        return search(issues, query)

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def get_issue(number: int) -> Issue:  # pyright: ignore[reportUnusedFunction]
        """Show one issue with its reporter."""
        return issue_of(number)

    @server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))
    def add_label(number: int, label: str) -> Labels:  # pyright: ignore[reportUnusedFunction]
        """Put a label on an issue."""
        labels = issue_of(number)["labels"]
        if label not in labels:
            labels.append(label)
        return {"number": number, "labels": list(labels)}

    return server


def main(argv: list[str] | None = None) -> None:
    """Serve the tracker until the process is ended, or the client closes its end."""
    options = argparse.ArgumentParser(prog="python -m mcprec_addon.demo.server")
    options.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options.add_argument("--stdio", action="store_true", help="serve on stdin and stdout")
    chosen = options.parse_args(argv)
    if chosen.stdio:
        tracker().run("stdio")
        return
    listener = socket.create_server(("127.0.0.1", chosen.port))
    # The socket listens already: a client that reads the port can connect at once.
    sys.stdout.write(f'{{"port": {listener.getsockname()[1]}}}\n')
    sys.stdout.flush()
    config = uvicorn.Config(
        tracker().streamable_http_app(streamable_http_path=PATH),
        log_level="error",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()

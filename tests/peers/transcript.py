"""What a client saw, step by step, without anything a server mints anew on each run."""

import json
import sys
from collections.abc import Awaitable, Callable

from pydantic import BaseModel


class Transcript:
    """The steps of one client, in order."""

    def __init__(self) -> None:
        self.steps: list[dict[str, object]] = []

    def saw(self, do: str, got: object) -> None:
        """Add a step that gave a value."""
        self.steps.append({"do": do, "got": plain(got)})

    def failed(self, do: str, error: BaseException) -> None:
        """Add a step that failed, by the class names of what was raised."""
        self.steps.append({"do": do, "raised": sorted(_names(error)), **_details(error)})

    async def step(self, do: str, work: Awaitable[object]) -> None:
        """Add what `work` gives or raises."""
        try:
            self.saw(do, await work)
        except Exception as error:  # noqa: BLE001 (whatever a client raises is what it saw)
            self.failed(do, error)

    def plain_step(self, do: str, work: Callable[[], object]) -> None:
        """Add what `work` returns or raises."""
        try:
            self.saw(do, work())
        except Exception as error:  # noqa: BLE001 (whatever a client raises is what it saw)
            self.failed(do, error)

    def write(self) -> None:
        """Print the transcript as one line of JSON."""
        sys.stdout.write(json.dumps(self.steps, sort_keys=True) + "\n")


def plain(value: object) -> object:
    """Return a value of an SDK as one that JSON can carry."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_none=True)
        case list() | tuple():
            return [plain(member) for member in value]
        case dict():
            return {str(key): plain(member) for key, member in value.items()}
        case _:
            return value


def _names(error: BaseException) -> set[str]:
    if isinstance(error, BaseExceptionGroup):
        return {name for member in error.exceptions for name in _names(member)}
    return {type(error).__name__}


def _details(error: BaseException) -> dict[str, object]:
    found = {name: getattr(error, name, None) for name in ("status_code", "code", "message")}
    nested = getattr(error, "error", None)  # where mcp 1.x keeps code and message
    if found["code"] is None and nested is not None:
        found = {name: getattr(nested, name, None) for name in ("code", "message")}
    return {name: one for name, one in found.items() if isinstance(one, int | str)}

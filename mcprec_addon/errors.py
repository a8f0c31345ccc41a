"""Every error a caller may catch, with the exit status it leads to.

A message reads *where: what is wrong; what would be right* and is one line; those that end a block
of code hold below it what the block lacked.
"""

from collections.abc import Sequence
from typing import ClassVar


class McprecError(Exception):
    """The root of all errors mcprec raises on purpose.

    Attributes:
        exit_status: What a command that ends with this error exits with.
    """

    exit_status: ClassVar[int] = 2


class UsageError(McprecError):
    """A command was asked for something it cannot do; the message is the whole line."""


class CassetteFormatError(McprecError):
    """A line of a cassette is not a record this reader knows.

    Attributes:
        path: The cassette, as the caller named it.
        line: Line number, counted from 1.
        problem: What is wrong, and what was expected.
    """

    def __init__(self, path: str, line: int, problem: str) -> None:
        super().__init__(path, line, problem)
        self.path = path
        self.line = line
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


class CassetteFileError(McprecError):
    """A cassette as a file cannot be read or put in place.

    Attributes:
        path: The file, as the caller named it.
        problem: What is wrong, and what to do.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class RecordingError(McprecError):
    """A recording is incomplete: something could not be written.

    Attributes:
        path: The file that could not be written.
        problem: What went wrong.
    """

    exit_status = 4

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class CassetteMiss(McprecError):  # noqa: N818 - the field's word for it
    """Code that ran against a cassette asked what has no recorded answer.

    Attributes:
        path: The cassette.
        misses: Each in full, several lines.
    """

    exit_status = 3

    def __init__(self, path: str, misses: Sequence[str]) -> None:
        super().__init__(path, tuple(misses))
        self.path = path
        self.misses = tuple(misses)

    def __str__(self) -> str:
        count = f"{len(self.misses)} miss{'' if len(self.misses) == 1 else 'es'}"
        return "\n".join([f"{self.path}: {count}", *self.misses])


class CassetteUnused(McprecError):  # noqa: N818 - what it says of the cassette
    """Code that had to use all of a cassette has not.

    Attributes:
        path: The cassette.
        unused: A line for each exchange that was never handed out.
    """

    exit_status = 3

    def __init__(self, path: str, unused: Sequence[str]) -> None:
        super().__init__(path, tuple(unused))
        self.path = path
        self.unused = tuple(unused)

    def __str__(self) -> str:
        count = f"{len(self.unused)} recorded exchange{'' if len(self.unused) == 1 else 's'}"
        return "\n".join([f"{self.path}: {count} never used", *self.unused])


class LiveTrafficError(McprecError):
    """A request was held back that would have gone to the network.

    Attributes:
        host: Where it would have gone.
        problem: Why it is not answered here, and what to do.
    """

    exit_status = 3

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(host, problem)
        self.host = host
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.host}: {self.problem}"


class ListenError(McprecError):
    """A door cannot listen where it was told to.

    Attributes:
        address: ``host:port``.
        problem: What the system said.
    """

    def __init__(self, address: str, problem: str) -> None:
        super().__init__(address, problem)
        self.address = address
        self.problem = problem

    def __str__(self) -> str:
        return f"cannot listen on {self.address}, {self.problem}; stop what listens there first"

"""The folder beside a cassette that holds its large content, a file for each blob."""

import contextlib
import os
import secrets
from pathlib import Path

from mcprec_addon.cassette.blobs import NAME, check_blob
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.errors import RecordingError


def blob_folder(cassette: Path) -> Path:
    """Return where the blobs of a cassette are: beside the file, also where a link leads to it."""
    real = Path(os.path.realpath(cassette))
    return real.with_name(f"{real.name}.blobs")


class BlobFolder:
    """The blobs of one cassette.

    Attributes:
        path: The folder; it need not be there.
    """

    def __init__(self, cassette: Path) -> None:
        """Find the folder of a cassette."""
        self.path = blob_folder(cassette)
        self._names = {name.partition(".")[0]: name for name in self.files()}

    def files(self) -> list[str]:
        """Return the names of the blobs that are there; other files are none of ours."""
        try:
            return sorted(filter(NAME.fullmatch, os.listdir(self.path)))  # noqa: PTH208 - names alone
        except OSError:
            return []

    def read(self, digest: str) -> bytes:
        """Return a blob by its SHA-256 in hex.

        Raises:
            RecordProblemError: It is missing, altered or unreadable.
        """
        name = self._names.get(digest)
        if name is None:
            message = f"blob {self.path.name}/{digest} is missing; restore it, or record again"
            raise RecordProblemError(message)
        shown = f"{self.path.name}/{name}"
        try:
            return check_blob((self.path / name).read_bytes(), digest, name=shown)
        except OSError as error:
            message = f"blob {shown} cannot be read, {error.strerror}; check its permissions"
            raise RecordProblemError(message) from error

    def keep(self, name: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a blob, whole or not at all; one that is there already is left.

        Args:
            name: What its file is called.
            data: What is in it.
            mode: Who may read it, as the cassette; None: as any new file.

        Raises:
            RecordingError: It cannot be written.
        """
        target = self.path / name
        temporary = self.path / f".{name}.{secrets.token_hex(4)}.tmp"
        try:
            self.path.mkdir(exist_ok=True)
            if target.exists() and target.read_bytes() == data:
                return
            with temporary.open("wb") as file:
                if mode is not None:
                    temporary.chmod(mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except OSError as error:
            problem = f"blob {name} cannot be written, {error.strerror}; make room, or mend it"
            raise RecordingError(str(self.path), problem) from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def remove_all_but(self, kept: set[str]) -> None:
        """Delete the blobs that nothing refers to any more, and the folder where it is empty."""
        with contextlib.suppress(OSError):  # what stays is listed by inspect
            for name in self.files():
                if name not in kept:
                    (self.path / name).unlink()
            self.path.rmdir()


class BlobCheck:
    """Reads the blobs of a cassette for someone who looks, and notes what is wrong.

    Attributes:
        sizes: Bytes by SHA-256 of what was read.
        problems: What is missing, altered or unreadable, a sentence each.
    """

    def __init__(self, cassette: Path) -> None:
        """Find the folder of a cassette."""
        self._folder = BlobFolder(cassette)
        self._used: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.problems: list[str] = []

    def read(self, digest: str) -> bytes:
        """Return a blob by its SHA-256 in hex; nothing where that is not possible."""
        self._used.add(digest)
        try:
            data = self._folder.read(digest)
        except RecordProblemError as error:
            self.problems.append(str(error))
            return b""
        self.sizes[digest] = len(data)
        return data

    @property
    def orphans(self) -> list[str]:
        """The files that nothing refers to, as paths beside the cassette."""
        files = self._folder.files()
        folder = self._folder.path.name
        return [f"{folder}/{name}" for name in files if name.partition(".")[0] not in self._used]

"""A cassette as a file: its journal while it is recorded, one rename to put it in place.

An existing cassette is never half replaced, and what a crash leaves is a journal that can be
recovered.
"""

import contextlib
import os
import secrets
import shlex
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mcprec_addon.cassette.blobs import Read
from mcprec_addon.cassette.format import read_lines
from mcprec_addon.cassette.lines import Piece
from mcprec_addon.cassette.writing import cassette_pieces
from mcprec_addon.doors.blob_folder import BlobFolder
from mcprec_addon.doors.cassette_lines import lines_in
from mcprec_addon.errors import CassetteFileError, RecordingError
from mcprec_addon.exchange import Cassette

_PRIVATE_MODE: Final = 0o600  # a journal may hold secrets that are recognised only later
_NEW_FILE_MODE: Final = 0o666  # less the umask, as for any new file


def load_cassette(path: Path, *, blobs: Read | None = None) -> Cassette:
    """Return the cassette in a file.

    Args:
        path: The file.
        blobs: Reads its blobs; by default from the folder beside it.

    Raises:
        CassetteFileError: The file is missing, empty or unreadable.
        CassetteFormatError: A line of it is not a record, or a blob is missing or altered.
    """
    with _reading(path, f"is not there; record it: {_record_line(path)}"):
        if not any(line.text.strip() for line in lines_in(path)):
            problem = f"is empty; record it again, with --force: {_record_line(path)}"
            raise CassetteFileError(str(path), problem)
        read_blob = BlobFolder(path).read if blobs is None else blobs
        return read_lines(lines_in(path), path=str(path), is_journal=False, read_blob=read_blob)


def read_journal_file(path: Path) -> Cassette:
    """Return what a journal holds; a torn last line is dropped with a warning.

    Raises:
        CassetteFileError: The file is missing or unreadable.
        CassetteFormatError: A line before the last is not a record.
    """
    missing = "is not there; name the journal of a recording, such as .triage.mcp.journal"
    with _reading(path, missing):
        return read_lines(lines_in(path), path=str(path), is_journal=True)


@contextmanager
def _reading(path: Path, missing: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise CassetteFileError(str(path), missing) from error
    except IsADirectoryError as error:
        raise CassetteFileError(str(path), "is a folder; name a file in it") from error
    except OSError as error:
        problem = f"cannot be read, {_reason(error)}; check the path and its permissions"
        raise CassetteFileError(str(path), problem) from error


def _record_line(path: Path) -> str:
    return f"mcprec record --out {shlex.quote(str(path))} -- CMD"


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def check_target(path: Path, *, force: bool) -> None:
    """Make sure, before anything starts, that a cassette can be put at `path`.

    Args:
        path: Where it is to go.
        force: An existing file may be replaced.

    Raises:
        CassetteFileError: The path is taken, or its folder is missing or not writable.
    """
    try:
        _check_path(path, force=force)
    except OSError as error:
        problem = f"cannot be written, {_reason(error)}; choose another --out"
        raise CassetteFileError(str(path), problem) from error


def _check_path(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise CassetteFileError(str(path), "is a folder; name a file in it")
    if path.exists():
        _check_replaceable(path, force=force)
    folder = path.parent
    if not folder.is_dir():
        problem = f"the folder {folder} is not there; make it first"
        raise CassetteFileError(str(path), problem)
    if not os.access(folder, os.W_OK | os.X_OK):
        problem = f"the folder {folder} is not writable; choose another --out"
        raise CassetteFileError(str(path), problem)


def _check_replaceable(path: Path, *, force: bool) -> None:
    if not path.is_file():
        raise CassetteFileError(str(path), "is no regular file; choose another --out")
    if not force:
        problem = "exists already; replace it with --force, or choose another --out"
        raise CassetteFileError(str(path), problem)


def journal_path(target: Path) -> Path:
    """Return where the journal of a cassette stands while it is recorded."""
    return target.with_name(f".{target.name}.journal")


class Journal:
    """The lines of a recording as they complete; its life is one recording.

    One thread writes to it. What was written before a failure stays, as whole lines.

    Attributes:
        path: Where it stands, beside its target.
    """

    def __init__(self, target: Path) -> None:
        """Create the journal of `target`, for its owner alone.

        Raises:
            CassetteFileError: The journal of an earlier run is still there, or this one cannot
                be created.
        """
        self.path = journal_path(target)
        self._size_bytes = 0
        self._failure: str | None = None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._descriptor: int | None = os.open(self.path, flags, _PRIVATE_MODE)
        except FileExistsError as error:
            command = f"mcprec recover {shlex.quote(str(self.path))}"
            problem = f"an earlier recording did not end; finish it with {command}, or delete it"
            raise CassetteFileError(str(self.path), problem) from error
        except OSError as error:
            problem = f"cannot be created, {_reason(error)}; choose another --out"
            raise CassetteFileError(str(self.path), problem) from error

    def append(self, line: bytes) -> None:
        """Write a line, its end included, through to the system.

        Raises:
            RecordingError: It could not be written, or an earlier one could not, or the journal
                is closed.
        """
        if self._failure is None and self._descriptor is None:
            self._failure = "is closed; nothing can be recorded any more"
        if self._failure is None and self._descriptor is not None:
            self._write(self._descriptor, line)
        if self._failure is not None:
            raise RecordingError(str(self.path), self._failure)

    def _write(self, descriptor: int, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError as error:
            self._failure = f"cannot be written, {_reason(error)}; what came before is kept"
            with contextlib.suppress(OSError):  # a torn last line is dropped by the reader
                os.ftruncate(descriptor, self._size_bytes)
        else:
            self._size_bytes += len(line)

    def close(self) -> None:
        """Close the file and leave it where it is; closing twice does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        """Close the file and delete it.

        Raises:
            RecordingError: It cannot be deleted.
        """
        self.close()
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            problem = f"cannot be deleted, {_reason(error)}; the recording is complete without it"
            raise RecordingError(str(self.path), problem) from error


def put_cassette(
    path: Path, cassette: Cassette, *, check: Callable[[Piece], None] = lambda _: None
) -> None:
    """Write a cassette and its blobs; the blobs first, and those no longer in use go last.

    Args:
        path: Where it goes.
        cassette: The cassette.
        check: Looks at each piece before it is written; what it raises ends the writing.

    Raises:
        RecordingError: It cannot be written; an existing file is as it was.
    """
    folder = BlobFolder(path)
    mode = _mode(Path(os.path.realpath(path)))
    kept: set[str] = set()

    def pieces() -> Iterator[bytes]:
        for piece in cassette_pieces(cassette, has_blobs=True):
            check(piece)
            for name, data in piece.blobs:
                folder.keep(name, data, mode=mode)
                kept.add(name)
            yield piece.data

    put_in_place(path, pieces())
    if mode is not None:  # without a cassette in this place the blobs there are another's
        folder.remove_all_but(kept)


def put_in_place(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a cassette in one step: whoever looks sees the old file or the whole new one.

    A symbolic link stays one, an existing file keeps its mode. The journal is left alone.

    Args:
        path: Where it goes.
        pieces: Its bytes, piece by piece; what they raise leaves an existing file as it was.

    Raises:
        RecordingError: It cannot be written; an existing file is as it was.
    """
    real = Path(os.path.realpath(path))
    temporary = real.with_name(f".{real.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write_through(temporary, pieces, mode=_mode(real))
        temporary.replace(real)
    except OSError as error:
        problem = f"cannot be put in place, {_reason(error)}; {_left(path)}"
        raise RecordingError(str(path), problem) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    _sync_folder(real.parent)


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _write_through(path: Path, pieces: Iterable[bytes], *, mode: int | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW_FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        if mode is not None:
            path.chmod(mode)
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the rename itself outlast a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _left(path: Path) -> str:
    journal = journal_path(path)
    if not journal.exists():
        return "make room, or choose another --out"
    return f"make room, then run mcprec recover {shlex.quote(str(journal))}"

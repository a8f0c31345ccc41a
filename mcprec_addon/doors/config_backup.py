"""The original of a config that was swapped: beside it under another name, locked by its run.

Whoever holds the lock on the file at the backup's path, and nobody else, moves or removes that
file and writes over the config. A backup that nobody has locked is what a killed run left.
"""

import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from mcprec_addon.errors import UsageError
from mcprec_addon.jsonvalue import dumps, loads, one_line

if sys.platform != "win32":  # where nothing is swapped, but everything is imported
    import fcntl

type Say = Callable[[str], None]
"""Takes a line for the person at the terminal."""

BACKUP_SUFFIX = ".mcprec-original"
_CHANGED_SUFFIX = ".mcprec-changed"
_MEMBER = "//mcprec"
_BEGIN = "copy made by mcprec for one run; the original is"
_END = "`mcprec restore` puts it back"
_CHECKSUM = re.compile(rb" \(checksum ([0-9a-f]{16})\)")
_TRIES = 100
_PAUSE_S = 0.01  # another run's start or end takes less than this; all tries take a second


def marked(text: str, name: str) -> str:
    """Return a copy's text with a line that says what it is.

    A comment in TOML and for agents that read JSON with comments (VS Code, opencode); otherwise
    a first member, which agents that read strict JSON ignore as an unknown one. The checksum in
    it tells a copy that somebody changed from one that is as it was written.

    Args:
        text: The copy, JSON or TOML.
        name: File name of the config.
    """
    line = f"{_BEGIN} {one_line(name)}{BACKUP_SUFFIX} beside it, {_END}"
    plain = _with_line(text, name, line)
    return plain.replace(_END, f"{_END} (checksum {_checksum(plain.encode())})", 1)


def _with_line(text: str, name: str, line: str) -> str:
    if name.lower().endswith(".toml"):
        return f"# {line}\n{text}"
    value = loads(text)
    keys = set(value) if isinstance(value, dict) else set[str]()
    if "mcpServers" not in keys and keys & {"servers", "mcp"}:
        return f"// {line}\n{text}"
    if isinstance(value, dict) and _MEMBER in value:  # from a copy that somebody kept
        text = dumps({key: member for key, member in value.items() if key != _MEMBER}).decode()
    head, rest = text.split("{", 1)
    indent = rest[: len(rest) - len(rest.lstrip())]
    comma = "" if rest.lstrip().startswith("}") else ","
    return f'{head}{{{indent}"{_MEMBER}": {dumps(line).decode()}{comma}{rest}'


def is_as_written(data: bytes) -> bool:
    """Whether this is a marked copy that nobody has changed."""
    found = _CHECKSUM.search(data)
    if found is None:
        return False
    plain = data[: found.start()] + data[found.end() :]
    return found[1].decode() == _checksum(plain)


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


class Original:
    """The original of a config, locked by us at its backup's path."""

    def __init__(self, shown: Path, descriptor: int, say: Say) -> None:
        """Take over an open backup.

        Args:
            shown: The config, as the caller named it.
            descriptor: The backup.
            say: Takes a line on what was found or kept.
        """
        self._shown = shown
        self._config = real_path(shown)
        self._backup = backup_of(shown)
        self._descriptor = descriptor
        self._say = say

    def release(self) -> None:
        """Give up the lock."""
        os.close(self._descriptor)

    def is_at_backup(self) -> bool:
        """Whether what we hold still is what stands at the backup's path."""
        try:
            found = self._backup.lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._descriptor))

    def is_swapped(self) -> bool:
        """Whether something else than the original stands at the config's path."""
        content = self._content()
        if not content:  # claimed by a run that was killed before it had swapped anything
            return False
        try:
            return self._config.read_bytes() != content
        except OSError:  # it was deleted, or is a folder by now
            return True

    def _content(self) -> bytes:
        return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)

    def _is_same_file(self) -> bool:
        return _is_same_file(self._config, self._backup)

    def check(self) -> None:
        """Make sure that the original is none of our copies.

        Raises:
            UsageError: It is one, so somebody deleted its original.
        """
        if is_as_written(self._content()):
            message = (
                f"{self._shown}: is a copy made by mcprec, and its original is gone;"
                " bring that back from your version control first"
            )
            raise UsageError(message)

    def fill(self) -> None:
        """Complete a backup that could not be a link: it is empty, or whole and locked."""
        if self._content() or self._is_same_file():
            return
        whole = self._written(self._config.read_bytes(), self._config.stat(), is_dated=True)
        descriptor = os.open(whole, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        whole.replace(self._backup)
        os.close(self._descriptor)
        self._descriptor = descriptor

    def cover(self, data: bytes, *, is_dated: bool = False) -> None:
        """Put content over the config, with the original's mode and, if asked, its time."""
        temporary = self._written(data, os.fstat(self._descriptor), is_dated=is_dated)
        try:
            self._put_over(temporary)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def _written(self, data: bytes, like: os.stat_result, *, is_dated: bool) -> Path:
        path = self._config.with_name(f".{self._config.name}.{secrets.token_hex(4)}.tmp")
        _write(path, data, like, is_dated=is_dated)
        return path

    def _put_over(self, source: Path) -> None:
        """Rename a file over the config; what stood there meanwhile is not lost.

        It is given a second name first and read only afterwards, because an agent or an editor
        may be writing to it at this moment.
        """
        spare = _spare(self._config)
        try:
            source.replace(self._config)
        except OSError:
            if spare is not None:
                spare.unlink()
            raise
        if spare is None:
            return
        data = spare.read_bytes()
        if data == self._content() or is_as_written(data):
            spare.unlink()
        else:
            self._say(f"{self._shown}: was changed during the run; that is kept as {spare}")

    def put_back(self) -> None:
        """Bring the original back to the config's path, and give up the lock."""
        try:
            self._put_back()
        finally:
            self.release()

    def _put_back(self) -> None:
        if not self._backup.exists():
            self.cover(self._content(), is_dated=True)  # we have it open still
            self._say(f"{self._shown}: put back, though {self._backup} was deleted meanwhile")
        elif not self.is_at_backup():
            self._say(
                f"{self._shown}: not put back, {self._backup} was replaced during the run;"
                " look at both, then run mcprec restore"
            )
        elif not self._content():
            self._backup.unlink()
        else:
            if not self._is_same_file():
                self._put_over(self._backup)
            # Renaming a file to its own second name does nothing; and a run that starts at this
            # moment may have linked it again: it waits for our lock, then links it once more.
            if self.is_at_backup():
                self._backup.unlink()


def real_path(config: Path) -> Path:
    """Return where a config really stands: a symbolic link to it stays one."""
    return Path(os.path.realpath(config))


def backup_of(config: Path) -> Path:
    """Return where the original of a config is while a copy stands in its place."""
    real = real_path(config)
    return real.with_name(real.name + BACKUP_SUFFIX)


def make_or_lock(config: Path, say: Say) -> Original:
    """Return the original of a config, locked at its backup's path.

    Of several runs that start at once each may have made the backup, but one locks it.

    Raises:
        BlockingIOError: Another run has it.
    """
    for _ in range(_TRIES):
        try:
            original = lock(config, say)
        except BlockingIOError:
            backup = backup_of(config)
            if backup.exists() and not _is_same_file(real_path(config), backup):
                raise
            time.sleep(_PAUSE_S)  # the other run has only begun, or all but ended
            continue
        if original is not None:
            return original
        _make_backup(real_path(config), backup_of(config))
    raise BlockingIOError


def lock(config: Path, say: Say) -> Original | None:
    """Return the original at the backup's path, locked, or None where there is none.

    Raises:
        BlockingIOError: Another run has it.
        UsageError: What is there is no file.
    """
    path = backup_of(config)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    original = Original(config, descriptor, say)
    with ExitStack() as stack:
        stack.callback(original.release)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            message = f"{path}: is no regular file; move it away first"
            raise UsageError(message)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if original.is_at_backup():  # it was not put back before we had the lock
            stack.pop_all()
            return original
    return None


def _make_backup(config: Path, backup: Path) -> None:
    """Give the config its second name; where that cannot be, claim the name with an empty file."""
    if not stat.S_ISREG(config.stat().st_mode):
        message = f"{config}: is no regular file; give the agent's MCP config"
        raise UsageError(message)
    try:
        os.link(config, backup)
    except FileExistsError:
        return
    except OSError:
        with suppress(FileExistsError):
            os.close(os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _spare(config: Path) -> Path | None:
    """Give what stands at the config's path a second name; None where nothing does."""
    number = 1
    while True:
        count = f"-{number}" if number > 1 else ""
        spare = config.with_name(f"{config.name}{_CHANGED_SUFFIX}{count}")
        try:
            _link_or_copy(config, spare)
        except FileNotFoundError:
            return None
        except FileExistsError:
            number += 1
        else:
            return spare


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:  # no links on this file system
        _write(target, source.read_bytes(), source.stat(), is_dated=True)


def _write(path: Path, data: bytes, like: os.stat_result, *, is_dated: bool) -> None:
    """Write a new file with the mode, and where asked the times, of another."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            if is_dated:
                os.utime(descriptor, ns=(like.st_atime_ns, like.st_mtime_ns))
    except OSError:
        path.unlink()
        raise


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.lstat(), other.lstat())
    except FileNotFoundError:
        return False

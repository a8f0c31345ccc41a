"""Where a test's cassette stands when its mark names none.

``cassettes/<module>/<Class.test[params]>.mcp`` beside the test file. A name that some file system
would not take, or not keep apart from another one, is written with other characters and gets the
beginning of a hash of what it was: two tests never have one file.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

SUFFIX = ".mcp"
FOLDER = "cassettes"

_HASH_DIGITS = 8  # it only has to tell names apart that are alike before it
# Of bytes. File systems take 255, some encrypting ones 143; the journal's name is 9 longer, and a
# path has 260 in all where Windows is as it was.
_LONGEST = 100
_REFUSED = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)", re.IGNORECASE)


def default_path(folder: Path, module: str, classes: Sequence[str], test: str) -> Path:
    """Return where the cassette of a test stands.

    Args:
        folder: That of all cassettes.
        module: Name of the test file, without its suffix.
        classes: Names of the classes the test is in, the outermost first.
        test: Its name, with the parameters in brackets.
    """
    return folder / safe_name(module) / f"{safe_name('.'.join([*classes, test]))}{SUFFIX}"


def safe_name(name: str) -> str:
    """Return a name that every file system takes, and no other one has.

    Letters of any script stay. A test whose parameters have capitals gets a hash as well, for
    ``[a]`` and ``[A]`` are one file on macOS and Windows.
    """
    plain = _REFUSED.sub("-", unicodedata.normalize("NFC", name).encode(errors="replace").decode())
    plain = plain.rstrip(" .") or "-"
    if plain[0] in " .":  # hidden, or cut off
        plain = f"-{plain[1:]}"
    if _DEVICES.match(plain):
        plain = f"-{plain}"
    plain = _cut(plain)
    _, _, parameters = name.partition("[")
    if plain == name and parameters.casefold() == parameters:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    return f"{plain}~{digest[:_HASH_DIGITS]}"


def _cut(name: str) -> str:
    """Return the beginning of a name, at most as many bytes as a file's name may have."""
    return name.encode()[:_LONGEST].decode(errors="ignore").rstrip(" .")


def collisions(paths: Mapping[str, PurePath]) -> list[tuple[str, str]]:
    """Return pairs of tests whose cassettes are one file where case does not count.

    Args:
        paths: Default path of each test, by the test's id.
    """
    seen: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for test, path in paths.items():
        first = seen.setdefault(path.as_posix().casefold(), test)
        if first != test:
            found.append((first, test))
    return found


def cassettes_in(folders: Iterable[Path]) -> list[Path]:
    """Return all cassettes in and below folders."""
    found = {path for folder in folders for path in folder.rglob(f"*{SUFFIX}")}
    return sorted(path for path in found if path.is_file() and not path.name.startswith("."))

"""The folder beside a cassette: whole files, none too many, and what is wrong is named."""

import hashlib
from pathlib import Path

import pytest

from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.doors.blob_folder import BlobCheck, BlobFolder, blob_folder
from mcprec_addon.errors import RecordingError

pytestmark = pytest.mark.door

DIGEST = hashlib.sha256(b"one").hexdigest()
NAME = f"{DIGEST}.png"


def test_a_blob_comes_back(tmp_path: Path) -> None:
    """Kept twice it is one file, and is found whatever it ends with."""
    folder = BlobFolder(tmp_path / "a.mcp")
    folder.keep(NAME, b"one")
    folder.keep(NAME, b"one")

    assert [each.name for each in (tmp_path / "a.mcp.blobs").iterdir()] == [NAME]
    assert BlobFolder(tmp_path / "a.mcp").read(DIGEST) == b"one"


def test_a_linked_cassette_has_its_blobs_where_it_is(tmp_path: Path) -> None:
    """The folder stands beside the file, not beside the link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "a.mcp").symlink_to(tmp_path / "real" / "b.mcp")

    assert blob_folder(tmp_path / "a.mcp") == tmp_path / "real" / "b.mcp.blobs"


def test_a_blob_that_is_missing_or_altered_is_named(tmp_path: Path) -> None:
    """With the file to restore."""
    with pytest.raises(RecordProblemError, match=rf"blob a.mcp.blobs/{DIGEST} is missing"):
        BlobFolder(tmp_path / "a.mcp").read(DIGEST)

    BlobFolder(tmp_path / "a.mcp").keep(NAME, b"two")

    with pytest.raises(RecordProblemError, match=rf"blob a.mcp.blobs/{NAME} was altered"):
        BlobFolder(tmp_path / "a.mcp").read(DIGEST)


def test_what_nothing_refers_to_goes_and_nothing_else(tmp_path: Path) -> None:
    """A file that we did not write is not ours to delete."""
    folder = BlobFolder(tmp_path / "a.mcp")
    folder.keep(NAME, b"one")
    (folder.path / "notes.txt").write_text("mine")

    folder.remove_all_but(set())

    assert [each.name for each in folder.path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_goes(tmp_path: Path) -> None:
    """A cassette without large content has no folder."""
    folder = BlobFolder(tmp_path / "a.mcp")
    folder.keep(NAME, b"one")

    folder.remove_all_but(set())

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_ends_the_recording(tmp_path: Path) -> None:
    """It is said, like a cassette that cannot be written."""
    (tmp_path / "a.mcp.blobs").write_text("a file")

    with pytest.raises(RecordingError, match=f"blob {NAME} cannot be written"):
        BlobFolder(tmp_path / "a.mcp").keep(NAME, b"one")


def test_who_looks_is_told_and_goes_on(tmp_path: Path) -> None:
    """A missing picture hides nothing else."""
    BlobFolder(tmp_path / "a.mcp").keep(NAME, b"one")
    check = BlobCheck(tmp_path / "a.mcp")

    read = [check.read(DIGEST), check.read("0" * 64)]

    assert read == [b"one", b""]
    assert check.sizes == {DIGEST: 3}
    assert check.problems == [
        f"blob a.mcp.blobs/{'0' * 64} is missing; restore it, or record again"
    ]
    assert check.orphans == []
    assert BlobCheck(tmp_path / "a.mcp").orphans == [f"a.mcp.blobs/{NAME}"]

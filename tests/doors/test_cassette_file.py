"""A cassette as a file: read, journalled, put in place."""

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcprec_addon.cassette.writing import write_cassette, write_record
from mcprec_addon.doors.cassette_file import (
    Journal,
    check_target,
    journal_path,
    load_cassette,
    put_in_place,
    read_journal_file,
)
from mcprec_addon.errors import CassetteFileError, CassetteFormatError, RecordingError
from mcprec_addon.exchange import Cassette, McpAnswer, McpCall, McpExchange, Number

is_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")


def exchange(seq: int) -> McpExchange:
    call = McpCall(server="a", method="tools/call", name="t", args={"n": seq})
    return McpExchange(seq=seq, call=call, answer=McpAnswer(kind="result", value={}))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "triage.mcp"


@contextmanager
def small_files() -> Iterator[None]:
    """Let the system refuse files of more than 100 bytes, as a full disk would.

    The limit is the process's own, so nothing else may be written meanwhile, pytest's log least.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_cassette_is_loaded_from_its_file(target: Path) -> None:
    """What a recording put there is what a replay gets."""
    cassette = Cassette(exchanges=(exchange(1), exchange(2)))
    put_in_place(target, [write_cassette(cassette)])

    assert load_cassette(target) == cassette


def test_a_file_with_exact_numbers_is_strict_json(target: Path) -> None:
    """A NaN of the server is text in the file, and a NaN again in the replay."""
    answer = McpAnswer(kind="result", value={"std": Number("NaN")})
    cassette = Cassette(
        exchanges=(McpExchange(seq=1, call=McpCall(server="a", method="x"), answer=answer),)
    )
    put_in_place(target, [write_cassette(cassette)])

    assert b'"raw":{"/result":"{\\"std\\":NaN}"}' in target.read_bytes()
    assert load_cassette(target) == cassette


def test_a_bare_constant_by_hand_is_refused_with_its_line(target: Path) -> None:
    """A file that only Python can read is named before it is replayed."""
    target.write_text('{"mcprec":1}\n{"seq":1,"method":"x","result":{"std":NaN}}\n')

    with pytest.raises(CassetteFormatError, match=r"triage.mcp:2: a bare NaN is no JSON"):
        load_cassette(target)


def test_a_missing_cassette_names_the_command_that_records_it(tmp_path: Path) -> None:
    """The first run of a new test ends with the line to type."""
    path = tmp_path / "my tests.mcp"

    with pytest.raises(CassetteFileError) as caught:
        load_cassette(path)

    assert str(caught.value) == (
        f"{path}: is not there; record it: mcprec record --out '{path}' -- CMD"
    )


@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_an_empty_cassette_names_the_command_that_records_it(target: Path, content: str) -> None:
    """An empty file is what a broken pipeline leaves."""
    target.write_text(content)

    with pytest.raises(CassetteFileError) as caught:
        load_cassette(target)

    assert f"mcprec record --out {target} -- CMD" in str(caught.value)
    assert "--force" in str(caught.value)


def test_a_folder_is_no_cassette(tmp_path: Path) -> None:
    """One line, no traceback."""
    with pytest.raises(CassetteFileError, match="is a folder; name a file in it"):
        load_cassette(tmp_path)


def test_a_path_through_a_file_cannot_be_read(target: Path) -> None:
    """The system's reason is part of the line."""
    target.write_text("x")

    with pytest.raises(CassetteFileError, match="cannot be read, Not a directory; check"):
        load_cassette(target / "inner")


@is_root
def test_an_unreadable_cassette_is_named(target: Path) -> None:
    """Permissions are said to be what they are."""
    target.write_text("x")
    target.chmod(0)

    with pytest.raises(CassetteFileError, match="cannot be read, Permission denied"):
        load_cassette(target)


def test_a_torn_cassette_is_refused_and_a_torn_journal_is_read(target: Path) -> None:
    """A cassette is closed by one rename, so only a journal can end in a crash."""
    head = b'{"mcprec":1}\n' + write_record(exchange(1))
    torn = write_record(exchange(2))[:40]
    target.write_bytes(head + torn)

    with pytest.raises(CassetteFormatError, match=r":3: the last line is torn; restore"):
        load_cassette(target)
    journal = read_journal_file(target)
    assert journal.exchanges == (exchange(1),)
    assert "triage.mcp:3: the last line was cut off" in journal.warnings[0]


def test_a_whole_last_line_needs_no_newline(target: Path) -> None:
    """Editors leave it out."""
    target.write_bytes(b'{"mcprec":1}\n' + write_record(exchange(1)).rstrip(b"\n"))

    assert load_cassette(target).exchanges == (exchange(1),)


def test_a_missing_journal_is_named(target: Path) -> None:
    """Recovery says what it was looking for."""
    with pytest.raises(CassetteFileError, match="is not there; name the journal of a recording"):
        read_journal_file(target)


def test_a_journal_stands_beside_its_target_for_its_owner_alone(target: Path) -> None:
    """It may hold what only later turns out to be a secret."""
    journal = Journal(target)
    journal.append(write_record(exchange(1)))

    assert journal.path == journal_path(target) == target.with_name(".triage.mcp.journal")
    assert mode_of(journal.path) == 0o600
    assert read_journal_file(journal.path).exchanges == (exchange(1),)

    journal.remove()
    assert not journal.path.exists()


def test_a_closed_journal_stays_and_takes_no_more(target: Path) -> None:
    """A line that comes too late is an error, never lost in silence."""
    journal = Journal(target)
    journal.append(b"{}\n")
    journal.close()
    journal.close()

    with pytest.raises(RecordingError, match="is closed"):
        journal.append(b"{}\n")
    assert journal.path.read_bytes() == b"{}\n"


def test_the_journal_of_a_crashed_run_is_never_overwritten(target: Path) -> None:
    """It may be the only copy of an expensive recording."""
    Journal(target).close()

    with pytest.raises(CassetteFileError) as caught:
        Journal(target)

    assert f"mcprec recover {journal_path(target)}" in str(caught.value)


def test_a_journal_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    """Before the agent starts, not after it."""
    with pytest.raises(CassetteFileError, match="cannot be created, No such file or directory"):
        Journal(tmp_path / "missing" / "t.mcp")


def test_a_full_disk_keeps_what_was_written(target: Path) -> None:
    """The lines before are whole, the reason is named, and later lines do not follow a gap."""
    journal = Journal(target)
    journal.append(b"a" * 79 + b"\n")

    too_large = "cannot be written, File too large"
    with small_files(), pytest.raises(RecordingError, match=f"{too_large}; what came before"):
        journal.append(b"b" * 79 + b"\n")
    with pytest.raises(RecordingError, match=too_large):
        journal.append(b"c\n")
    journal.close()

    assert journal.path.read_bytes() == b"a" * 79 + b"\n"


def test_a_journal_that_is_gone_already_is_no_error(target: Path) -> None:
    """Somebody tidied up during the run."""
    journal = Journal(target)
    journal.path.unlink()

    journal.remove()


def test_a_journal_that_cannot_be_deleted_is_named(target: Path) -> None:
    """The next recording would stumble over it."""
    journal = Journal(target)
    journal.path.unlink()
    journal.path.mkdir()

    with pytest.raises(RecordingError, match="cannot be deleted"):
        journal.remove()


def test_a_free_target_is_fine(target: Path) -> None:
    """The usual case asks for nothing."""
    check_target(target, force=False)


def test_an_existing_cassette_is_replaced_only_by_force(target: Path) -> None:
    """A recording is expensive, a slip of the hand is not."""
    target.write_text("x")

    with pytest.raises(CassetteFileError, match="exists already; replace it with --force"):
        check_target(target, force=False)
    check_target(target, force=True)


def test_a_target_that_cannot_be_is_named_before_anything_starts(tmp_path: Path) -> None:
    """An agent's run must not be spent on a recording that has no place."""
    with pytest.raises(CassetteFileError, match="is a folder; name a file in it"):
        check_target(tmp_path, force=True)
    with pytest.raises(
        CassetteFileError, match=r"the folder .*missing is not there; make it first"
    ):
        check_target(tmp_path / "missing" / "t.mcp", force=False)
    with pytest.raises(CassetteFileError, match="is no regular file; choose another --out"):
        check_target(Path(os.devnull), force=True)
    with pytest.raises(CassetteFileError, match="cannot be written, File name too long"):
        check_target(tmp_path / ("x" * 300), force=True)


@is_root
def test_a_folder_that_is_not_writable_is_named(tmp_path: Path) -> None:
    """A read-only checkout is found before the run."""
    tmp_path.chmod(0o500)

    with pytest.raises(CassetteFileError, match="is not writable; choose another --out"):
        check_target(tmp_path / "t.mcp", force=False)


def test_putting_in_place_leaves_one_file(target: Path) -> None:
    """No temporary file stays in the repository."""
    put_in_place(target, [b"one"])
    put_in_place(target, [b"two"])

    assert target.read_bytes() == b"two"
    assert list(target.parent.iterdir()) == [target]


def test_a_new_cassette_has_the_usual_mode_and_an_old_one_keeps_its_own(target: Path) -> None:
    """A cassette is a file like others in the repository."""
    umask = os.umask(0o027)
    try:
        put_in_place(target, [b"one"])
    finally:
        os.umask(umask)
    assert mode_of(target) == 0o640

    target.chmod(0o604)
    put_in_place(target, [b"two"])
    assert mode_of(target) == 0o604


def test_a_symbolic_link_stays_one(target: Path) -> None:
    """Cassettes kept elsewhere are written there."""
    real = target.with_name("real.mcp")
    real.write_text("old")
    target.symlink_to(real)

    put_in_place(target, [b"new"])

    assert target.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_cassette_and_the_journal(target: Path) -> None:
    """Whatever goes wrong at the end, nothing that was there is lost."""
    target.write_bytes(b"old")
    journal = Journal(target)
    journal.append(b"{}\n")
    journal.close()

    with small_files(), pytest.raises(RecordingError) as caught:
        put_in_place(target, [b"x" * 200])

    assert "cannot be put in place, File too large" in str(caught.value)
    assert f"then run mcprec recover {journal.path}" in str(caught.value)
    assert target.read_bytes() == b"old"
    assert sorted(target.parent.iterdir()) == sorted([target, journal.path])


def test_a_target_whose_folder_went_away_is_named(tmp_path: Path) -> None:
    """The line says what to do where there is no journal to recover."""
    with pytest.raises(RecordingError, match="cannot be put in place, No such file or directory"):
        put_in_place(tmp_path / "gone" / "t.mcp", [b"x"])

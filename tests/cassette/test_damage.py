"""What is wrong with a damaged line, and what to do about it."""

import pytest

from mcprec_addon.cassette.damage import LineDamageError, second_reading
from mcprec_addon.exchange import Number

COMPLAINT = "unexpected character: line 1 column 9 (char 8)"


@pytest.mark.parametrize(
    "marker", [b"<<<<<<< ours", b"=======", b">>>>>>> theirs", b"||||||| base"]
)
def test_conflict_markers_are_known(marker: bytes) -> None:
    """A merge that stopped half way is the commonest damage of a file in git."""
    with pytest.raises(LineDamageError, match="a conflict marker is left from a merge"):
        second_reading(marker, COMPLAINT, torn=False)


def test_lfs_pointers_are_known() -> None:
    """A checkout without LFS gives a file that only looks broken."""
    line = b"version https://git-lfs.github.com/spec/v1"

    with pytest.raises(LineDamageError, match="fetch it with git lfs pull"):
        second_reading(line, COMPLAINT, torn=False)


def test_lost_blocks_are_known() -> None:
    """A power cut leaves NUL bytes where the file system had promised text."""
    with pytest.raises(LineDamageError, match="300 NUL bytes stand where text was lost"):
        second_reading(b"\0" * 300, COMPLAINT, torn=True)


def test_other_encodings_are_named() -> None:
    """An editor that saved Latin-1 is told which byte."""
    with pytest.raises(LineDamageError, match="byte 3 of the line is not UTF-8"):
        second_reading(b'"a\xe9"', COMPLAINT, torn=False)


@pytest.mark.parametrize("line", [b'{"seq":1', '{"a":"grö'.encode()[:-1]])
def test_a_cut_last_line_is_torn(line: bytes) -> None:
    """The cut may fall inside a character, and that is no matter of encoding."""
    with pytest.raises(LineDamageError, match="the last line is torn"):
        second_reading(line, COMPLAINT, torn=True)


def test_a_cut_line_in_the_middle_names_the_column() -> None:
    """Every record is one line, so only the column helps to find the place."""
    with pytest.raises(LineDamageError, match="no JSON, unexpected character at column 9; restore"):
        second_reading(b'{"seq":1', COMPLAINT, torn=False)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_bare_constants_are_refused(text: str) -> None:
    """Python writes them and no other reader takes them."""
    line = f'{{"a":[{{"b":{text}}}],"c":1,"c":2}}'.encode()

    with pytest.raises(LineDamageError, match=f"a bare {text} is no JSON"):
        second_reading(line, COMPLAINT, torn=False)


def test_a_bare_constant_beside_a_doubled_key_is_refused() -> None:
    """An object that is kept as pairs is searched as well."""
    with pytest.raises(LineDamageError, match="a bare NaN"):
        second_reading(b'{"a":NaN,"a":1}', COMPLAINT, torn=False)


def test_legal_json_beyond_a_double_is_read_exactly() -> None:
    """A number by hand is a number, however large."""
    assert second_reading(b'{"a":1e400}', COMPLAINT, torn=False) == {"a": Number("1e400")}
    assert second_reading(b'{"a":"\\ud800"}', COMPLAINT, torn=False) == {"a": "\ud800"}

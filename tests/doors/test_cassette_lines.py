"""A file is read line by line, and what is long in it stays in it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.cassette.lines import Line, group_elements
from mcprec_addon.doors import cassette_lines
from mcprec_addon.doors.cassette_lines import lines_in

LONG = b'{"seq":1,"events":[\t{"a":1},{"b":2},\t{"c":3}\t],"ms":1}\n'


def texts(path: Path) -> list[bytes]:
    return [line.text for line in lines_in(path)]


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    """Blank ones too: they count for the line numbers of messages."""
    path = tmp_path / "a"
    path.write_bytes(b"one\n\nthree\r\nfour")

    assert [*lines_in(path)] == [
        Line(text=b"one"),
        Line(text=b""),
        Line(text=b"three\r"),
        Line(text=b"four", is_ended=False),
    ]


@pytest.mark.parametrize("size", [1, 7, 20, 4096])
def test_a_long_line_is_had_without_its_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Wherever the blocks end that it is read in."""
    monkeypatch.setattr(cassette_lines, "_BLOCK_BYTES", size)
    path = tmp_path / "a"
    path.write_bytes(b"{}\n" + LONG + b"[]\n")

    first, long, last = lines_in(path)

    assert (first.text, last.text) == (b"{}", b"[]")
    assert long.text == b'{"seq":1,"events":[\t],"ms":1}'
    assert [group_elements(read()) for read in long.groups] == [b'[{"a":1},{"b":2}]', b'[{"c":3}]']
    assert [read() for read in long.groups] == [read() for read in long.groups]


def test_a_file_replaced_meanwhile_is_still_read_from(tmp_path: Path) -> None:
    """A recording may put a new cassette in place while a replay runs."""
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(LONG)
    other.write_bytes(b"other")
    (long,) = lines_in(path)

    other.replace(path)

    assert long.groups[1]() == b'{"c":3}'


@given(st.binary().filter(lambda data: b"\r" not in data))
def test_nothing_is_lost_between_the_lines(data: bytes) -> None:
    """Tabs may stand anywhere in a file that is no cassette."""
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()

        lines = [*lines_in(Path(file.name))]

    assert b"\n".join(line.whole() for line in lines) == data.removesuffix(b"\n")


def test_threads_read_each_its_own(tmp_path: Path) -> None:
    """Tests that run in threads replay one cassette."""
    wanted = [b'{"%d":1}' % number * 500 for number in range(8)]
    path = tmp_path / "a"
    path.write_bytes(b'{"seq":1,"events":[\t' + b",\t".join(wanted) + b'\t],"ms":1}\n')
    (long,) = lines_in(path)

    with ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda number: long.groups[number % 8]().rstrip(b","), range(4000))

        assert all(text == wanted[number % 8] for number, text in enumerate(found))

"""A cassette's file is told by its test alone, and no two tests share one."""

import string
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcprec_addon.plugin.paths import cassettes_in, collisions, default_path, safe_name

REFUSED = set('<>:"/\\|?*') | {chr(code) for code in [*range(32), 127]}


def test_a_plain_test_has_a_plain_path() -> None:
    """One who looks for a test's cassette finds it without being told."""
    path = default_path(Path("tests/cassettes"), "test_triage", ["TestBugs"], "test_newest[two-3]")

    assert path.as_posix() == "tests/cassettes/test_triage/TestBugs.test_newest[two-3].mcp"


@pytest.mark.parametrize(
    "name",
    [
        "test_x[a/b]",
        "test_x[a\\b]",
        'test_x[<>:"|?*]',
        "test_x[tab\there]",
        "nul",
        "com1.test",
        "test_x.",
        ".hidden",
        "",
        "test_x[\ud800]",
    ],
)
def test_a_name_that_no_file_may_have_is_replaced(name: str) -> None:
    """Parameters are any text, and a checkout must work on every developer's machine."""
    safe = safe_name(name)

    assert safe.encode()
    assert not REFUSED & set(safe)
    assert safe.split(".")[0].lower() not in {"nul", "com1", ""}
    assert safe[-9] == "~"


def test_letters_of_every_script_stay() -> None:
    """A parametrized test in German or Chinese keeps names that its author can read."""
    assert safe_name("test_x[äβγ-漢字]") == "test_x[äβγ-漢字]"


def test_two_spellings_of_one_letter_are_two_files() -> None:
    """File systems of macOS take é and e with an accent for one name."""
    composed, combined = safe_name("test_x[é]"), safe_name("test_x[e\u0301]")

    assert composed == "test_x[é]"
    assert combined.startswith("test_x[é]~")


def test_capitals_in_parameters_are_kept_apart() -> None:
    """Both macOS and Windows take [a] and [A] for one name."""
    assert safe_name("test_x[a]").casefold() != safe_name("test_x[A]").casefold()
    assert safe_name("test_x[ss]").casefold() != safe_name("test_x[ß]").casefold()


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_two_tests_have_one_file(first: str, second: str) -> None:
    """One of two tests would be answered by what the other one recorded."""
    one, two = safe_name(f"test_x[{first}]"), safe_name(f"test_x[{second}]")

    assert (one.casefold() == two.casefold()) == (first == second)
    for name in (one, two):
        assert len(f".{name}.mcp.journal".encode()) < 143
        assert not REFUSED & set(name)


def test_long_names_that_begin_alike_are_two_files() -> None:
    """What tells them apart may stand at the end, which is cut off."""
    first, second = (safe_name(f"test_x[{string.ascii_lowercase * 20}{end}]") for end in "ab")

    assert first != second
    assert len(first) < 120


def test_names_that_differ_in_case_alone_are_found() -> None:
    """They share a file on some machines only, which is worse than on all."""
    paths = {
        "t.py::test_url": PurePosixPath("c/t/test_url.mcp"),
        "t.py::test_URL": PurePosixPath("c/t/test_URL.mcp"),
        "t.py::test_other": PurePosixPath("c/t/test_other.mcp"),
    }

    assert collisions(paths) == [("t.py::test_url", "t.py::test_URL")]


def test_journals_and_folders_are_no_cassettes(tmp_path: Path) -> None:
    """A recording that was killed leaves a journal, which no test can use."""
    (tmp_path / "t").mkdir()
    (tmp_path / "folder.mcp").mkdir()
    for name in ("t/b.mcp", "a.mcp", ".a.mcp.journal", ".c.mcp", "notes.txt"):
        (tmp_path / name).write_text("")

    assert cassettes_in([tmp_path, tmp_path / "t"]) == [
        tmp_path / "a.mcp",
        tmp_path / "t" / "b.mcp",
    ]

"""What is known of a test's cassette before it runs."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from mcprec_addon.plugin.marks import Asked
from mcprec_addon.plugin.plan import (
    asked_of,
    missing_error,
    own_path,
    paths_of,
    record_command,
    shown_path,
)

pytest_plugins = ["pytester"]

type ItemOf = Callable[[str], pytest.Item]


@pytest.fixture
def item_of(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> ItemOf:
    """Collect a module of one test."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return lambda source: pytester.getitems(f"import pytest\n{source}")[0]


def test_a_fixture_is_as_good_as_a_bare_mark(item_of: ItemOf) -> None:
    """A test that looks into its cassette has one."""
    for fixture in ("mcprec_cassette", "mcprec_run"):
        item = item_of(f"@pytest.fixture\ndef {fixture}(): pass\ndef test_x({fixture}): pass")
        assert asked_of(item) == Asked()


def test_a_test_without_either_has_none(item_of: ItemOf) -> None:
    """Most tests of a suite have nothing to do with cassettes."""
    assert asked_of(item_of("def test_x(): pass")) is None


def test_a_test_in_classes_has_a_cassette_named_after_them(item_of: ItemOf) -> None:
    """Two classes of a module may have tests of one name."""
    item = item_of(
        "class TestA:\n class TestB:\n"
        "  @pytest.mark.parametrize('n', [1])\n  def test_x(self, n): pass"
    )

    path = own_path(item, Path("cassettes"))

    assert path == Path("cassettes") / item.path.stem / "TestA.TestB.test_x[1].mcp"


def test_names_in_a_mark_are_within_the_folder(item_of: ItemOf) -> None:
    """One rule for all of them, wherever pytest was started."""
    item = item_of("def test_x(): pass")

    named = paths_of(Asked(paths=("a.mcp", "../b.mcp", "/c.mcp")), item, Path("/t/cassettes"))

    assert named == (Path("/t/cassettes/a.mcp"), Path("/t/b.mcp"), Path("/c.mcp"))
    assert paths_of(Asked(), item, Path("/t")) == (own_path(item, Path("/t")),)


def test_the_command_that_records_can_be_typed(item_of: ItemOf) -> None:
    """Parameters have any characters, and a shell takes many of them for its own."""
    item = item_of("@pytest.mark.parametrize('q', ['a b$'])\ndef test_x(q): pass")

    words = shlex.split(record_command(item, "once"))

    assert words == ["pytest", f"{item.path.name}::test_x[a b$]", "--mcprec-record=once"]


def test_tests_that_share_a_cassette_are_recorded_together(item_of: ItemOf) -> None:
    """What one of them asks, recorded anew, would leave the others without answers."""
    item = item_of("def test_x(): pass")
    users = [f"{item.path.name}::test_x", f"{item.path.name}::test_y", "test_b.py::test_z"]

    words = shlex.split(record_command(item, "all", users=users))
    many = record_command(item, "all", users=[f"test_{n}.py::test_x" for n in range(4)])

    assert words == ["pytest", "test_b.py", item.path.name, "--mcprec-record=all"]
    assert many == "pytest --mcprec-record=all"


def test_a_cassette_that_is_somewhere_else_is_found(item_of: ItemOf) -> None:
    """Names are within the folder of cassettes, and one forgets that."""
    item = item_of("def test_x(): pass")
    wanted = item.path.parent / "cassettes" / "a.mcp"
    assert str(missing_error(wanted, item)).endswith("--mcprec-record=once")

    (item.path.parent / "a.mcp").touch()

    assert str(missing_error(wanted, item)).endswith("the one beside the test: '../a.mcp'")


def test_paths_are_shown_as_one_would_type_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long temporary path says nothing that its end does not."""
    monkeypatch.chdir(tmp_path)

    assert shown_path(tmp_path / "a" / "b.mcp") == str(Path("a") / "b.mcp")
    assert shown_path(tmp_path.parent / "b.mcp") == str(tmp_path.parent / "b.mcp")

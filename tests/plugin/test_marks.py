"""Marks at several places come to one set of options, the nearest first."""

import pytest

from mcprec_addon.errors import UsageError
from mcprec_addon.plugin.marks import Asked, asked_by, joined


def mark(*args: object, **options: object) -> pytest.Mark:
    return pytest.Mark("mcprec", args, options, _ispytest=True)


def test_a_test_without_a_mark_is_left_alone() -> None:
    """Most tests of a suite have nothing to do with cassettes."""
    assert asked_by([]) is None


def test_a_bare_mark_asks_for_the_tests_own_cassette() -> None:
    """The usual case needs no name."""
    assert asked_by([mark()]) == Asked()


def test_the_nearest_mark_decides() -> None:
    """A test differs from its module in what its own mark says, and in nothing else."""
    module = mark("module.mcp", half="model", strict=True)
    own = mark("own.mcp", half="mcp")

    assert asked_by([own, module]) == Asked(
        paths=("own.mcp",), options={"half": "mcp", "strict": True}
    )


def test_options_of_a_test_keep_the_cassette_of_its_module() -> None:
    """One recorded world and many tests in it is what a module's mark is for."""
    found = asked_by([mark(strict=True), mark("module.mcp")])

    assert found == Asked(paths=("module.mcp",), options={"strict": True})


def test_several_cassettes_may_be_named() -> None:
    """A model's answers and a server's may have been recorded apart."""
    found = asked_by([mark("tracker.mcp", "model.mcp")])

    assert found == Asked(paths=("tracker.mcp", "model.mcp"))


def test_lists_and_tables_are_joined() -> None:
    """What does not count in all of a module does not count in its tests."""
    module = mark(ignore=["/args/since"], secrets={"email-1": "a@b.c"})
    own = mark(ignore="/args/until", normalize=["date"], secrets={"email-2": "d@e.f"})

    found = asked_by([own, module])

    assert found is not None
    assert found.options == {
        "ignore": ["/args/since", "/args/until"],
        "normalize": ["date"],
        "secrets": {"email-1": "a@b.c", "email-2": "d@e.f"},
    }
    assert joined([found.options, found.options]) == found.options


def test_a_test_may_stay_out_of_its_modules_mark() -> None:
    """One test of a module may have to be live."""
    assert asked_by([mark(None), mark("module.mcp")]) is None
    found = asked_by([mark("own.mcp"), mark(None), mark("module.mcp")])
    assert found is not None
    assert found.paths == ("own.mcp",)


@pytest.mark.parametrize("argument", [3, ""])
def test_what_is_no_path_is_refused(argument: object) -> None:
    """A mark that is read as something else would replay another cassette."""
    with pytest.raises(UsageError, match="not the path of a cassette"):
        asked_by([mark("a.mcp", argument)])


def test_a_mark_does_not_record() -> None:
    """It would stay there after the recording, and CI would go live."""
    with pytest.raises(UsageError, match="--mcprec-record=once"):
        asked_by([mark("a.mcp", record="once")])

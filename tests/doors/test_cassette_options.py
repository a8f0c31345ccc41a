"""How a cassette is used: by a caller's options, else by the project's settings."""

from pathlib import Path

import pytest

from mcprec_addon.doors.cassette_options import play_options
from mcprec_addon.doors.settings_file import SETTINGS, read_settings
from mcprec_addon.errors import UsageError


def test_what_a_caller_says_comes_before_the_projects_settings(tmp_path: Path) -> None:
    """A test differs from its neighbours in one point, and shares the rest."""
    (tmp_path / "mcprec.toml").write_text(
        'match = "ordered"\nmodel-match = "sequence"\nstrict = true\nignore = ["/args/since"]\n'
    )
    settings = read_settings(tmp_path, known=SETTINGS)

    own = play_options(settings, {"match": "exact", "strict": False, "ignore": ["/args/now"]})

    assert (own.strategy, own.model_strategy, own.strict) == ("exact", "sequence", False)
    assert [(rule.text, rule.origin) for rule in own.rules] == [
        ("/args/now", "ignore="),
        ("/args/since", "mcprec.toml: ignore"),
    ]


def test_a_setting_that_is_no_choice_is_named_with_its_file(tmp_path: Path) -> None:
    """The test that reads it is not where it stands."""
    (tmp_path / "mcprec.toml").write_text('match = "fuzzy"\n')
    settings = read_settings(tmp_path, known=SETTINGS)

    with pytest.raises(UsageError, match=r"mcprec\.toml: match = 'fuzzy': no such value"):
        play_options(settings, {})

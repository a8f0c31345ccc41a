"""What stands in a project's files counts beside what a command line gives."""

from pathlib import Path

import pytest

from mcprec_addon.cli_settings import agent_servers, joined, match_rules, redaction_rules
from mcprec_addon.errors import UsageError
from mcprec_addon.redact.own_rules import OwnRules

pytestmark = pytest.mark.door


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with settings, and the working directory in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mcprec.toml").write_text(
        'ignore = ["/args/since"]\n'
        "[servers]\n"
        'tracker = "https://mcp.acme.com/mcp"\n'
        'files = "npx -y server-files ."\n'
        "[redact]\n"
        'off = ["email"]\n'
    )
    return tmp_path


@pytest.mark.usefixtures("project")
def test_lists_are_joined() -> None:
    """Each once, what was given first."""
    assert joined("ignore", ["/args/q", "/args/since"]) == ["/args/q", "/args/since"]
    assert joined("ignore", None) == ["/args/since"]
    assert joined("allow", None) == []


@pytest.mark.usefixtures("project")
def test_rules_of_the_project_count() -> None:
    """Without any option."""
    assert redaction_rules(None) == OwnRules(off=("email",))


@pytest.mark.usefixtures("project")
def test_a_server_that_is_given_takes_the_place_of_one_that_is_set() -> None:
    """By its name."""
    servers = agent_servers([], ["tracker=http://127.0.0.1:9/mcp"], None)

    assert sorted(servers.names()) == ["files", "tracker"]
    assert servers.addresses({}, need_all=True) == {"tracker": "http://127.0.0.1:9/mcp"}


def test_rules_for_some_calls_are_tables(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They join what is given, and a wrong one is named by its file."""
    settings = project / "mcprec.toml"
    settings.write_text('[[match.rules]]\nserver = "tracker"\nnormalize = ["date"]\n')
    monkeypatch.setenv("MCPREC_NORMALIZE", "uuid\nrun [0-9]+")

    texts = [rule.text for rule in match_rules(["/args/a"], None)]

    assert texts == ["/args/a", "uuid", "run [0-9]+", "server=tracker:date"]
    settings.write_text('[match]\nnormalize = ["dates"]\n')
    with pytest.raises(UsageError, match=r"^mcprec\.toml: normalize: 'dates' is no pattern"):
        match_rules(None, None)
    settings.write_text('[[match.rules]]\nservr = "tracker"\n')
    with pytest.raises(UsageError, match=r"match\.rules 1\.servr is no setting; a rule has server"):
        match_rules(None, None)

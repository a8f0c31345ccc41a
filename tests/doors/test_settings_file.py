"""Settings are found where a project keeps them, and what is wrong in them is named."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcprec_addon.doors.settings_file import Kind, Settings, read_settings
from mcprec_addon.errors import UsageError

KNOWN: dict[str, Kind] = {
    "strict": "flag",
    "all-used": "flag",
    "match": "text",
    "via": "text",
    "ignore": "list",
    "keep-env": "list",
    "config": "paths",
    "report": "path",
}
# More digits than Python makes an integer of, or a text.
LONG_DECIMAL, LONG_HEXADECIMAL = f"x = {'1' * 5000}", f"x = 0x{'f' * 5000}"
DEEP = "x = " + "[" * 3000

# What comes near to being settings, for a generator to join.
PIECES = [
    *("strict", "keep_env", "ignore", "match", "config", "servers", "tool", "mcprec", "x"),
    *(" = ", ".", "\n", "[", "]", "[[", "]]", "{", "}", ", ", "'", '"', "#", "\\u0000"),
    *("true", "1", "0x", "1e999", "nan", "1979-05-27", "07:32:00", "'a'", "'/a'", "[tool.mcprec]"),
]
tomls = st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def read(folder: Path) -> Settings:
    return read_settings(folder, known=KNOWN)


def refused(folder: Path) -> list[str]:
    """The lines that say why settings are refused."""
    with pytest.raises(UsageError) as caught:
        read(folder)
    return str(caught.value).split("\n")


def own(folder: Path, text: str) -> None:
    (folder / "mcprec.toml").write_bytes(text.encode())


def shared(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_bytes(text.encode())


@pytest.fixture
def tests_folder(tmp_path: Path) -> Path:
    """Return the folder ``project/tests``."""
    folder = tmp_path / "project" / "tests"
    folder.mkdir(parents=True)
    return folder


def test_without_files_nothing_is_set(tmp_path: Path) -> None:
    """Most projects have none."""
    shared(tmp_path, "[project]\nname = 'x'\n")

    assert read(tmp_path) == Settings()


def test_both_files_count_and_lists_are_joined(tmp_path: Path) -> None:
    """A team's settings in one, and what one suite needs in the other."""
    own(tmp_path, "strict = true\nignore = ['/args/a']\n[servers]\nfiles = 'npx files'\n")
    shared(
        tmp_path,
        "[tool.mcprec]\nstrict = false\nvia = 'proxy'\nkeep_env = 'A'\n"
        "ignore = ['/args/b', '/args/a']\n"
        "[tool.mcprec.servers]\nfiles = 'other'\ndocs = 'https://docs.example/mcp'\n",
    )
    ours, theirs = Path("mcprec.toml"), Path("pyproject.toml")

    assert read(tmp_path) == Settings(
        options={
            "strict": True,
            "via": "proxy",
            "keep-env": ["A"],
            "ignore": ["/args/a", "/args/b"],
        },
        servers={"files": "npx files", "docs": "https://docs.example/mcp"},
        origin={
            "strict": ours,
            "via": theirs,
            "keep-env": theirs,
            "ignore": ours,
            "servers.files": ours,
            "servers.docs": theirs,
        },
    )


def test_the_nearest_file_counts(tests_folder: Path) -> None:
    """A suite has settings of its own, and pyproject files without ours are passed over."""
    project = tests_folder.parent
    own(project.parent, "via = 'proxy'")
    own(project, "strict = true")
    shared(project, "[tool.mcprec]\nall-used = true\n")
    shared(tests_folder, "[tool.other]\nmcprec = 1\n")

    assert read(tests_folder).options == {"strict": True, "all-used": True}
    assert read(tests_folder).origin["all-used"] == Path("../pyproject.toml")


@pytest.mark.parametrize("is_file", [False, True])
def test_the_walk_ends_at_the_repository(tests_folder: Path, *, is_file: bool) -> None:
    """A folder around the repository has no say in it; in a work tree .git is a file."""
    project = tests_folder.parent
    own(project.parent, "via = 'proxy'")
    shared(project.parent, "[tool.mcprec]\nall-used = true\n")
    own(project, "strict = true")
    git = project / ".git"
    git.touch() if is_file else git.mkdir()

    assert read(tests_folder).options == {"strict": True}


def test_a_relative_folder_has_folders_above_it(
    tests_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller may well say where it is by a dot."""
    own(tests_folder.parent, "strict = true")
    monkeypatch.chdir(tests_folder)

    assert read(Path()).options == {"strict": True}


def test_paths_are_relative_to_their_file(tests_folder: Path) -> None:
    """Whatever folder of the project a person stands in."""
    absolute = str(tests_folder.parent / "absolute.json")
    own(
        tests_folder.parent,
        f"config = ['mcp.json', 'tests/mcp.json', '{absolute}']\nreport = 'out/report.xml'\n",
    )

    assert read(tests_folder).options == {
        "config": ["../mcp.json", "mcp.json", absolute],
        "report": "../out/report.xml",
    }
    assert read(tests_folder.parent).options == {
        "config": ["mcp.json", "tests/mcp.json", absolute],
        "report": "out/report.xml",
    }


def test_a_pointer_to_ignore_may_stand_in_the_table_of_matching(tmp_path: Path) -> None:
    """Where a project's other rules of matching will stand, and beside a strategy elsewhere."""
    own(tmp_path, "ignore = '/args/a'\n[match]\nignore = ['/args/b']\n")
    shared(tmp_path, "[tool.mcprec]\nmatch = 'exact'\n")

    assert read(tmp_path).options == {"ignore": ["/args/a", "/args/b"], "match": "exact"}


def test_a_file_as_some_editors_save_it_is_read(tmp_path: Path) -> None:
    """With a byte order mark and the line ends of Windows."""
    own(tmp_path, "\ufeffstrict = true\r\nvia = 'proxy'\r\n")

    assert read(tmp_path).options == {"strict": True, "via": "proxy"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("strict = true\n\nvia = x\n", ":3:7: invalid value; mend it first"),
        ("strict = \n", ":1:10: invalid value; mend it first"),
        (DEEP, ": nested too deeply; mend it first"),
        (LONG_DECIMAL, ": holds a number of too many digits; mend it first"),
        (LONG_HEXADECIMAL, ": holds a number of too many digits; mend it first"),
        ("strict = 'yes'", ': strict is "yes"; make it true or false'),
        ("strict = 1", ": strict is a number; make it true or false"),
        ("via = true", ": via is true; make it a string"),
        ("via = 07:32:00", ": via is a date or time; make it a string"),
        (
            "ignore = ['/a', 1]",
            ": ignore is a list that holds more than strings; make it a list of strings",
        ),
        ("match.ignore = 1", ": match.ignore is a number; make it a list of strings"),
        ("[keep_env]\nA = 'secret'", ": keep_env is a table; make it a list of strings"),
        ("report = ['a']", ": report is a list; make it a path as a string"),
        ("config = 1.5", ": config is a number; make it a list of paths as strings"),
        ('report = "a\\u0000b"', ': report is "a\\u0000b"; make it a path as a string'),
        (
            "all-used = true\nall_used = false",
            ": all_used is set as all-used too; keep one of them",
        ),
        (
            "servers = 1",
            (
                ": servers is a number; make it a table of names,"
                ' such as files = "npx -y some-server ."'
            ),
        ),
        (
            "[servers.\"x\\ny\"]\ncommand = 'npx'\nenv = {TOKEN = 'secret'}",
            (
                ": servers.x\\ny is a table; make it an address or a command line in a string,"
                ' such as "npx -y some-server ."'
            ),
        ),
    ],
)
def test_what_is_wrong_is_named(text: str, line: str, tmp_path: Path) -> None:
    """With the file, the key, what was found and what would be right; no secret is shown."""
    own(tmp_path, text)

    assert refused(tmp_path) == [f"mcprec.toml{line}"]


ALL = "there are strict, all-used, match, via, ignore, keep-env, config, report, servers, redact"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("stritc = true", f"stritc is no setting; did you mean strict; {ALL}"),
        ("keep_evn = []", f"keep_evn is no setting; did you mean keep-env; {ALL}"),
        ("[server]\nx = 'npx'", f"server is no setting; did you mean servers; {ALL}"),
        ("match.ignor = []", f"match.ignor is no setting; did you mean match.ignore; {ALL}"),
        ("xyz = 1", f"xyz is no setting; {ALL}"),
        ('"x\\ny" = 1', f"x\\ny is no setting; {ALL}"),
        (
            "[tool.mcprec]\nstrict = true",
            "tool is no setting; settings stand in mcprec.toml without [tool.mcprec]",
        ),
    ],
)
def test_a_key_that_is_none_is_named(text: str, line: str, tmp_path: Path) -> None:
    """A misspelt setting that does nothing would be believed in."""
    own(tmp_path, text)

    assert refused(tmp_path) == [f"mcprec.toml: {line}"]


def test_everything_wrong_is_said_at_once(tests_folder: Path) -> None:
    """A person mends all of it in one go."""
    own(tests_folder, "strict = 1\nservers = {x = 1, y = 2}\n")
    shared(tests_folder.parent, "[tool.mcprec]\nvia = 1\nxyz = 1\n")

    lines = refused(tests_folder)

    assert [line.partition(" is ")[0] for line in lines] == [
        "mcprec.toml: strict",
        "mcprec.toml: servers.x",
        "mcprec.toml: servers.y",
        "../pyproject.toml: via",
        "../pyproject.toml: xyz",
    ]


@pytest.mark.parametrize(
    "data", [b"\xff", b"\xff mcprec", b"[project]\ndependencies = ['mcprec-addon']\nx = "]
)
def test_a_broken_file_of_others_is_passed_over(data: bytes, tests_folder: Path) -> None:
    """It is for the tools that it was written for to complain of."""
    (tests_folder / "pyproject.toml").write_bytes(data)
    shared(tests_folder.parent, "[tool.mcprec]\nstrict = true\n")

    assert read(tests_folder).options == {"strict": True}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"[tool.mcprec]\nvia = x", ":2:7: invalid value; mend it first"),
        (b"[ tool . 'mcprec' ]\nvia = x", ":2:7: invalid value; mend it first"),
        (b"# \xff\n[tool.mcprec]", ": cannot be read, it is not UTF-8; save it as UTF-8"),
        (b"[tool]\nmcprec = 1", ": tool.mcprec is a number; make it a table: [tool.mcprec]"),
        (b"[[tool.mcprec]]", ": tool.mcprec is a list"),
    ],
)
def test_a_broken_file_with_our_table_is_named(data: bytes, line: str, tmp_path: Path) -> None:
    """Else the settings in it would be lost without a word."""
    (tmp_path / "pyproject.toml").write_bytes(data)

    (said,) = refused(tmp_path)

    assert said.startswith(f"pyproject.toml{line}")


@pytest.mark.parametrize("name", ["mcprec.toml", "pyproject.toml"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    """A link that leads nowhere was made by somebody who wants those settings."""
    (tmp_path / name).symlink_to(tmp_path / "gone")

    assert refused(tmp_path) == [
        f"{name}: cannot be read, no such file or directory; make it readable or remove it"
    ]


def test_settings_that_are_no_text_are_named(tmp_path: Path) -> None:
    """TOML is UTF-8, and one line says so."""
    (tmp_path / "mcprec.toml").write_bytes(b"via = '\xff'")

    assert refused(tmp_path) == ["mcprec.toml: cannot be read, it is not UTF-8; save it as UTF-8"]


def test_a_folder_of_the_name_is_no_file(tmp_path: Path) -> None:
    """Only files hold settings."""
    (tmp_path / "mcprec.toml").mkdir()

    assert read(tmp_path) == Settings()


def test_the_environment_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which file counts must be seen from the folders alone."""
    own(tmp_path, "config = ['~/mcp.json', '$VIA/mcp.json']\nvia = '${VIA}'")
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("VIA", "proxy")
    monkeypatch.setenv("MCPREC_STRICT", "1")

    assert read(tmp_path).options == {
        "config": ["~/mcp.json", "$VIA/mcp.json"],
        "via": "${VIA}",
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=tomls)
@example(text="strict = true")
@example(text="match = {ignore = ['/a']}\nservers = {x = 'y'}")
@example(text="ignore = [[]]\nmatch = 1e999\nvia = nan")
@example(text=DEEP)
@example(text=LONG_DECIMAL)
@example(text=LONG_HEXADECIMAL)
@example(text="x" + ".x" * 3000 + " = 1")
def test_any_file_is_read_or_refused(text: str, tmp_path: Path) -> None:
    """Whatever stands in it, there is no traceback, and each line names the file."""
    data = text.encode("utf-8", "surrogatepass")
    (tmp_path / "mcprec.toml").write_bytes(data)
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.mcprec]\n" + data)

    with suppress(UsageError):
        read(tmp_path)
        return
    assert all(
        line.split(":")[0] in {"mcprec.toml", "pyproject.toml"} for line in refused(tmp_path)
    )

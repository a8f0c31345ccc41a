"""What is published, as an archive and as a wheel: it installs, starts, and gets on with SDKs."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcprec_addon import __version__
from tests.peers.process import ROOT

pytestmark = pytest.mark.door

_LONGEST_S = 60


def run(command: Sequence[str], *, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command as one would in a shell that knows nothing of this checkout."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=_LONGEST_S, check=False
    )


def built(kind: str, source: Path, out: Path) -> Path:
    """Build one distribution of a source tree, with the backend that pip would use."""
    done = run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)], cwd=source)
    assert done.returncode == 0, done.stderr
    (found,) = out.iterdir()
    return found


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the source archive of this checkout."""
    return built("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that is built of the source archive, as a packager builds it."""
    source = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(source, filter="data")
    return built("wheel", next(source.iterdir()), tmp_path_factory.mktemp("wheel"))


def installed(wheel: Path, folder: Path, *, beside: str) -> Path:
    """Install the wheel into a new environment that sees the libraries of another one.

    A path in a ``.pth`` file makes those libraries importable and leaves their own ``.pth`` files
    unread, so the editable install of this checkout is not among them.

    Returns:
        The environment's folder of programs.
    """
    venv.create(folder, with_pip=False)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    python = folder / "bin" / "python"
    own, theirs = (run([each, "-c", code]).stdout.strip() for each in (str(python), beside))
    (Path(own) / "beside.pth").write_text(theirs)
    done = run([*pip(python), "install", "-q", "--no-index", "--no-deps", str(wheel)])
    assert done.returncode == 0, done.stderr
    return python.parent


def pip(python: Path) -> list[str]:
    """Return how pip is called for an environment that has none of its own."""
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with the wheel, beside the SDKs of today."""
    return installed(wheel, tmp_path_factory.mktemp("mcp2"), beside=sys.executable)


def test_the_archive_holds_what_a_packager_needs_and_nothing_else(sdist: Path) -> None:
    """A virtual environment or a recorded session that lies about must not be published."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "LICENSE", "Makefile", "tests/test_packaging.py"} <= names
    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert folders == {"mcprec_addon", "tests", "scripts", "docs"}
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name]


def test_the_wheel_holds_the_package_and_its_types(wheel: Path) -> None:
    """Without py.typed a checker takes all that we annotate for Any."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    own = {path.relative_to(ROOT).as_posix() for path in (ROOT / "mcprec_addon").rglob("*.py")}
    assert {"mcprec_addon/py.typed", *own} == {name for name in names if ".dist-info/" not in name}


@pytest.mark.parametrize(
    "command",
    [["mcprec"], ["mcprec-addon"], ["python", "-m", "mcprec_addon"]],
    ids=["mcprec", "mcprec-addon", "module"],
)
def test_the_installed_command_starts(programs: Path, tmp_path: Path, command: list[str]) -> None:
    """What is installed is what runs, under each of its names, far from the checkout."""
    start = [str(programs / command[0]), *command[1:]]

    version = run([*start, "--version"], cwd=tmp_path)
    where = run([*start, "addon"], cwd=tmp_path)

    assert version.stdout == f"mcprec {__version__}\n", version.stderr
    assert Path(where.stdout.strip()).is_relative_to(programs.parent)


def test_pytest_finds_the_plugin(programs: Path, tmp_path: Path) -> None:
    """It is installed, and has not to be named anywhere."""
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n@pytest.mark.mcprec('gone.mcp')\ndef test_a(): pass\n"
    )

    done = run([str(programs / "python"), "-m", "pytest", "-q", "--strict-markers"], cwd=tmp_path)

    assert "cassettes/gone.mcp: is not there; record it: pytest test_a.py::test_a" in done.stdout


def test_it_gets_on_with_the_sdks_of_today(programs: Path) -> None:
    """An agent's environment has these SDKs; a library that both need must suit both."""
    check = run([*pip(programs / "python"), "check"])
    listed = run([*pip(programs / "python"), "list", "--format", "freeze"]).stdout.splitlines()

    assert check.returncode == 0, check.stdout
    versions = dict(line.split("==") for line in listed)
    majors = {name: versions[name].partition(".")[0] for name in ("openai", "anthropic", "mcp")}
    assert majors == {"openai": "3", "anthropic": "2", "mcp": "2"}
    assert versions["mcprec-addon"] == __version__


def test_it_gets_on_with_the_mcp_sdk_of_before(
    wheel: Path, mcp1_python: str, tmp_path: Path
) -> None:
    """Most agents are still on version 1 of it, which shares half of our libraries."""
    python = installed(wheel, tmp_path / "mcp1", beside=mcp1_python) / "python"

    check = run([*pip(python), "check"])
    versions = run([*pip(python), "list", "--format", "freeze"]).stdout

    assert check.returncode == 0, f"{check.stdout}(make setup puts our libraries there)"
    assert "\nmcp==1." in versions
    assert f"\nmcprec-addon=={__version__}\n" in versions

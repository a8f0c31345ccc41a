"""The rules of the layout, checked from the source text: layers, purity, JSON, size, tests."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "mcprec_addon"

# Every part, left to right: a part imports from the layers left of its own and from itself.
# Parts that share a layer never import each other. A new part is added here first.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("exchange", "errors", "long_events"),
    ("jsonvalue",),
    ("settings", "options", "wire"),
    ("redact",),
    ("match",),
    ("record", "cassette", "replay", "upkeep"),
    ("doors",),
    ("agent_servers",),
    ("run", "played_servers", "replay_end"),
    ("replay_run",),
    ("serving", "eval_doors", "eval_recording"),
    ("evaluation", "self_check", "doctor", "demo"),
    ("look", "cleaning", "joining", "addon_run"),
    ("cli_options",),
    ("cli_settings",),
    ("cli_terminal",),
    ("cli_eval", "cli_merge"),
    ("plugin",),
    ("addon", "cli", "pytest_plugin"),
    ("__main__",),
)
LAYER_OF = {part: number for number, layer in enumerate(LAYERS) for part in layer}

IMPURE_IMPORTS: dict[str, tuple[str, ...]] = {
    "file": (
        "fcntl",
        "glob",
        "importlib.resources",
        "io",
        "mmap",
        "os",
        "pathlib",
        "shutil",
        "tempfile",
    ),
    "socket": ("ftplib", "http", "select", "selectors", "smtplib", "socket", "socketserver", "ssl"),
    "network": ("urllib.request", "webbrowser"),
    "process": ("multiprocessing", "pty", "signal", "subprocess"),
    "thread or event loop": ("asyncio", "concurrent", "queue", "threading"),
    "clock": ("sched", "time"),
    "environment": ("importlib.metadata", "getpass", "logging", "platform", "sys"),
    "chance": ("random", "secrets"),
}
PURE_IMPORTS = frozenset(  # values that live in the modules above
    {
        "http.HTTPStatus",
        "io.BytesIO",
        "io.StringIO",
        "pathlib.PurePath",
        "pathlib.PurePosixPath",
        "signal.Signals",
    }
)
IMPURE_BUILTINS = frozenset({"breakpoint", "input", "open", "print"})
CLOCK_CALLS = re.compile(r"(.*\.)?(datetime|date)\.(now|today|utcnow)")
CORE_LIBRARIES = frozenset({"jsonpointer", "orjson", "re2"})

USERS_OF: dict[str, frozenset[str]] = {
    "orjson": frozenset({"jsonvalue.py", "cassette/lines.py"}),
    "json": frozenset({"jsonvalue.py"}),
}

MAX_LINES = 350
MAX_LINES_OF_LONG = 450
LONG_MODULES: dict[str, str] = {
    "exchange.py": "the units are one vocabulary and mostly docstrings",
    "cli.py": "a command is mostly its signature, and they stand together",
    "doors/stdio_relay.py": "it runs by itself, so it cannot import a part of itself",
    "jsonvalue.py": "reading, canonical bytes and differences share one set of exact leaves",
}
VAGUE_NAMES = frozenset({"base", "common", "helper", "helpers", "misc", "util", "utils"})

UNMIRRORED: dict[str, str] = {}  # module without a test file of its own: the reason


@cache
def modules() -> tuple[str, ...]:
    """Paths of all modules, relative to the package."""
    package = ROOT / PACKAGE
    return tuple(sorted(path.relative_to(package).as_posix() for path in package.rglob("*.py")))


def core_modules() -> list[str]:
    """The modules of the parts left of doors."""
    return [name for name in modules() if LAYER_OF.get(part_of(name), 99) < LAYER_OF["doors"]]


@cache
def text_of(module: str) -> str:
    return (ROOT / PACKAGE / module).read_text(encoding="utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module), filename=module)


def part_of(module: str) -> str:
    """The part a module belongs to: its folder or, at the top, its own name."""
    return module.partition("/")[0].removesuffix(".py")


def top_of(name: str) -> str:
    """The first step of a dotted name."""
    return name.partition(".")[0]


def imports_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import; ``from a import b`` counts as ``a.b``."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(origin), names=names):
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)
            case _:
                pass


def imports_of(module: str) -> Iterator[tuple[int, str]]:
    """Imports anywhere in a module: those inside functions and for type checkers too."""
    return imports_in(ast.walk(tree_of(module)))


def parts_imported_by(module: str) -> Iterator[tuple[int, str]]:
    """Line and part of each import from the package itself."""
    for line, name in imports_of(module):
        package, _, rest = name.partition(".")
        if package == PACKAGE and rest not in {"", "__version__"}:
            yield line, top_of(rest)


def calls_in(module: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each call in a module."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def world_behind(name: str) -> str | None:
    """What an import leads to outside the process's own values, or None."""
    if name in PURE_IMPORTS:
        return None
    return next(
        (
            world
            for world, impure in IMPURE_IMPORTS.items()
            if any(f"{name}.".startswith(f"{module}.") for module in impure)
        ),
        None,
    )


def module_file(name: str) -> str | None:
    """The module that a dotted name from the package lies in, or None."""
    steps = name.split(".")[1:]
    paths = ("/".join(steps[:count]) for count in range(len(steps), 0, -1))
    candidates = (file for path in paths for file in (f"{path}.py", f"{path}/__init__.py"))
    return next((file for file in candidates if file in modules()), None)


def loaded_with(start: str) -> set[str]:
    """The modules that importing `start` imports, itself among them."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            names = (name for _, name in imports_in(tree_of(module).body))
            waiting += [file for name in names if (file := module_file(name)) is not None]
    return found


def base_libraries() -> set[str]:
    """Import names of what a plain installation brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^A-Za-z0-9_-]", line)[0] for line in project["dependencies"]}
    return {{"google-re2": "re2"}.get(name, name) for name in names}


def mirror_of(module: str) -> str:
    folder, _, name = module.rpartition("/")
    return f"tests/{folder}/test_{name}" if folder else f"tests/test_{name}"


def report(rule: str, problems: Iterable[str]) -> str:
    return "\n  ".join([rule, *problems])


def test_every_part_has_its_layer() -> None:
    """A new part is given its place in the layers before it is written."""
    unknown = {part_of(module) for module in modules()} - LAYER_OF.keys() - {"__init__"}

    assert not unknown, report("parts that are not in LAYERS:", sorted(unknown))


def test_imports_point_left() -> None:
    """Whoever reads a part needs to know only what stands left of it."""
    wrong = [
        f"{module}:{line}: {part_of(module)} imports {part}"
        for module in modules()
        for line, part in parts_imported_by(module)
        if part != part_of(module) and LAYER_OF.get(part, 99) >= LAYER_OF.get(part_of(module), 99)
    ]

    assert not wrong, report("imports that point right or sideways:", wrong)


def test_core_imports_nothing_that_touches_the_world() -> None:
    """The core is driven with values, so its tests need no file, socket or clock."""
    wrong = [
        f"{module}:{line}: imports {name} ({world})"
        for module in core_modules()
        for line, name in imports_of(module)
        if (world := world_behind(name)) is not None
    ]

    assert not wrong, report("left of doors everything is pure:", wrong)


def test_core_calls_neither_clock_nor_file() -> None:
    """Time comes in as at_ms and bytes as bytes, so a result is the same on every machine."""
    wrong = [
        f"{module}:{line}: calls {name}"
        for module in core_modules()
        for line, name in calls_in(module)
        if name in IMPURE_BUILTINS or CLOCK_CALLS.fullmatch(name)
    ]

    assert not wrong, report("left of doors everything is pure:", wrong)


def test_core_uses_few_libraries() -> None:
    """A further library in the core is a decision, and it is made in this file."""
    known = {PACKAGE} | CORE_LIBRARIES | sys.stdlib_module_names
    wrong = [
        f"{module}:{line}: imports {name}"
        for module in core_modules()
        for line, name in imports_of(module)
        if top_of(name) not in known
    ]

    assert not wrong, report(f"the core uses {', '.join(sorted(CORE_LIBRARIES))}:", wrong)


def test_commands_start_without_the_extras() -> None:
    """A replay in CI installs no mitmproxy and no SDK, and does not wait for them to load."""
    known = {PACKAGE} | base_libraries() | sys.stdlib_module_names
    wrong = [
        f"{module}:{line}: imports {name}"
        for module in sorted(loaded_with("cli.py"))
        for line, name in imports_in(tree_of(module).body)
        if top_of(name) not in known
    ]

    assert not wrong, report("cli loads libraries that only an extra installs:", wrong)


def test_only_two_modules_parse_json() -> None:
    """Parsing loses doubled keys and exact numbers unless it is done in one place."""
    wrong = [
        f"{module}:{line}: imports {name}"
        for module in modules()
        for line, name in imports_of(module)
        if module not in USERS_OF.get(top_of(name), {module})
    ]

    assert not wrong, report("use mcprec_addon.jsonvalue instead:", wrong)


def test_every_module_has_its_test_file() -> None:
    """A reader finds the tests of a module without searching."""
    exempt = {module for module in modules() if Path(module).stem in {"__init__", "__main__"}}
    missing = [
        f"{module}: no {mirror_of(module)}"
        for module in modules()
        if module not in exempt | UNMIRRORED.keys() and not (ROOT / mirror_of(module)).is_file()
    ]

    assert not missing, report("modules without their test file:", missing)


def test_test_folders_are_packages() -> None:
    """Two parts may each have a module of one name, and so may their tests."""
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    bare = [
        f"{folder.relative_to(ROOT)}: no __init__.py"
        for folder in sorted(folders)
        if not (folder / "__init__.py").is_file()
    ]

    assert not bare, report("test folders that are no packages:", bare)


def test_modules_are_short() -> None:
    """A module that no longer fits in a head is two modules."""
    too_long = [
        f"{module}: {count} lines, at most {limit}"
        for module in modules()
        if (count := len(text_of(module).splitlines()))
        > (limit := MAX_LINES_OF_LONG if module in LONG_MODULES else MAX_LINES)
    ]

    assert not too_long, report("modules that are too long:", too_long)


def test_names_say_what_a_module_holds() -> None:
    """A drawer without a label collects everything."""
    vague = [
        module for module in modules() if VAGUE_NAMES & set(Path(module).with_suffix("").parts)
    ]

    assert not vague, report("name these for what they hold:", vague)


def _is_lazy(node: ast.stmt) -> bool:
    """Whether it re-exports when it is asked, or says so to a type checker."""
    if isinstance(node, ast.If):
        imports = all(isinstance(each, ast.ImportFrom) for each in node.body)
        return imports and ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef) and node.name == "__getattr__"


def test_package_files_hold_no_code() -> None:
    """Importing a part must cost nothing and hide nothing; the package re-exports when asked."""
    allowed = {"__all__", "__version__", "_HOMES"}
    wrong = [
        f"{module}:{node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for module in modules()
        if Path(module).name == "__init__.py"
        for node in tree_of(module).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
        and not (module == "__init__.py" and _is_lazy(node))
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in allowed)
    ]

    assert not wrong, report("__init__.py holds re-exports only:", wrong)


def test_exceptions_are_still_needed() -> None:
    """An exception that nothing needs hides the next one."""
    short = [
        f"LONG_MODULES: {module}"
        for module in LONG_MODULES
        if module not in modules() or len(text_of(module).splitlines()) <= MAX_LINES
    ]
    tested = [
        f"UNMIRRORED: {module}"
        for module in UNMIRRORED
        if module not in modules() or (ROOT / mirror_of(module)).is_file()
    ]

    assert not short + tested, report("remove from the tables:", short + tested)

"""What the marks of a test ask for: ``@pytest.mark.mcprec("triage.mcp", half="model", …)``.

The mark that is nearest to the test decides: function, then class, module, package, and last what
the fixture `mcprec_config` returns. Lists and tables are joined. Paths are taken whole from the
nearest mark that names any.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from mcprec_addon.errors import UsageError

if TYPE_CHECKING:
    import pytest

_LISTS = frozenset({"ignore", "normalize", "faults", "allow"})
_TABLES = frozenset({"secrets", "servers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the marks of one test ask for.

    Attributes:
        paths: The cassettes as they are named; none for the test's own.
        options: How they are used.
    """

    paths: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict[str, object])


def asked_by(marks: Sequence["pytest.Mark"]) -> Asked | None:
    """Return what marks ask for, or None where there is none, or the nearest is ``mcprec(None)``.

    Args:
        marks: Those of one test, the nearest first.

    Raises:
        UsageError: A mark has something else than paths, or says that it records.
    """
    paths: tuple[str, ...] = ()
    for mark in marks:
        if mark.args == (None,):
            if not paths:
                return None
            break
        paths = paths or _paths(mark)
    options = joined([mark.kwargs for mark in reversed(marks)])
    if "record" in options:
        message = (
            "a mark does not record, or CI would; say it on the command line: --mcprec-record=once"
        )
        raise UsageError(message)
    return Asked(paths=paths, options=options) if marks else None


def _paths(mark: "pytest.Mark") -> tuple[str, ...]:
    wrong = next((each for each in mark.args if not isinstance(each, str) or not each), None)
    if wrong is not None:
        message = f"mcprec({wrong!r}): not the path of a cassette; name files, or options by name"
        raise UsageError(message)
    return mark.args


def joined(tables: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Return options from several places: the later decides, lists and tables are joined."""
    options: dict[str, object] = {}
    for table in tables:
        for name, value in table.items():
            before = options.get(name)
            if name in _LISTS:
                options[name] = _list(before) + [
                    each for each in _list(value) if each not in _list(before)
                ]
            elif name in _TABLES and isinstance(before, Mapping) and isinstance(value, Mapping):
                options[name] = {
                    **cast("Mapping[str, object]", before),
                    **cast("Mapping[str, object]", value),
                }
            else:
                options[name] = value
    return options


def _list(value: object) -> list[object]:
    """Return the elements of a list; one text is a list of itself."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value]
    return list(cast("Iterable[object]", value))

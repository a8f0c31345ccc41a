"""The fields of one record, read with their types; what is wrong with one is named."""

from mcprec_addon.exchange import Headers, Json


class RecordProblemError(ValueError):
    """A record is not what format 1 says; the message is what is wrong and what would be right."""


class Fields:
    """The fields of a record, taken one by one; what nobody took is left in `rest`.

    Every method takes a field out and returns None, or an empty container, where it is absent.
    """

    __slots__ = ("rest",)

    def __init__(self, record: dict[str, Json]) -> None:
        """Take over `record`, which is emptied."""
        self.rest = record

    def has(self, name: str) -> bool:
        """Whether the field is there and was not taken."""
        return name in self.rest

    def value(self, name: str) -> Json:
        """Take a field of any type."""
        return self.rest.pop(name, None)

    def text(self, name: str) -> str | None:
        """Take a string."""
        value = self.rest.pop(name, None)
        if value is None or isinstance(value, str):
            return value
        raise RecordProblemError(_must_be(name, "a string"))

    def needed_text(self, name: str) -> str:
        """Take a string that must be there."""
        value = self.text(name)
        if value is None:
            raise RecordProblemError(_missing(name))
        return value

    def whole(self, name: str) -> int | None:
        """Take a whole number from 0."""
        value = self.rest.pop(name, None)
        return None if value is None else whole_number(value, name)

    def flag(self, name: str) -> bool:
        """Take a boolean, false where it is absent."""
        value = self.rest.pop(name, None)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise RecordProblemError(_must_be(name, "true or false"))

    def choice[T: str](self, name: str, choices: tuple[T, ...]) -> T | None:
        """Take one of a closed set of strings."""
        value = self.rest.pop(name, None)
        if value is None:
            return None
        for choice in choices:
            if choice == value:
                return choice
        raise RecordProblemError(_must_be(name, " or ".join(f'"{choice}"' for choice in choices)))

    def members(self, name: str) -> dict[str, Json]:
        """Take an object."""
        value = self.rest.pop(name, None)
        if value is None:
            return {}
        if isinstance(value, dict):
            return value
        raise RecordProblemError(_must_be(name, "an object"))

    def elements(self, name: str) -> list[Json]:
        """Take a list."""
        value = self.rest.pop(name, None)
        if value is None:
            return []
        if isinstance(value, list):
            return value
        raise RecordProblemError(_must_be(name, "a list"))

    def texts(self, name: str) -> list[str]:
        """Take a list of strings."""
        return _texts(self.elements(name), name)

    def headers(self) -> Headers:
        """Take ``headers``: an object of strings, or of lists of strings where repeated."""
        return {
            name: value if isinstance(value, str) else _texts(value, "headers")
            for name, value in self.members("headers").items()
        }


def whole_number(value: Json, name: str) -> int:
    """Return `value` where it is a whole number from 0.

    Raises:
        RecordProblemError: It is none; `name` is the field to complain of.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise RecordProblemError(_must_be(name, "a whole number from 0"))


def object_of(value: Json, name: str) -> dict[str, Json]:
    """Return `value` where it is an object.

    Raises:
        RecordProblemError: It is none; `name` says what it is.
    """
    if isinstance(value, dict):
        return value
    raise RecordProblemError(_must_be(name, "an object"))


def _texts(value: Json, name: str) -> list[str]:
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    if isinstance(value, list) and len(texts) == len(value):
        return texts
    raise RecordProblemError(_must_be(name, "made of strings"))


def _must_be(name: str, what: str) -> str:
    return f'"{name}" must be {what}'


def _missing(name: str) -> str:
    return f'the record has no "{name}"; give it one'

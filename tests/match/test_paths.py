"""Ids in paths count like ids in bodies."""

from mcprec_addon.exchange import Json, ModelAnswer, ModelCall, ModelExchange
from mcprec_addon.match.paths import fixed_ids, key_path, path_ids


def call(path: str, provider: str = "openai") -> ModelCall:
    return ModelCall(provider=provider, http_method="GET", path=path)


def exchange(path: str, body: Json = None) -> ModelExchange:
    answer = ModelAnswer(kind="none" if body is None else "body", value=body)
    return ModelExchange(seq=1, call=call(path), answer=answer)


def test_an_id_counts_by_appearance() -> None:
    """A file that was uploaded again has another id, and is asked for the same way."""
    one, two = call("/v1/files/file-1/content"), call("/files/file-2/content")

    assert path_ids(one) == ["file-1"]
    assert key_path(one, ()) == key_path(two, ()) == "/files/#1/content"
    assert key_path(one, {"file-1"}) == "/files/file-1/content"
    same = call("/v1/vector_stores/a/files/b"), call("/v1/vector_stores/a/files/a")
    assert [key_path(each, ()) for each in same] == [
        "/vector_stores/#1/files/#2",
        "/vector_stores/#1/files/#1",
    ]


def test_the_query_counts_in_any_order() -> None:
    """Page two is another question; the version of the API is none."""
    assert key_path(call("/v1/files?b=2&a=1&beta=true"), ()) == "/files?a=1&b=2"
    assert key_path(call("/v1/files?api-version=3"), ()) == "/files"
    assert key_path(call("/v1/weather"), ()) is None
    assert path_ids(call("/v1/weather")) == []


def test_an_id_that_an_answer_minted_must_match_itself() -> None:
    """Also where it stands in a name or an address."""
    told = [
        exchange("/v1/files", {"data": [{"id": "file-1"}, {"name": "files/file-2"}]}),
        exchange("/v1/files/file-1"),
        exchange("/v1/files/file-2"),
    ]

    assert fixed_ids(told) == {"file-1", "file-2"}


def test_ids_that_were_there_before_are_told_from_each_other() -> None:
    """Two files of the agent's settings are two files; one may be another the next time."""
    two = [exchange("/v1/files/file-a"), exchange("/v1/files/file-b")]

    assert fixed_ids(two) == {"file-a", "file-b"}
    assert fixed_ids(two[:1]) == set()
    assert fixed_ids([exchange("/v1/models")]) == set()

"""Exact leaves go through `raw`, marker-like keys are escaped."""

import pytest

from mcprec_addon.cassette.exact import escaped, unescaped, with_raw, without_raw
from mcprec_addon.cassette.fields import RecordProblemError
from mcprec_addon.exchange import Json, Number, Opaque, Pairs
from mcprec_addon.jsonvalue import is_plain


@pytest.mark.parametrize(
    ("payload", "in_file"),
    [
        ("$part", "$$part"),
        ("$turns", "$$turns"),
        ("$blob", "$$blob"),
        ("$$part", "$$$part"),
        ("$parts", "$parts"),
        ("part", "part"),
        ("$token", "$token"),
        ("a$part", "a$part"),
        ("$part\n", "$part\n"),
    ],
)
def test_marker_like_keys_get_one_more_sign(payload: str, in_file: str) -> None:
    """A tool may well have an argument of that name."""
    value: Json = [{"deep": {payload: 1}}, Pairs(((payload, 1), (payload, 2)))]

    written = escaped(value)

    assert written == [{"deep": {in_file: 1}}, Pairs(((in_file, 1), (in_file, 2)))]
    assert unescaped(written) == value


def test_blob_references_are_left_for_their_reader() -> None:
    """One dollar sign is the marker itself, not a key of the payload."""
    reference: Json = {"$blob": "sha256:00", "bytes": 9}

    assert unescaped(reference) == reference


def test_plain_records_have_no_raw() -> None:
    """Almost every line is JSON that any tool can read."""
    record: dict[str, Json] = {"args": {"a": 275.0}}

    assert with_raw(record) is record


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": Number("1e400")}, '{"a":1e400}'),
        ({"a": Number("0.10000000000000001")}, '{"a":0.10000000000000001}'),
        (Pairs((("a", 1), ("a", 2))), '{"a":1,"a":2}'),
        ({"a": "\ud800"}, '{"a":"\\ud800"}'),
        ([Number("NaN"), Number("-Infinity")], "[NaN,-Infinity]"),
        (Opaque("plain words"), "plain words"),
        (Opaque('{"a":1}\n{"a":2}\n'), '{"a":1}\n{"a":2}\n'),
    ],
)
def test_exact_members_stand_in_raw_as_text(value: Json, text: str) -> None:
    """The line stays strict JSON while the value keeps what JSON would lose."""
    record = with_raw({"seq": 1, "args": value})

    assert record == {"seq": 1, "raw": {"/args": text}}
    assert without_raw(record) == {"seq": 1, "args": value}


def test_bytes_stand_in_raw_as_base64() -> None:
    """A body that is not UTF-8 comes back to the byte."""
    record = with_raw({"body": Opaque(b"\xff\x00")})

    assert record == {"raw": {"/body": {"base64": "/wA="}}}
    assert without_raw(record) == {"body": Opaque(b"\xff\x00")}


@pytest.mark.parametrize("text", ["1", '{"a":1}\n', " null"])
def test_text_that_reads_as_json_stays_text(text: str) -> None:
    """A file of one line of JSON must not lose its line end, or become a value."""
    record = with_raw({"body": Opaque(text)})

    assert record == {"raw": {"/body": {"text": text}}}
    assert without_raw(record) == {"body": Opaque(text)}


def test_one_exact_event_leaves_the_others_readable() -> None:
    """A stream of a thousand events is not hidden in a string because of one."""
    odd: Json = {"at": 2, "message": {"n": Number("1e400")}}
    record = with_raw({"events": [{"at": 1}, odd]})

    assert record == {
        "events": [{"at": 1}, None],
        "raw": {"/events/1": '{"at":2,"message":{"n":1e400}}'},
    }
    assert without_raw(record) == {"events": [{"at": 1}, odd]}


def test_http_members_are_kept_apart() -> None:
    """The status of an answer stays in sight when its body is no text."""
    record = with_raw({"http": {"status": 502, "body": Opaque(b"\xff")}})

    assert record == {"http": {"status": 502}, "raw": {"/http/body": {"base64": "/w=="}}}
    assert without_raw(record) == {"http": {"status": 502, "body": Opaque(b"\xff")}}


def test_opaque_parts_of_a_multipart_body_are_moved_alone() -> None:
    """The names of an upload's parts are matched and read, its bytes are only kept."""
    request: Json = [{"name": "file", "content": Opaque(b"\xff")}, {"name": "n", "content": "1"}]
    record = with_raw({"request": request})

    assert record == {
        "request": [{"name": "file", "content": None}, {"name": "n", "content": "1"}],
        "raw": {"/request/0/content": {"base64": "/w=="}},
    }
    assert without_raw(record) == {"request": request}


def test_opaque_and_exact_leaves_live_in_one_member() -> None:
    """The text of the whole is put back before what stands inside it."""
    request: Json = [{"content": Opaque(b"\xff")}, {"content": Number("1e400")}]
    record = with_raw({"request": request})

    assert is_plain(record)
    assert without_raw(record) == {"request": request}


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ([], '"raw" must be an object'),
        ({"args": "1"}, "is no pointer"),
        ({"": "1"}, "an empty pointer"),
        ({"/args": 1}, '"raw" of /args must be a string'),
        ({"/args": {"base64": "?"}}, '"raw" of /args is no base64'),
        ({"/args": {"base64": "", "x": 1}}, '"raw" of /args must be a string'),
        ({"/seq/x": "1"}, '"raw" names /seq/x, which this record has no place for'),
        ({"/seq/x/y": "1"}, '"raw" names /seq/x/y'),
        ({"/events/7": "1"}, '"raw" names /events/7'),
        ({"/events/²": "1"}, '"raw" names /events/²'),
    ],
)
def test_a_wrong_raw_is_named(raw: Json, problem: str) -> None:
    """A hand edit of `raw` fails where it was made."""
    with pytest.raises(RecordProblemError) as caught:
        without_raw({"seq": 1, "events": [None], "raw": raw})

    assert problem in str(caught.value)

"""What a server asks outside of any call is kept with the client's answer."""

from mcprec_addon.exchange import Message
from mcprec_addon.record.questions import Questions
from mcprec_addon.record.recorder import Recorder
from tests.record.test_intake import Kept


def said(recorder: Recorder, request_id: int | None) -> Message:
    asked = {"method": "roots/list"} if request_id is None else {"id": request_id}
    return recorder.question("s", {"method": "roots/list", **asked})


def test_an_answer_stands_beside_its_question() -> None:
    """Ids are matched, and 0 is one like any other."""
    kept = Kept()
    recorder = Recorder(kept.append)
    questions = Questions(recorder)
    for request_id in (1, 0):
        questions.take(said(recorder, request_id))

    found = questions.answered(0, {"roots": []}), questions.answered(0, {}), kept.messages()
    questions.close()

    assert found[:2] == (True, False)
    assert [(each.id, each.answer) for each in kept.messages()] == [(0, {"roots": []}), (1, None)]


def test_what_asks_nothing_is_handed_on_at_once() -> None:
    """Nobody will answer a notification."""
    kept = Kept()
    recorder = Recorder(kept.append)

    Questions(recorder).take(said(recorder, None))

    assert [each.method for each in kept.messages()] == ["roots/list"]

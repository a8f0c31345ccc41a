"""What a server asks outside of any call, kept until its client has answered."""

from dataclasses import replace

from mcprec_addon.exchange import Json, Message
from mcprec_addon.record.recorder import Recorder


class Questions:
    """The open questions of one stream or pipe."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: list[Message] = []

    def take(self, message: Message) -> None:
        """Take what a server sent; what asks nothing is handed on at once."""
        if message.id is None:
            self._recorder.hand_on(message)
        else:
            self._open.append(message)

    def answered(self, request_id: Json, value: Json) -> bool:
        """Take a client's answer; return whether its question is one of these."""
        for message in self._open:
            if message.id == request_id:
                self._open.remove(message)
                self._recorder.hand_on(replace(message, answer=value))
                return True
        return False

    def close(self) -> None:
        """Hand on what nobody answered: the stream has ended."""
        for message in self._open:
            self._recorder.hand_on(message)
        self._open.clear()

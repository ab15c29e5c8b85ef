"""Messages read from their bytes: taking the fields of a parsed message one by one takes much longer.

For lists that may have tens of thousands of rows. The bytes must come from a message that was serialized:
then they are well formed, a field that is no list occurs once at most, and texts are UTF-8.
"""

from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.wire.encoding import GROUP, GROUP_END, LONGEST_VARINT, SIZED, skip, tag_of, varint, wire_type

_SECONDS: Final = tag_of(Timestamp, "seconds")
_NANOS: Final = tag_of(Timestamp, "nanos")
_ALL: Final = 1 << 64
"""Numbers below zero are written as what they are above this."""


class WireReader:
    """Goes through the fields of a message: the tag of each, and then what it holds."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._end = len(data)

    @property
    def at(self) -> int:
        """The position that is read next."""
        return self._at

    def between(self, start: int, end: int) -> bytes:
        """The bytes between two positions."""
        return self._data[start:end]

    def tag(self) -> int:
        """The tag of the next field; 0 at the end of the message."""
        return self.number() if self._at < self._end else 0

    def number(self) -> int:
        """A number, a bool or an enum."""
        at = self._at
        value = self._data[at]
        if value < 0x80:
            self._at = at + 1
            return value
        value, self._at = varint(self._data, at)
        return value if self._at - at < LONGEST_VARINT else value - _ALL

    def text(self) -> str:
        """A text, or one of a list of texts."""
        length = self.number()
        start = self._at
        self._at = start + length
        return self._data[start : self._at].decode()

    def enter(self) -> int:
        """Go into a message, or one of a list of messages. What this returns is for `leave`."""
        length, outer = self.number(), self._end
        self._end = self._at + length
        return outer

    def exit(self, outer: int) -> None:
        """Go on with the fields after the message that was entered, which was read to its end."""
        self._end = outer

    def moment(self) -> tuple[int, int]:
        """Seconds and nanoseconds of a timestamp."""
        seconds = nanos = 0
        outer = self.enter()
        while tag := self.tag():
            if tag == _SECONDS:
                seconds = self.number()
            elif tag == _NANOS:
                nanos = self.number()
            else:
                self.skip(tag)
        self.exit(outer)
        return seconds, nanos

    def skip(self, tag: int) -> None:
        """Pass over a field that begins with this tag."""
        kind = wire_type(tag)
        if kind == SIZED:
            length = self.number()
            self._at += length
        elif kind == GROUP:
            while wire_type(inner := self.tag()) != GROUP_END:
                self.skip(inner)
        else:
            self._at = skip(self._data, self._at, kind)

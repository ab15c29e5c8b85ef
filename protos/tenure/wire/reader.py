"""Read messages from their bytes, field by field.

A list can have tens of thousands of rows. Reading their bytes is much faster than accessing the fields of
parsed messages. The bytes must come from the protobuf serializer: then they are well formed, a field that is
not a list occurs at most once, and texts are UTF-8.
"""

from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.wire.encoding import GROUP, GROUP_END, LONGEST_VARINT, SIZED, skip, tag_of, varint, wire_type

_SECONDS: Final = tag_of(Timestamp, "seconds")
_NANOS: Final = tag_of(Timestamp, "nanos")
_ALL: Final = 1 << 64
"""A negative number is written as the number plus this."""


class WireReader:
    """Reads the fields of a message in order: a tag, then its value."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._end = len(data)

    @property
    def at(self) -> int:
        """Position of the next byte."""
        return self._at

    def between(self, start: int, end: int) -> bytes:
        """Bytes between two positions."""
        return self._data[start:end]

    def tag(self) -> int:
        """Tag of the next field; 0 at the end of the message."""
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
        """A text, or one element of a list of texts."""
        length = self.number()
        start = self._at
        self._at = start + length
        return self._data[start : self._at].decode()

    def enter(self) -> int:
        """Enter a message, or one element of a list of messages. Returns the argument of `exit`."""
        length, outer = self.number(), self._end
        self._end = self._at + length
        return outer

    def exit(self, outer: int) -> None:
        """Leave a message that was read to its end; continue with the next field of the outer message."""
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
        """Skip the value of a field with this tag."""
        kind = wire_type(tag)
        if kind == SIZED:
            length = self.number()
            self._at += length
        elif kind == GROUP:
            while wire_type(inner := self.tag()) != GROUP_END:
                self.skip(inner)
        else:
            self._at = skip(self._data, self._at, kind)

"""A question with a snapshot, in bytes: in a message the snapshot would be a copy, which takes longer.

Messages written as bytes, and parsed as a whole: setting their fields one by one takes much longer.

For lists that may have tens of thousands of rows, whose messages are nearly all of an answer. A field is its
tag and then what it holds: a number, a text or a message. One that is empty or zero may be written all the
same: where the contract does not tell that from unset, neither does the parser.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.encoding import tag_of

_ALL: Final = 1 << 64
"""Numbers below zero are written as what they are below this."""
_USUAL: Final = 1 << 10
"""Most numbers are below this: enums, counts, and lengths of texts and rows."""


def number(value: int) -> bytes:
    """A number, a bool or an enum."""
    return _USUAL_NUMBERS[value] if 0 <= value < _USUAL else _varint(value)


def _varint(value: int) -> bytes:
    """Seven bits in each byte, the lowest first; all but the last have the eighth bit set."""
    rest = value if value >= 0 else value + _ALL
    written: list[int] = []
    while rest >= 0x80:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


_USUAL_NUMBERS: Final = [_varint(value) for value in range(_USUAL)]


def text(value: str) -> bytes:
    """A text, or one of a list of texts."""
    content = value.encode()
    return number(len(content)) + content


def message(fields: Sequence[bytes]) -> bytes:
    """A message, or one of a list of messages, given as tags and what the fields hold."""
    content = b"".join(fields)
    return number(len(content)) + content


def serialize_message(filled: Message) -> bytes:
    """The same of a message that was filled in."""
    content = filled.SerializeToString()
    return number(len(content)) + content


def moment(nanoseconds: int) -> bytes:
    """The timestamp of a moment."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return message([_SECONDS, number(seconds), _NANOS, number(nanos)])


def tag(kind: type[Message], field: str) -> bytes:
    """What a field of such messages begins with. Lists of numbers have none: they are written together."""
    return number(tag_of(kind, field))


_SECONDS: Final = tag(Timestamp, "seconds")
_NANOS: Final = tag(Timestamp, "nanos")

_SNAPSHOT: Final = tag(DecideRequest, "snapshot")


def encode_decide_request(snapshot: ClusterSnapshot, actions: Iterable[str]) -> bytes:
    """What a DecideRequest with this snapshot and these actions is on the wire."""
    content = snapshot.SerializeToString()
    rest = DecideRequest(actions=actions).SerializeToString()
    return b"".join((_SNAPSHOT, number(len(content)), content, rest))

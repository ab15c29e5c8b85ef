"""Write messages as bytes, field by field.

A response can have tens of thousands of rows. Writing them as bytes is much faster than filling message
objects and serializing those.

A field is its tag followed by its value: a number, a text or a message. The bytes are the same as those of
the protobuf serializer if a caller writes fields in the order of their numbers and leaves out defaults with
`scalar`. Fields with presence (messages, members of a oneof, elements of a list) are written even if empty.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.terms.durations import SECOND
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.encoding import tag_of

_RANGE: Final = 1 << 64
"""A negative number is written as the number plus this."""
_SMALL: Final = 1 << 10
"""Most numbers are below this: enums, counts, and lengths of texts and rows."""


def number(value: int) -> bytes:
    """Write a number, a bool or an enum."""
    return _SMALL_NUMBERS[value] if 0 <= value < _SMALL else _varint(value)


def _varint(value: int) -> bytes:
    """Seven bits per byte, lowest first; all bytes but the last have the eighth bit set."""
    rest = value if value >= 0 else value + _RANGE
    written: list[int] = []
    while rest >= 0x80:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


_SMALL_NUMBERS: Final = [_varint(value) for value in range(_SMALL)]
_DEFAULT: Final = _varint(0)
"""The number 0, False, and the empty text."""


def text(value: str) -> bytes:
    """Write a text, or one element of a list of texts."""
    content = value.encode()
    return number(len(content)) + content


def scalar(tag: bytes, value: bytes) -> bytes:
    """Write a field with a number or a text; nothing if it has the default value."""
    return b"" if value == _DEFAULT else tag + value


def message(fields: Sequence[bytes]) -> bytes:
    """Write a message, or one element of a list of messages, from tags and values of its fields."""
    content = b"".join(fields)
    return number(len(content)) + content


def serialize_message(filled: Message) -> bytes:
    """Write a message object. Equal objects give equal bytes, whatever the order of their maps."""
    content = filled.SerializeToString(deterministic=True)
    return number(len(content)) + content


def moment(nanoseconds: int) -> bytes:
    """Write a timestamp."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    return message([scalar(_SECONDS, number(seconds)), scalar(_NANOS, number(nanos))])


def tag(kind: type[Message], field: str) -> bytes:
    """Tag of a field. Lists of numbers have another tag: they are packed."""
    return number(tag_of(kind, field))


_SECONDS: Final = tag(Timestamp, "seconds")
_NANOS: Final = tag(Timestamp, "nanos")

_SNAPSHOT: Final = tag(DecideRequest, "snapshot")


def encode_decide_request(
    snapshot: ClusterSnapshot, actions: Iterable[str], include_pod_group_statuses: bool = False
) -> bytes:
    """A serialized DecideRequest. In a message object, the snapshot would have to be copied."""
    content = snapshot.SerializeToString()
    rest = DecideRequest(
        actions=actions, include_pod_group_statuses=include_pod_group_statuses
    ).SerializeToString()
    return b"".join((_SNAPSHOT, number(len(content)), content, rest))

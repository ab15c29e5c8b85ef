"""Wire format of protobuf, as far as is necessary to skip from field to field.

A field begins with a tag: its number and its wire type.
"""

from typing import Final, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

VARINT: Final = 0
"""A number, a bool or an enum: seven bits in each byte, the last byte without the eighth bit."""
FIXED64: Final = 1
SIZED: Final = 2
"""A text, a message or a packed list, preceded by its length in bytes."""
GROUP: Final = 3
GROUP_END: Final = 4
"""Fields between two tags. The contract has no such fields, but unknown fields can be."""
FIXED32: Final = 5

LONGEST_VARINT: Final = 10
"""Length in bytes of negative numbers, and of no others."""
_PIECE: Final = 2**16
_CONTINUED: Final = bytes(range(0x80, 0x100))


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Number at a position, and the position after it."""
    value = 0
    for shift in range(0, 7 * LONGEST_VARINT, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise malformed()


def skip(data: bytes, at: int, wire_type: int) -> int:
    """Position after a value that is not a text, a message or a packed list."""
    match wire_type:
        case 0:
            while data[at] >= 0x80:
                at += 1
            return at + 1
        case 1:
            return at + 8
        case 5:
            return at + 4
    raise malformed()


def text_of(data: bytes, number: int) -> str:
    """Last text with this field number in a message, as far as the message is well formed."""
    text, at = b"", 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            if tag & 7 != SIZED:
                at = skip(data, at, tag & 7)
                continue
            length, at = varint(data, at)
            at += length
            if tag >> 3 == number:
                text = data[at - length : at]
    except (IndexError, DecodeError):
        pass
    return text.decode("utf-8", "replace")


def packed_length(data: bytes, start: int, stop: int) -> int:
    """Length of a packed list of varints. Each varint has one byte below 128, its last."""
    return count_others(data, start, stop, _CONTINUED)


def count_others(data: bytes, start: int, stop: int, values: bytes) -> int:
    """Number of bytes between two positions that have none of these values."""
    return sum(
        [len(data[at : min(at + _PIECE, stop)].translate(None, values)) for at in range(start, stop, _PIECE)]
    )


def malformed() -> DecodeError:
    """Error of the parser, for bytes that the parser would reject too."""
    return DecodeError("the bytes are no message")


def tag_of(kind: type[Message], field: str) -> int:
    """Tag of a field that is a text, a message, a varint, or a list of texts or messages."""
    found = cast(Descriptor, kind.DESCRIPTOR).fields_by_name[field]
    is_sized = found.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE)
    return found.number << 3 | (SIZED if is_sized else VARINT)


def wire_type(tag: int) -> int:
    """Wire type of a tag."""
    return tag & 0x7

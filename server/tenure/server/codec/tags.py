"""Tags, with which fields begin: the number of the field, and how what it holds is written."""

from typing import Final, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

VARINT: Final = 0
"""A number, a bool or an enum: seven bits in each byte, the last byte without the eighth bit."""
FIXED64: Final = 1
SIZED: Final = 2
"""A text or a message: its length in bytes goes before it."""
GROUP: Final = 3
GROUP_END: Final = 4
"""Fields between two tags: no field of the contract, but an unknown one may be such."""
FIXED32: Final = 5


def tag_of(kind: type[Message], field: str) -> int:
    """The tag of a field that is a text, a message, a varint, or a list of texts or messages."""
    found = cast(Descriptor, kind.DESCRIPTOR).fields_by_name[field]
    is_sized = found.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_MESSAGE)
    return found.number << 3 | (SIZED if is_sized else VARINT)


def wire_type(tag: int) -> int:
    """How what a field holds is written."""
    return tag & 0x7

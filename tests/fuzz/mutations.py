"""Mutations of messages: random changes of their bytes, and harmful values in their fields."""

import math
from random import Random
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_INTERESTING: Final = bytes((0x00, 0x01, 0x7F, 0x80, 0xFF, 0x0A, 0x12, 0x08))
_INTEGERS: Final = (
    0,
    1,
    -1,
    2,
    99,
    999,
    1000,
    1001,
    2**31 - 1,
    -(2**31),
    2**53,
    2**53 + 1,
    2**62,
    2**63 - 1,
    -(2**63),
)
_FLOATS: Final = (0.0, -0.0, -1.0, 0.5, 1e9, 1e308, -1e308, math.inf, -math.inf, math.nan)
_TEXTS: Final = (
    *("", "n1", "gpu", "runs", "waits", "left", "top", "rack", "racks", "c", "x-0", "default", "all"),
    *("x" * 253, "x" * 254, "x" * 5000, "a\nb\x1b[31m", "\u202e", "../../etc", "\x00", "漢" * 100),
    *("-1h", "1y", "9e99s", "1w", "2300-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"),
    *("preempt", "reclaim", "nvidia.com/mig-1g.5gb"),
)
_BITS: Final = {FieldDescriptor.CPPTYPE_INT32: 31, FieldDescriptor.CPPTYPE_INT64: 63}


def mutate_bytes(content: bytes, random: Random) -> bytes:
    """Apply one to four changes to the bytes: flip, overwrite, cut out, repeat, insert or truncate."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        at, length = random.randrange(len(data) + 1), random.randint(1, 16)
        match random.randrange(7):
            case 0 if at < len(data):
                data[at] ^= 1 << random.randrange(8)
            case 1 if at < len(data):
                data[at] = random.choice(_INTERESTING)
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length]
            case 4:
                data[at:at] = random.randbytes(length)
            case 5:
                del data[at:]
            case 6:
                start = random.randrange(len(data) + 1)
                data[at:at] = data[start : start + random.randint(1, 200)]
    return bytes(data)


def mutate_fields(message: Message, random: Random) -> None:
    """Apply one to six changes, in place, to fields anywhere in a message."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        _change(_random_submessage(message, random), random)


def _random_submessage(message: Message, random: Random) -> Message:
    """Return the message itself or, with a probability of 80 % on each level, a nested message."""
    inner = [value for field, values in message.ListFields() for value in _messages(field, values)]
    return _random_submessage(random.choice(inner), random) if inner and random.random() < 0.8 else message


def _messages(field: FieldDescriptor, values: Any) -> list[Message]:
    if field.message_type is None or field.message_type.GetOptions().map_entry:
        return []
    return list(values) if field.is_repeated else [values]


def _change(message: Message, random: Random) -> None:
    field = random.choice(message.DESCRIPTOR.fields) if message.DESCRIPTOR.fields else None
    if field is None:
        return
    if random.random() < 0.15:
        message.ClearField(field.name)
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        _change_map(message, field, random)
    elif field.is_repeated:
        _change_list(getattr(message, field.name), field, random)
    elif field.message_type is not None:
        getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, _value(field, random))


def _change_map(message: Message, field: FieldDescriptor, random: Random) -> None:
    key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
    getattr(message, field.name)[_value(key, random)] = _value(value, random)


def _change_list(values: Any, field: FieldDescriptor, random: Random) -> None:
    if values and random.random() < 0.5:
        at = random.randrange(len(values))
        if random.random() < 0.5:
            del values[at]
        else:
            values.append(values[at])
    elif field.message_type is not None:
        values.add()
    else:
        values.append(_value(field, random))


def _value(field: FieldDescriptor, random: Random) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return random.randbytes(random.randint(0, 20))
        case FieldDescriptor.CPPTYPE_STRING:
            return random.choice(_TEXTS)
        case FieldDescriptor.CPPTYPE_BOOL:
            return random.random() < 0.5
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return random.choice(_FLOATS)
        case FieldDescriptor.CPPTYPE_ENUM:
            return random.choice((*range(14), 99, -1))
        case FieldDescriptor.CPPTYPE_UINT32 | FieldDescriptor.CPPTYPE_UINT64:
            return random.choice((0, 1, 2, 3, 99, 2**32 - 1))
    bits = _BITS[field.cpp_type]
    return random.choice([number for number in _INTEGERS if -(2**bits) <= number < 2**bits])

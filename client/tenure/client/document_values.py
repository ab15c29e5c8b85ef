"""Values of documents as people write them: durations such as `10m`, enum values without their prefix.

`with_proto_values` converts them to protobuf's JSON mapping, or raises ParseError: protobuf's own parser of
durations takes what is none, such as `1_000s`. It leaves alone other values that it cannot read: protobuf
rejects them. `value_problem` says why.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.json_format import ParseError
from tenure.terms.durations import SECOND, parse_signed_duration
from tenure.terms.formatting import known_names_hint

_DURATION: Final = "google.protobuf.Duration"


class _Field(NamedTuple):
    """A field whose values are converted, and the conversion of one value."""

    is_repeated: bool
    convert: Callable[[Any], Any]


def with_proto_values(document: Mapping[str, Any], message: Descriptor) -> dict[str, Any]:
    """A document of a message in which durations and enum values are as protobuf writes them."""
    fields = _fields(message)
    return {key: _converted(value, fields.get(key)) for key, value in document.items()}


def own_message(field: FieldDescriptor) -> Descriptor | None:
    """Message type of a field's value; None for scalars, maps, times and durations."""
    message = field.message_type
    if message is None or message.GetOptions().map_entry or message.file.package != "tenure.v1":
        return None
    return message


def value_problem(value: object, field: FieldDescriptor) -> str:
    """Why a value of a duration or an enum is invalid; empty for a valid one and for other fields."""
    if value is None:
        return ""
    if _is_duration(field):
        return _duration_problem(value)
    if field.enum_type is not None:
        values = value if field.is_repeated and isinstance(value, list) else [value]
        return next(filter(None, (_enum_problem(each, field.enum_type) for each in values)), "")
    return ""


def _converted(value: object, field: _Field | None) -> object:
    if field is None:
        return value
    if field.is_repeated:
        return [field.convert(each) for each in value] if isinstance(value, list) else value
    return field.convert(value)


@lru_cache
def _fields(message: Descriptor) -> dict[object, _Field]:
    """Fields to convert by both of their names."""
    found: dict[object, _Field] = {}
    for field in message.fields:
        convert = _conversion(field)
        if convert is not None:
            found[field.name] = found[field.json_name] = _Field(field.is_repeated, convert)
    return found


def _conversion(field: FieldDescriptor) -> Callable[[Any], Any] | None:
    if field.enum_type is not None:
        names = _enum_names(field.enum_type)
        return lambda value: names.get(_plain(value), value) if isinstance(value, str) else value
    if _is_duration(field):
        return _proto_duration
    inner = own_message(field)
    if inner is None:
        return None
    return lambda value: with_proto_values(value, inner) if isinstance(value, Mapping) else value


def _is_duration(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name == _DURATION


def _proto_duration(value: object) -> object:
    """Seconds with up to nine decimals: `600s`, `-0.500000000s`."""
    if not isinstance(value, str):
        return value
    try:
        nanoseconds = parse_signed_duration(value)
    except ValueError as error:
        raise ParseError(str(error)) from None
    seconds, rest = divmod(abs(nanoseconds), SECOND)
    fraction = f".{rest:09}" if rest else ""
    return f"{'-' if nanoseconds < 0 else ''}{seconds}{fraction}s"


def _duration_problem(value: object) -> str:
    try:
        parse_signed_duration(value if isinstance(value, str) else str(value))
    except ValueError as error:
        return str(error)
    return ""


@lru_cache
def _enum_names(enum: EnumDescriptor) -> dict[str, str]:
    """Full names by what people may write, in lower case without separators."""
    prefix = _prefix(enum)
    full = {_plain(value.name): value.name for value in enum.values}
    return {_plain(value.name.removeprefix(prefix)): value.name for value in enum.values} | full


def _enum_problem(value: object, enum: EnumDescriptor) -> str:
    if not isinstance(value, str) or value.lstrip("-").isdecimal() or _plain(value) in _enum_names(enum):
        return ""
    known = [each.name.removeprefix(_prefix(enum)) for each in enum.values[1:]]
    return f"{value!r} is not a {enum.name}; {known_names_hint(value.upper(), known)}"


def _prefix(enum: EnumDescriptor) -> str:
    """Prefix of all values: `POD_STATUS_`."""
    return enum.values[0].name.removesuffix("UNSPECIFIED")


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")

"""Why a document is not a message: every fault with its path.

protobuf's own parser stops at the first fault and often does not say where it is. This is asked only when
that parser has refused a document.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message_factory import GetMessageClass

_WHERE_IT_WAS: Final = re.compile(r"^(Failed to parse \S+ field: )+| at [A-Za-z]\w*(\.[\w\[\]]+)*\.*$|\.+$")


def find_faults(document: object, message: Descriptor, path: str = "") -> Iterator[str]:
    """The faults of a document as `path: what is wrong`, in the order of the document."""
    if not isinstance(document, Mapping):
        if path:
            yield f"{path}: must be a mapping from fields to values"
        return
    fields = {name: field for field in message.fields for name in (field.name, field.json_name)}
    for key, value in document.items():
        where = f"{path}.{key}" if path else f"{key}"
        field = fields.get(key)
        if field is None:
            yield f"{where}: unknown field of {message.name}{_hint(str(key), message)}"
        elif (inner := _own_message(field)) is not None:
            yield from _inside(value, inner, field.is_repeated, where)
        elif problem := _problem(key, value, message):
            yield f"{where}: {problem}"


def _inside(value: object, message: Descriptor, is_repeated: bool, where: str) -> Iterator[str]:
    if value is None:
        return
    if not is_repeated:
        yield from find_faults(value, message, where)
    elif isinstance(value, list):
        for i, element in enumerate(value):
            yield from find_faults(element, message, f"{where}[{i}]")
    else:
        yield f"{where}: must be a list"


def _own_message(field: FieldDescriptor) -> Descriptor | None:
    """The message its value is written as; None for scalars, maps, times and durations."""
    message = field.message_type
    if message is None or message.GetOptions().map_entry or message.file.package != "tenure.v1":
        return None
    return message


def _problem(key: str, value: object, message: Descriptor) -> str:
    """What protobuf says about one field by itself; empty when it likes it."""
    try:
        ParseDict({key: value}, GetMessageClass(message)())
    except ParseError as error:
        return _without_place(str(error))
    return ""


def _without_place(text: str) -> str:
    """A parser's message without its idea of the place, which is relative to the one field it saw."""
    while (shorter := _WHERE_IT_WAS.sub("", text)) != text:
        text = shorter
    return text


def _hint(name: str, message: Descriptor) -> str:
    known = [field.name for field in message.fields]
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(known)}"

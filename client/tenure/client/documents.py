"""Why a document is not a message: every fault with its path.

protobuf's own parser stops at the first fault and often does not say where it is. This is asked only when
that parser has refused a document.

JSON and YAML texts to documents: mappings, lists and scalars.

In YAML only `null`, `true` and `false` are more than text: a time, a label `on` and the digits of a number
stay what was written, and protobuf makes of them what the field wants. Anchors and merge keys work. Keys that
occur twice are refused in both.
"""

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

import yaml
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message_factory import GetMessageClass

_SPECIAL: Final = {"bool": r"true|false", "null": r"null|~|", "merge": r"<<"}

_MAX_DEPTH: Final = 100
"""Deepest nesting of a YAML text; a snapshot needs about ten."""


class DocumentSyntaxError(ValueError):
    """A text that is not JSON or YAML. Names line and column where there are any."""


def parse_json(text: str) -> object:
    """The document in a JSON text. Raises DocumentSyntaxError."""
    try:
        return json.loads(text, object_pairs_hook=_reject_duplicate_keys)
    except json.JSONDecodeError as error:
        raise DocumentSyntaxError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise DocumentSyntaxError("nested too deeply") from None


def parse_yaml(text: str) -> object:
    """The document in a YAML text. Raises DocumentSyntaxError."""
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (it builds what JSON can say, and nothing else)
    except yaml.MarkedYAMLError as error:
        raise DocumentSyntaxError(f"{_place(error.problem_mark)}{error.problem}") from None
    except yaml.YAMLError as error:
        raise DocumentSyntaxError(str(error).partition("\n")[0]) from None


def _check_depth(text: str) -> None:
    """Refuse what is nested so deeply that the parser written in C would run out of stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise DocumentSyntaxError(f"{_place(event.start_mark)}nested too deeply")


def _place(mark: "yaml.Mark | yaml._yaml.Mark | None") -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for position, key in enumerate(keys) if key in keys[:position])
        raise DocumentSyntaxError(f"the key {repeated!r} occurs twice in one object")
    return mapping


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe YAML with few kinds of scalar. Written in C where PyYAML was built so, ten times faster."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
            if key.value in seen:
                problem = f"the key {key.value!r} occurs twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]


for _name, _pattern in _SPECIAL.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), None)


_POSITION: Final = re.compile(r"^(Failed to parse \S+ field: )+| at [A-Za-z]\w*(\.[\w\[\]]+)*\.*$|\.+$")


def find_errors(document: object, message: Descriptor, path: str = "") -> Iterator[str]:
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
        yield from find_errors(value, message, where)
    elif isinstance(value, list):
        for i, element in enumerate(value):
            yield from find_errors(element, message, f"{where}[{i}]")
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
        return _strip_position(str(error))
    return ""


def _strip_position(text: str) -> str:
    """A parser's message without its idea of the place, which is relative to the one field it saw."""
    while (shorter := _POSITION.sub("", text)) != text:
        text = shorter
    return text


def _hint(name: str, message: Descriptor) -> str:
    known = [field.name for field in message.fields]
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(known)}"

"""Parse JSON and YAML documents, and find all errors of a document that is not a valid message.

In YAML, only `null`, `true` and `false` are special: times, a label `on` and digits remain text, which
protobuf converts as the field requires. Anchors and merge keys work; what they add is limited. Duplicate keys
are rejected in both formats.

The parser stops at the first error, often without a position. `find_errors` runs only after it has rejected a
document.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml
from google.protobuf.descriptor import Descriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message_factory import GetMessageClass
from tenure.client.document_values import own_message, value_problem, with_proto_values
from tenure.terms.formatting import known_names_hint
from tenure.wire.yaml_limits import limit_events

_SPECIAL: Final = {"bool": r"true|false", "null": r"null|~|", "merge": r"<<"}


class DocumentSyntaxError(ValueError):
    """A text is not valid JSON or YAML. The message has line and column, if known."""


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
        for _ in limit_events(yaml.parse(text, Loader=_Loader)):
            pass
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (it builds what JSON can say, and nothing else)
    except yaml.MarkedYAMLError as error:
        raise DocumentSyntaxError(f"{_place(error.problem_mark)}{error.problem}") from None
    except yaml.YAMLError as error:
        raise DocumentSyntaxError(str(error).partition("\n")[0]) from None


def _place(mark: "yaml.Mark | yaml._yaml.Mark | None") -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""


def _reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DocumentSyntaxError(f"the key {key!r} occurs twice in one object")
            seen.add(key)
    return mapping


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe YAML loader with few kinds of scalars. Uses the C loader if available, ten times faster."""

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
    """Errors of a document as `path: error`, in document order."""
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
        elif (inner := own_message(field)) is not None:
            yield from _inside(value, inner, field.is_repeated, where)
        elif found := value_problem(value, field) or _parse_problem(key, value, message):
            yield f"{where}: {found}"


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


def _parse_problem(key: str, value: object, message: Descriptor) -> str:
    """protobuf's error for one field on its own; empty if valid."""
    try:
        ParseDict(with_proto_values({key: value}, message), GetMessageClass(message)())
    except ParseError as error:
        return _strip_position(str(error))
    return ""


def _strip_position(text: str) -> str:
    """Remove the position from a parser's message: it is relative to the single field."""
    while (shorter := _POSITION.sub("", text)) != text:
        text = shorter
    return text


def _hint(name: str, message: Descriptor) -> str:
    return f"; {known_names_hint(name, [field.name for field in message.fields])}"

"""JSON and YAML texts to documents: mappings, lists and scalars.

In YAML only `null`, `true` and `false` are more than text: a time, a label `on` and the digits of a number
stay what was written, and protobuf makes of them what the field wants. Anchors and merge keys work. Keys that
occur twice are refused in both.
"""

import json
import re
from typing import Any, Final

import yaml

_SPECIAL: Final = {"bool": r"true|false", "null": r"null|~|", "merge": r"<<"}

_MAX_DEPTH: Final = 100
"""Deepest nesting of a YAML text; a snapshot needs about ten."""


class SyntaxFault(ValueError):
    """A text that is not JSON or YAML. Names line and column where there are any."""


def parse_json(text: str) -> object:
    """The document in a JSON text. Raises SyntaxFault."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise SyntaxFault(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise SyntaxFault("nested too deeply") from None


def parse_yaml(text: str) -> object:
    """The document in a YAML text. Raises SyntaxFault."""
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (it builds what JSON can say, and nothing else)
    except yaml.MarkedYAMLError as error:
        raise SyntaxFault(f"{_place(error.problem_mark)}{error.problem}") from None
    except yaml.YAMLError as error:
        raise SyntaxFault(str(error).partition("\n")[0]) from None


def _check_depth(text: str) -> None:
    """Refuse what is nested so deeply that the parser written in C would run out of stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise SyntaxFault(f"{_place(event.start_mark)}nested too deeply")


def _place(mark: "yaml.Mark | yaml._yaml.Mark | None") -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for position, key in enumerate(keys) if key in keys[:position])
        raise SyntaxFault(f"the key {repeated!r} occurs twice in one object")
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

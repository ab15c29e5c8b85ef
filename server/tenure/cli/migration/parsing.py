"""Parse manifests to trees: the documents of a YAML stream, or one JSON document.

The YAML parser reads JSON too, because it reports positions, after the JSON parser has accepted it.
Characters that JSON allows and YAML does not are replaced by others of the same length.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

import yaml
from tenure.cli.migration.syntax_tree import MappingNode, Node, ScalarNode, SequenceNode
from tenure.wire.yaml_limits import limit_events

_Loader: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE: Final = yaml.reader.Reader.NON_PRINTABLE
_ODD_LINE_END: Final = re.compile(r"[\x85\u2028\u2029]")
_ESCAPE: Final = re.compile(r"\\(?:(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


class ManifestSyntaxError(ValueError):
    """A text cannot be parsed. Has the line and column, counted from one."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"{line}:{column}: {problem}")
        self.line = line


def parse_yaml(text: str) -> list[Node]:
    """Documents of a stream, including empty ones. Raises ManifestSyntaxError."""
    if found := _UNPRINTABLE.search(text):
        raise _error_at(text, found.start(), f"the character {found[0]!a} must be escaped")
    try:
        return _documents(limit_events(yaml.parse(text, Loader=_Loader)))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        raise ManifestSyntaxError(line + 1, column + 1, error.problem or "is not YAML") from None


def parse_json(text: str) -> list[Node]:
    """Document of a JSON text. Raises ManifestSyntaxError."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise ManifestSyntaxError(error.lineno, error.colno, error.msg) from None
    except RecursionError:
        raise ManifestSyntaxError(1, 1, "nested too deeply") from None
    return parse_yaml(_as_yaml(text))


def _as_yaml(text: str) -> str:
    """JSON text as YAML of equal structure and positions, without surrogates, unusual line ends and tabs."""
    escaped = _ESCAPE.sub(lambda escape: r"\u003f" if escape[1] else escape[0], text)
    return _UNPRINTABLE.sub("?", _ODD_LINE_END.sub("?", escaped).replace("\t", " "))


def _error_at(text: str, position: int, problem: str) -> ManifestSyntaxError:
    before = text[:position]
    return ManifestSyntaxError(before.count("\n") + 1, position - before.rfind("\n"), problem)


def _documents(events: "Iterator[yaml.Event]") -> list[Node]:
    return [_Builder(events).build() for event in events if isinstance(event, yaml.DocumentStartEvent)]


class _Builder:
    """Builds the tree of one document from parser events.

    Uses a stack instead of recursion, so that deep nesting is rejected without exhausting the interpreter
    stack.
    """

    def __init__(self, events: "Iterator[yaml.Event]") -> None:
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._open: list[tuple[MappingNode | SequenceNode, list[Node]]] = []

    def build(self) -> Node:
        """Root of the tree. Raises ManifestSyntaxError, or an error of the parser."""
        for event in self._events:
            if isinstance(event, yaml.CollectionStartEvent):
                self._enter(event)
                continue
            node = self._finished(event)
            if not self._open:
                return node
            self._open[-1][1].append(node)
        raise AssertionError("a document ends with its root")

    def _enter(self, event: "yaml.CollectionStartEvent") -> None:
        start, line, column = _place(event)
        node: MappingNode | SequenceNode = SequenceNode(start, line, column)
        if isinstance(event, yaml.MappingStartEvent):
            node = MappingNode(bool(event.flow_style), start, line, column)
        self._name(event, node)
        self._open.append((node, []))

    def _finished(self, event: "yaml.Event") -> Node:
        match event:
            case yaml.ScalarEvent():
                start, line, column = _place(event)
                scalar = ScalarNode(event.value, event.style or "", start, _end(event), line, column)
                self._name(event, scalar)
                return scalar
            case yaml.AliasEvent():
                return self._aliased(event)
        node, children = self._open.pop()
        node.end = _end(event)
        if isinstance(node, MappingNode):
            node.pairs = list(zip(children[::2], children[1::2], strict=True))
        else:
            node.items = children
        return node

    def _name(self, event: "yaml.NodeEvent", node: Node) -> None:
        if event.anchor:
            self._anchors[event.anchor] = node

    def _aliased(self, event: "yaml.AliasEvent") -> Node:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            _, line, column = _place(event)
            raise ManifestSyntaxError(
                line + 1, column + 1, f"no anchor &{event.anchor} is defined before this alias"
            )
        node.shared = True
        return node


def _place(event: "yaml.Event") -> tuple[int, int, int]:
    mark = event.start_mark
    assert mark is not None
    return mark.index, mark.line, mark.column


def _end(event: "yaml.Event") -> int:
    mark = event.end_mark
    assert mark is not None
    return mark.index

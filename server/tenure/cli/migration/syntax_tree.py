"""YAML and JSON as trees with the position of each node.

Manifests are edited as text, so that comments, quotes, indentation and line ends are preserved. This requires
positions, and knowledge of what an anchor shares.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

MERGE: Final = "<<"
"""Key of a YAML merge."""

_NULLS: Final = ("", "~", "null", "Null", "NULL")


@dataclass(slots=True, eq=False)
class ScalarNode:
    """One value. `start` and `end` are positions in the text; `line` and `column` count from zero."""

    text: str
    style: str
    """Style: `"`, `'`, `|`, `>`, or empty for a plain one."""
    start: int
    end: int
    line: int
    column: int
    shared: bool = False
    """Whether an alias refers to it: a change would affect several places."""

    @property
    def is_empty(self) -> bool:
        """Whether it is null or a blank text."""
        return not self.text.strip() or (not self.style and self.text in _NULLS)

    @property
    def is_block(self) -> bool:
        """Whether it is a block on the lines below its key."""
        return self.style in ("|", ">")


@dataclass(slots=True, eq=False)
class MappingNode:
    """Keys and values in text order; `flow`: in braces."""

    flow: bool
    start: int
    line: int
    column: int
    end: int = 0
    pairs: "list[tuple[Node, Node]]" = field(default_factory=list)
    shared: bool = False

    def own(self, key: str) -> "tuple[ScalarNode, Node] | None":
        """Key and value of an entry; of a duplicate key the last one."""
        for name, value in reversed(self.pairs):
            if isinstance(name, ScalarNode) and name.text == key:
                return name, value
        return None


@dataclass(slots=True, eq=False)
class SequenceNode:
    """Items in text order."""

    start: int
    line: int
    column: int
    end: int = 0
    items: "list[Node]" = field(default_factory=list)
    shared: bool = False


Node: TypeAlias = ScalarNode | MappingNode | SequenceNode


def lookup(node: Node | None, *path: str) -> Node | None:
    """Node at a path of keys, through merge keys; None if there is none."""
    for key in path:
        node = _member(node, key, frozenset())
    return node


def text_at(node: Node | None, *path: str) -> str:
    """Text at a path of keys; empty if there is none but blanks."""
    found = lookup(node, *path)
    return found.text if isinstance(found, ScalarNode) and not found.is_empty else ""


def walk(root: Node) -> Iterator[Node]:
    """The node and its descendants in text order, each once."""
    stack, seen = [root], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        match node:
            case MappingNode():
                stack.extend(value for _, value in reversed(node.pairs))
            case SequenceNode():
                stack.extend(reversed(node.items))


def _member(node: Node | None, key: str, seen: frozenset[int]) -> Node | None:
    if not isinstance(node, MappingNode) or id(node) in seen:
        return None
    if found := node.own(key):
        return found[1]
    if (merged := node.own(MERGE)) is None:
        return None
    sources = merged[1].items if isinstance(merged[1], SequenceNode) else [merged[1]]
    members = (_member(source, key, seen | {id(node)}) for source in sources)
    return next((member for member in members if member), None)

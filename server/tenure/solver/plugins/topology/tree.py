"""The tree of domains of one topology (semantics R9.20)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tenure.solver.model.node import Node


@dataclass(slots=True)
class Domain:
    """A set of nodes that share the label values of all levels down to `depth` (0 is the root)."""

    name: str
    depth: int
    nodes: int = 0
    children: dict[str, "Domain"] = field(default_factory=dict)

    def descendants(self) -> Iterator["Domain"]:
        """This domain and all below it, by name within each parent."""
        yield self
        for key in sorted(self.children):
            yield from self.children[key].descendants()


def build(levels: Sequence[str], nodes: Sequence[Node]) -> Domain:
    """The root domain; a node that lacks a label of any level is outside the topology."""
    root = Domain("", 0)
    for node in nodes:
        values = [node.labels.get(level) for level in levels]
        if None in values:
            continue
        domain = root
        domain.nodes |= 1 << node.index
        for depth, value in enumerate(values, start=1):
            name = f"{domain.name}.{value}" if domain.name else str(value)
            domain = domain.children.setdefault(name, Domain(name, depth))
            domain.nodes |= 1 << node.index
    return root

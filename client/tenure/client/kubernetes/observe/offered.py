"""Which resources nodes offer: what a snapshot names, of all that anybody may ask for.

A server refuses a snapshot of too many names. Nodes name few; pods may name anything, so of theirs only
what some node offers is told.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from tenure.client.kubernetes.observe.amounts import is_extended

MOST_NAMES: Final = 200
"""Kinds of resources that are told, of the 256 of a snapshot: it has four of its own, and device classes."""


class Offered:
    """Names of extended resources, by the nodes that have them."""

    def __init__(self) -> None:
        self._of_node: dict[str, frozenset[str]] = {}
        self._nodes: Counter[str] = Counter()
        """How many nodes have it."""
        self.names: frozenset[str] = frozenset()
        """All of them; where there are too many, the first in alphabetical order."""

    def put(self, node: str, resources: Iterable[str]) -> None:
        """The node has these resources from now on; none: it is gone, or of no account."""
        before = self._of_node.pop(node, frozenset())
        now = frozenset(filter(is_extended, resources))
        if now:
            self._of_node[node] = now
        self._nodes.update(now - before)
        self._nodes.subtract(before - now)
        for name in before - now:
            if not self._nodes[name]:
                del self._nodes[name]

    def settle(self) -> bool:
        """Bring `names` up to date; whether they are others than before."""
        before, self.names = self.names, frozenset(sorted(self._nodes)[:MOST_NAMES])
        return self.names != before

    @property
    def is_full(self) -> bool:
        """Whether some may be left out."""
        return len(self.names) == MOST_NAMES

"""Room on nodes that is taken by pods without a row: those of other schedulers, and those we cannot place.

It is taken off what their node offers, so that nobody is placed there, nobody is evicted to get it, and
queues do not share it (semantics R4.1).
"""

from collections.abc import Iterable

from tenure.client.kubernetes.observe.amounts import Amounts


class TakenRoom:
    """What is taken, by node and pod."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}
        """Name of the node of each pod."""
        self._amounts: dict[str, dict[str, Amounts]] = {}
        self._changed: set[str] = set()

    def put(self, uid: str, node: str, amounts: Amounts | None) -> None:
        """The pod takes this on the node from now on; None: it takes nothing anywhere."""
        before = self._nodes.get(uid)
        if before is not None and (
            amounts is None or before != node or self._amounts[before][uid] != amounts
        ):
            del self._nodes[uid], self._amounts[before][uid]
            self._changed.add(before)
            if not self._amounts[before]:
                del self._amounts[before]
        if amounts is not None and uid not in self._nodes:
            self._nodes[uid] = node
            self._amounts.setdefault(node, {})[uid] = amounts
            self._changed.add(node)

    def on(self, node: str) -> Iterable[Amounts]:
        """What each pod takes on a node."""
        return self._amounts.get(node, {}).values()

    def take_changes(self) -> set[str]:
        """Names of nodes where it changed since this was called last."""
        changes, self._changed = self._changed, set()
        return changes

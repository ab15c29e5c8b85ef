"""What things are called, and who may read it."""

import re
from typing import Final

from tenure.server.explain.text import Text, same
from tenure.solver.model.cluster import Cluster

_NAMELESS: Final = re.compile(r"(its own|default of|argument) [\w -]+|its priority -?\d+")
"""Sources of a guard's word that name nobody."""


class Names:
    """The nouns of an answer for the owner of one pod group."""

    def __init__(self, cluster: Cluster, own: int) -> None:
        self._cluster = cluster
        self.own = own
        queue = cluster.pod_groups[own].queue
        self._own_queues = () if queue is None else cluster.queues[queue].path

    def pod_group(self, index: int) -> Text:
        """`pod group NAME`; for all but operators, others are `another workload`."""
        group = self._cluster.pod_groups[index]
        if index == self.own:
            name = f"pod group {group.name}"
            in_queue = f"{name} (queue {group.queue_name})"
            return Text(name, in_queue, in_queue)
        mine = self._cluster.pod_groups[self.own].queue
        near = " of its queue" if group.queue is not None and group.queue == mine else ""
        other = f"another workload{near}"
        return Text(other, other, f"pod group {group.name} (queue {group.queue_name})")

    def queue(self, index: int) -> Text:
        """`queue NAME`, for the owner of the pod group if it is its own or above it."""
        name = f"queue {self._cluster.queues[index].name}"
        if index not in self._own_queues:
            return Text("another queue", "another queue", name)
        is_leaf = index == self._own_queues[-1]
        return Text("its queue" if is_leaf else "a queue above its own", name, name)

    def queue_named(self, name: str) -> Text:
        """The same by name."""
        known = next((q.index for q in self._cluster.queues if q.name == name), None)
        return Text("a queue", "a queue", f"queue {name}") if known is None else self.queue(known)

    def node(self, index: int) -> Text:
        """`node NAME`, for operators."""
        return Text("a node", "a node", f"node {self._cluster.nodes[index].name}")

    def source(self, source: str) -> Text:
        """Whose word a guard goes by."""
        if source.startswith("queue "):
            return self.queue_named(source.removeprefix("queue "))
        known = same(source) if _NAMELESS.fullmatch(source) else Text("a rule", "a rule", source)
        return known if source else same("a rule")

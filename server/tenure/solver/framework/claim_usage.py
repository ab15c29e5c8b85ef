"""Device claims that several tasks use: where they are in use, and what they take there (semantics R9.41).

A claim takes its devices from a node once, however many tasks use it. While a claim is in use, further tasks
with the claim must go to the same node. When all of its tasks terminate, its devices are being released, and
tasks can be pipelined with the claim on any node.
"""

from collections.abc import Iterable, Iterator, Sequence

from tenure.solver.framework.node_info import NodeInfo, SharedResource
from tenure.solver.model.claims import MAX_CONSUMERS, ResourceClaim
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import ALLOCATED, NOWHERE
from tenure.solver.model.workload_parts import TaskShape


class ClaimUsage:
    """Uses of every claim by node; keeps the free amounts of the nodes up to date."""

    def __init__(self, cluster: Cluster, node_infos: Sequence[NodeInfo]) -> None:
        self._claims = cluster.claims
        self._offers = [node.allocatable for node in cluster.nodes]
        self._node_infos = node_infos
        self._uses: list[dict[int, SharedResource]] = [{} for _ in cluster.claims]
        self._pod_groups: list[set[int]] = [set() for _ in cluster.claims]
        for task in cluster.tasks if cluster.claims else ():
            for index in task.shape.shared_claims:
                self._pod_groups[index].add(task.pod_group)
        for claim in cluster.claims:
            if claim.node != NOWHERE:
                self._charge_one(claim, claim.node, ALLOCATED, 1)

    def charge(self, shape: TaskShape, node: int, use: int, sign: int) -> None:
        """A task of this shape uses its claims on the node (or, with sign -1, no longer does)."""
        for index in shape.shared_claims:
            self._charge_one(self._claims[index], node, use, sign)

    def fits(self, shape: TaskShape, node: int, soon: bool) -> bool:
        """Whether the node can serve the shape's claims now, or `soon`, when terminating tasks are gone."""
        info, needed = self._node_infos[node], shape.request_vector.copy()
        for index in shape.shared_claims:
            if not self._has_consumer_slot(index, soon) or self._is_on_other_node(index, node, soon):
                return False
            if not self._serves(index, node, soon):
                for slot, amount in self._claims[index].amounts:
                    needed[slot] += amount
        return info.idle.cover_with(info.releasing, needed) if soon else info.idle.cover(needed)

    def is_active(self, index: int) -> bool:
        """Whether a task that is not terminating uses the claim."""
        return any(shared.active > 0 for shared in self._uses[index].values())

    def new_gpu_milli(self, shapes: Iterable[TaskShape]) -> int:
        """GPUs of claims that tasks of these shapes would be the first to use; each claim counts once."""
        claims = {index for shape in shapes for index in shape.shared_claims}
        return sum(self._claims[index].gpu_milli for index in claims if not self.is_active(index))

    def amounts(self, shape: TaskShape) -> Iterator[tuple[int, int]]:
        """Slots and amounts of all shared claims of a shape: the most that a further task can take."""
        return (pair for index in shape.shared_claims for pair in self._claims[index].amounts)

    def pod_groups(self, shape: TaskShape) -> Iterator[int]:
        """Pod groups that use any of the shape's claims."""
        return (group for index in shape.shared_claims for group in self._pod_groups[index])

    def _charge_one(self, claim: ResourceClaim, node: int, use: int, sign: int) -> None:
        uses, info = self._uses[claim.index], self._node_infos[node]
        shared = uses.setdefault(node, SharedResource())
        idle, releasing = shared.whole_devices()
        shared.charge(use, sign)
        idle_after, releasing_after = shared.whole_devices()
        for slot, amount in claim.amounts:
            if self._offers[node][slot] > 0:
                info.idle[slot] -= (idle_after - idle) * amount
                info.releasing[slot] += (releasing_after - releasing) * amount
        if shared.used == 0:
            del uses[node]

    def _has_consumer_slot(self, index: int, soon: bool) -> bool:
        claim = self._claims[index]
        others = claim.other_consumers - (claim.other_consumers > 0 and claim.node != NOWHERE)
        uses = self._uses[index].values()
        return others + sum(shared.active if soon else shared.used for shared in uses) < MAX_CONSUMERS

    def _is_on_other_node(self, index: int, node: int, soon: bool) -> bool:
        """Whether the claim is in use on another node (with `soon`, by a task that does not terminate)."""
        uses = self._uses[index].items()
        return any(other != node and not (soon and shared.is_releasing) for other, shared in uses)

    def _serves(self, index: int, node: int, soon: bool) -> bool:
        """Whether the claim has devices on the node that a further task can use."""
        shared = self._uses[index].get(node)
        return shared is not None and not shared.is_releasing and (soon or shared.allocated > 0)

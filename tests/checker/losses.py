"""Pods that each decision group evicts of a pod group, and whether the pod group keeps its minimum."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tenure.v1 import decision_pb2, snapshot_pb2

from tests.checker.rules.gangs import ROOT, is_satisfied, sub_group_of, sub_groups_of
from tests.checker.snapshot_index import SnapshotIndex

STALE_GANG_EVICTION = "stalegangeviction"
"""Evicts gangs that are below their minimum, without a beneficiary; guards do not apply."""


class PodGroupLoss(NamedTuple):
    """Pods of one pod group that one decision group evicts, including relocated pods."""

    group: decision_pb2.DecisionGroup
    victim: snapshot_pb2.PodGroup
    lost: Counter[str]
    """Number of evicted pods by subgroup."""
    before: Counter[str]
    """Number of active pods by subgroup before the decision group."""

    @property
    def breaks_minimum(self) -> bool:
        """Whether the loss violates the minimum.

        A pod group that is below its minimum already can lose only pods beyond the minimum of a subgroup.
        """
        parts, left = sub_groups_of(self.victim), self.before - self.lost
        if is_satisfied(parts, ROOT, self.before):
            return not is_satisfied(parts, ROOT, left)
        return any(not is_satisfied(parts, name, left) for name in self.lost if name in parts)

    def __str__(self) -> str:
        pods = f"{self.lost.total()} of {self.before.total()} pods"
        return f"{self.group.action} evicts {pods} of pod group {self.victim.uid}"


def guarded_losses(world: SnapshotIndex) -> Iterator[PodGroupLoss]:
    """Return the losses by actions to which guards apply, in the order of the response."""
    active = set(world.active_before)
    for group in world.response.groups:
        evicted, gained = set(), set()
        for step in group.decisions:
            kind = step.WhichOneof("kind")
            if kind == "evict":
                evicted.add(step.evict.pod)
            elif kind in ("bind", "reserve"):
                gained.add(getattr(step, kind).pod)
        if group.action != STALE_GANG_EVICTION:
            yield from _by_victim(world, group, evicted & world.pods.keys(), active)
        active -= evicted
        active |= gained & world.pods.keys()


def _by_victim(
    world: SnapshotIndex, group: decision_pb2.DecisionGroup, evicted: set[str], active: set[str]
) -> Iterator[PodGroupLoss]:
    for uid in sorted({world.pods[pod].pod_group for pod in evicted}):
        own = {pod.uid for pod in world.members[uid]}
        lost, before = (
            Counter(sub_group_of(world.pods[pod]) for pod in own & some) for some in (evicted, active)
        )
        yield PodGroupLoss(group, world.pod_groups[uid], lost, before)

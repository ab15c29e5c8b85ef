"""What pod groups lose, one group of decisions after the other, and whether their minimum goes with it."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tenure.v1 import decision_pb2, snapshot_pb2

from tests.checker.rules.gangs import ROOT, is_satisfied, sub_group_of, sub_groups_of
from tests.checker.snapshot_index import SnapshotIndex

STALE_GANG_EVICTION = "stalegangeviction"
"""Evicts what is broken anyway, for nobody's benefit; nothing protects from it."""


class PodGroupLoss(NamedTuple):
    """The pods that one group of decisions evicts of one pod group; moved ones count as lost."""

    group: decision_pb2.DecisionGroup
    victim: snapshot_pb2.PodGroup
    lost: Counter[str]
    """Pods by part."""
    before: Counter[str]
    """Active pods by part until then."""

    @property
    def breaks_minimum(self) -> bool:
        """Whether it was whole and is not any more; one that was not loses from larger parts only."""
        parts, left = sub_groups_of(self.victim), self.before - self.lost
        if is_satisfied(parts, ROOT, self.before):
            return not is_satisfied(parts, ROOT, left)
        return any(not is_satisfied(parts, name, left) for name in self.lost if name in parts)

    def __str__(self) -> str:
        pods = f"{self.lost.total()} of {self.before.total()} pods"
        return f"{self.group.action} evicts {pods} of pod group {self.victim.uid}"


def guarded_losses(world: SnapshotIndex) -> Iterator[PodGroupLoss]:
    """What is lost to actions that guards have a say in."""
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

"""What a change of workloads starts from, so that nobody looks at the rows that stay."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenure.server.codec.lost import is_lost
from tenure.solver.model.slots import Change, Relinking, Slots, slots_of, spaced
from tenure.solver.model.specs import PodGroupSpec, TaskSpec
from tenure.solver.model.workload import PodGroup, Task


@dataclass(frozen=True, slots=True)
class Footing:
    """Workloads as they are linked, and sums over them. Never changed in place."""

    slots: Slots
    pods: Counter[int]
    """Number of pods by index of their shape."""
    lost: Mapping[str, TaskSpec]
    """Pods that are left out because something is not in the snapshot, by uid."""

    @classmethod
    def of(
        cls, pod_groups: tuple[PodGroup, ...], tasks: tuple[Task, ...], specs: Mapping[str, TaskSpec]
    ) -> "Footing":
        """That of workloads which were linked all at once."""
        pods = Counter([spec.shape.index for spec in specs.values()])
        lost = {uid: spec for uid, spec in specs.items() if is_lost(spec)}
        return cls(slots_of(pod_groups, tasks, specs), pods, lost)

    def after(
        self,
        changed: tuple[Sequence[str], Sequence[str]],
        before: Mapping[str, TaskSpec],
        pod_groups: Mapping[str, PodGroupSpec],
        tasks: Mapping[str, TaskSpec],
        leaves: Mapping[str, int],
    ) -> tuple["Footing", Change | None]:
        """The footing when rows with the `changed` uids, of pod groups and of pods, are other ones or gone.

        `before` has the pods until now, the next two all rows from now on. The change is None when all were
        linked anew.
        """
        pods, lost = self.pods.copy(), dict(self.lost)
        for uid in changed[1]:
            _count(pods, lost, before.get(uid), tasks.get(uid))
        relinking = Relinking(self.slots, pod_groups, tasks)
        if relinking.change(*changed, before):
            slots, change = relinking.linked(leaves)
            if not slots.has_too_many_empty(len(tasks)):
                return Footing(slots, pods, lost), change
        return Footing(spaced(pod_groups, tasks, leaves), pods, lost), None


def _count(
    pods: Counter[int], lost: dict[str, TaskSpec], before: TaskSpec | None, after: TaskSpec | None
) -> None:
    if before is not None:
        pods[before.shape.index] -= 1
        lost.pop(before.uid, None)
    if after is not None:
        pods[after.shape.index] += 1
        if is_lost(after):
            lost[after.uid] = after

"""What a change of workloads starts from, so that nobody looks at the rows that stay."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tenure.server.codec.lost import is_lost
from tenure.solver.model.relinking import Relinking
from tenure.solver.model.rows import Rows
from tenure.solver.model.slots import Change, Slots
from tenure.solver.model.spacing import spaced, youngest
from tenure.solver.model.specs import PodGroupSpec, TaskSpec


@dataclass(frozen=True, slots=True)
class Footing:
    """Workloads as they are linked, and sums over them. Never changed in place."""

    slots: Slots
    pods: dict[int, int]
    """Number of pods by index of their shape."""
    lost: Mapping[str, TaskSpec]
    """Pods that are left out because something is not in the snapshot, by uid."""

    @classmethod
    def of(
        cls,
        pod_groups: Mapping[str, PodGroupSpec],
        tasks: Mapping[str, TaskSpec],
        leaves: Mapping[str, int],
        newcomers: tuple[Collection[str], Collection[str]] = ((), ()),
    ) -> "Footing":
        """That of these rows, linked with room for others that come; see `spaced`.

        Where nobody knows what came last, it is taken to be the youngest pod group.
        """
        pods = dict(Counter([spec.shape.index for spec in tasks.values()]))
        lost = {uid: spec for uid, spec in tasks.items() if is_lost(spec)}
        came = newcomers if newcomers[0] or newcomers[1] else youngest(pod_groups, tasks)
        return cls(spaced(pod_groups, tasks, leaves, came), pods, lost)

    def after(
        self,
        changed: tuple[Sequence[str], Sequence[str]],
        before: Rows[TaskSpec],
        pod_groups: Rows[PodGroupSpec],
        tasks: Rows[TaskSpec],
        leaves: Mapping[str, int],
    ) -> tuple["Footing", Change | None]:
        """The footing when rows with the `changed` uids, of pod groups and of pods, are other ones or gone.

        `before` has the pods until now, the next two all rows from now on. The change is None when all were
        linked anew.
        """
        relinking = Relinking(self.slots, pod_groups, tasks)
        if relinking.change(*changed, before):
            slots, change = relinking.linked(leaves)
            if not slots.has_too_many_empty(len(tasks)):
                pods, lost = self.pods.copy(), dict(self.lost)
                for uid in changed[1]:
                    _count(pods, lost, before.get(uid), tasks.get(uid))
                return Footing(slots, pods, lost), change
        came = [uid for uid in changed[0] if uid in pod_groups and self.slots.group(uid) is None]
        came_pods = [uid for uid in changed[1] if uid in tasks and uid not in before]
        return Footing.of(pod_groups.whole(), tasks.whole(), leaves, (came, came_pods)), None


def _count(
    pods: dict[int, int], lost: dict[str, TaskSpec], before: TaskSpec | None, after: TaskSpec | None
) -> None:
    if before is not None:
        pods[before.shape.index] -= 1
        lost.pop(before.uid, None)
    if after is not None:
        pods[after.shape.index] = pods.get(after.shape.index, 0) + 1
        if is_lost(after):
            lost[after.uid] = after

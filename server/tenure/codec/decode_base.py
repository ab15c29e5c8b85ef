"""What a change of workloads starts from, so that nobody looks at the rows that stay."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tenure.codec.missing_nodes import is_left_out
from tenure.solver.model.facts import PodGroupSpec, TaskSpec
from tenure.solver.resolution.incremental_resolution import IncrementalResolver
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.slot_map import SlotChange, SlotMap
from tenure.solver.resolution.slot_spacing import resolve_with_free_slots, youngest


@dataclass(frozen=True, slots=True)
class DecodeBase:
    """Workloads as they are linked, and sums over them. Never changed in place."""

    slots: SlotMap
    pods: dict[int, int]
    """Number of pods by index of their shape."""
    left_out_pods: Mapping[str, TaskSpec]
    """Pods that are left out because something is not in the snapshot, by uid."""

    @classmethod
    def of(
        cls,
        pod_groups: Mapping[str, PodGroupSpec],
        tasks: Mapping[str, TaskSpec],
        leaves: Mapping[str, int],
        added: tuple[Collection[str], Collection[str]] = ((), ()),
    ) -> "DecodeBase":
        """That of these rows, linked with room for others that come; see `spaced`.

        Where nobody knows what came last, it is taken to be the youngest pod group.
        """
        pods = dict(Counter([spec.shape.index for spec in tasks.values()]))
        lost = {uid: spec for uid, spec in tasks.items() if is_left_out(spec)}
        came = added if added[0] or added[1] else youngest(pod_groups, tasks)
        return cls(resolve_with_free_slots(pod_groups, tasks, leaves, came), pods, lost)

    def next_version(
        self,
        changed: tuple[Sequence[str], Sequence[str]],
        before: PersistentMap[TaskSpec],
        pod_groups: PersistentMap[PodGroupSpec],
        tasks: PersistentMap[TaskSpec],
        leaves: Mapping[str, int],
    ) -> tuple["DecodeBase", SlotChange | None]:
        """The footing when rows with the `changed` uids, of pod groups and of pods, are other ones or gone.

        `before` has the pods until now, the next two all rows from now on. The change is None when all were
        linked anew.
        """
        relinking = IncrementalResolver(self.slots, pod_groups, tasks)
        if relinking.change(*changed, before):
            slots, change = relinking.resolve(leaves)
            if not slots.has_too_many_empty(len(tasks)):
                pods, lost = self.pods.copy(), dict(self.left_out_pods)
                for uid in changed[1]:
                    _count(pods, lost, before.get(uid), tasks.get(uid))
                return DecodeBase(slots, pods, lost), change
        came = [uid for uid in changed[0] if uid in pod_groups and self.slots.group(uid) is None]
        came_pods = [uid for uid in changed[1] if uid in tasks and uid not in before]
        return DecodeBase.of(pod_groups.to_dict(), tasks.to_dict(), leaves, (came, came_pods)), None


def _count(
    pods: dict[int, int], left_out: dict[str, TaskSpec], before: TaskSpec | None, after: TaskSpec | None
) -> None:
    if before is not None:
        pods[before.shape.index] -= 1
        left_out.pop(before.uid, None)
    if after is not None:
        pods[after.shape.index] = pods.get(after.shape.index, 0) + 1
        if is_left_out(after):
            left_out[after.uid] = after

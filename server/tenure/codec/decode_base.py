"""Base of incremental decoding: resolved workloads and sums, so that unchanged rows are not visited."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tenure.codec.missing_nodes import is_left_out
from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.resolution.incremental_resolution import IncrementalResolver
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.solver.resolution.slot_map import SlotChange, SlotMap
from tenure.solver.resolution.slot_spacing import resolve_with_free_slots, youngest


@dataclass(frozen=True, slots=True)
class DecodeBase:
    """Resolved workloads and sums over them. Immutable."""

    slots: SlotMap
    pods: dict[int, int]
    """Number of pods by index of their shape."""
    left_out_pods: Mapping[str, TaskFacts]
    """Pods that are ignored because an object is not in the snapshot, by UID."""

    @classmethod
    def of(
        cls,
        pod_groups: Mapping[str, PodGroupFacts],
        tasks: Mapping[str, TaskFacts],
        leaves: Mapping[str, int],
        added: tuple[Collection[str], Collection[str]] = ((), ()),
    ) -> "DecodeBase":
        """Base of these rows, with free slots for new rows; see `resolve_with_free_slots`.

        `added` are the rows that were added last; by default, the youngest pod group.
        """
        pods = dict(Counter([spec.shape.index for spec in tasks.values()]))
        lost = {uid: spec for uid, spec in tasks.items() if is_left_out(spec)}
        came = added if added[0] or added[1] else youngest(pod_groups, tasks)
        return cls(resolve_with_free_slots(pod_groups, tasks, leaves, came), pods, lost)

    def next_version(
        self,
        changed: tuple[Sequence[str], Sequence[str]],
        before: PersistentMap[TaskFacts],
        pod_groups: PersistentMap[PodGroupFacts],
        tasks: PersistentMap[TaskFacts],
        leaves: Mapping[str, int],
    ) -> tuple["DecodeBase", SlotChange | None]:
        """Base after changing or removing the rows with these UIDs of pod groups and pods.

        `before` has the previous pods; `pod_groups` and `tasks` have all rows after the change. The
        SlotChange is None if everything was resolved again.
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
    pods: dict[int, int], left_out: dict[str, TaskFacts], before: TaskFacts | None, after: TaskFacts | None
) -> None:
    if before is not None:
        pods[before.shape.index] -= 1
        left_out.pop(before.uid, None)
    if after is not None:
        pods[after.shape.index] = pods.get(after.shape.index, 0) + 1
        if is_left_out(after):
            left_out[after.uid] = after

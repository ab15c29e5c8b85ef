"""Workloads: pod groups, their subgroups and their tasks."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from tenure.solver.model.facts import PodGroupFacts, TaskFacts
from tenure.solver.model.fast_dataclass import fast_dataclass
from tenure.solver.model.placement import Placement
from tenure.solver.model.resources import Share
from tenure.solver.model.workload_parts import TaskShape, TopologyConstraint
from tenure.terms.preemptibility import Preemptibility, effective_preemptibility

Counts = Sequence[int] | Mapping[int, int]
"""Number of tasks by pod set."""


@fast_dataclass(slots=True, init=False)
class Task:
    """One pod. `index` is its slot: slots are ordered by UID, and an empty one has no UID."""

    index: Final[int]
    pod_group: Final[int]
    pod_set: Final[int | None]
    """Dense index over all pod sets; None if its subgroup does not exist (semantics R1.53)."""
    shape: Final[TaskShape]
    """With its resource claims."""
    placement: Final[Placement]
    """At the beginning of the cycle."""
    facts: Final[TaskFacts]

    def __init__(
        self,
        *,
        index: int,
        pod_group: int,
        pod_set: int | None,
        shape: TaskShape,
        placement: Placement,
        facts: TaskFacts,
    ) -> None:
        self.index = index
        self.pod_group = pod_group
        self.pod_set = pod_set
        self.shape = shape
        self.placement = placement
        self.facts = facts

    def placed(self, placement: Placement) -> "Task":
        """Copy of the task with another placement."""
        return Task(
            index=self.index,
            pod_group=self.pod_group,
            pod_set=self.pod_set,
            shape=self.shape,
            placement=placement,
            facts=self.facts,
        )


@fast_dataclass(slots=True, init=False)
class PodSet:
    """A leaf of the subgroup tree: tasks with a minimum (semantics R1.51)."""

    index: Final[int]
    name: Final[str]
    min_available: Final[int]
    tasks: Final[tuple[int, ...]]
    topology: Final[TopologyConstraint | None]

    def __init__(
        self,
        index: int,
        name: str,
        min_available: int,
        tasks: tuple[int, ...],
        topology: TopologyConstraint | None = None,
    ) -> None:
        self.index = index
        self.name = name
        self.min_available = min_available
        self.tasks = tasks
        self.topology = topology

    def is_met(self, active: Counts) -> bool:
        """Whether the minimum is met by the counts (semantics R1.55)."""
        return active[self.index] >= self.min_available

    @property
    def has_surplus(self) -> bool:
        """Whether it has tasks beyond the minimum, whatever their status (semantics R1.57)."""
        return self.min_available < len(self.tasks)


@fast_dataclass(slots=True, init=False)
class SubGroupSet:
    """An inner node of the subgroup tree. `min_sub_groups` None: every member is required."""

    name: Final[str]
    members: Final[tuple["PodSet | SubGroupSet", ...]]
    min_sub_groups: Final[int | None]
    topology: Final[TopologyConstraint | None]

    def __init__(
        self,
        name: str,
        members: tuple["PodSet | SubGroupSet", ...],
        min_sub_groups: int | None = None,
        topology: TopologyConstraint | None = None,
    ) -> None:
        self.name = name
        self.members = members
        self.min_sub_groups = min_sub_groups
        self.topology = topology

    @property
    def is_lone(self) -> bool:
        """Whether it has a single member, which is required."""
        return self.required == len(self.members) == 1

    @property
    def required(self) -> int:
        """Number of members that must be satisfied."""
        return len(self.members) if self.min_sub_groups is None else self.min_sub_groups

    def is_met(self, active: Counts) -> bool:
        """Whether enough members are met by the counts (semantics R1.55)."""
        met = 0
        for member in self.members:
            met += member.is_met(active)
        return met >= self.required

    def incomplete(self, used: Counts, alive: Counts) -> Iterator["PodSet"]:
        """Pod sets in use of members that are below their minimum, and would be with all living tasks."""
        for member in self.members:
            if not (member.is_met(used) or member.is_met(alive)):
                yield from (pod_set for pod_set in leaves(member) if used[pod_set.index])
            elif isinstance(member, SubGroupSet):
                yield from member.incomplete(used, alive)

    def below_minimum(self, counts: Counts) -> Iterator["PodSet"]:
        """Pod sets that are below their minimum, or in a subgroup that is."""
        if not self.is_met(counts):
            yield from leaves(self)
            return
        for member in self.members:
            if isinstance(member, SubGroupSet):
                yield from member.below_minimum(counts)
            elif not member.is_met(counts):
                yield member

    @property
    def has_surplus(self) -> bool:
        """Whether it has more members than required, or a member has surplus."""
        return self.required < len(self.members) or any(member.has_surplus for member in self.members)


Member = PodSet | SubGroupSet


def leaves(member: Member) -> Iterator[PodSet]:
    """Pod sets of a member, in order."""
    if isinstance(member, PodSet):
        yield member
    else:
        for inner in member.members:
            yield from leaves(inner)


@fast_dataclass(slots=True, init=False)
class PodGroup:
    """A pod group. `index` is its slot, as for tasks; `rank` orders pod groups by creation time, then UID."""

    index: Final[int]
    queue: Final[int | None]
    """None if the queue does not exist or is not a leaf (semantics R3.3)."""
    root: Final[SubGroupSet]
    pod_sets: Final[tuple[PodSet, ...]]
    tasks: Final[tuple[int, ...]]
    rank: Final[int]
    facts: Final[PodGroupFacts]
    """What counts."""
    requested: Final[PodGroupFacts | None]
    """What its caller sent, if it runs and has another grant: not all of it need count (semantics R8.40)."""

    def __init__(
        self,
        *,
        index: int,
        queue: int | None,
        root: SubGroupSet,
        pod_sets: tuple[PodSet, ...],
        tasks: tuple[int, ...],
        rank: int,
        facts: PodGroupFacts,
        requested: PodGroupFacts | None = None,
    ) -> None:
        self.index = index
        self.queue = queue
        self.root = root
        self.pod_sets = pod_sets
        self.tasks = tasks
        self.rank = rank
        self.facts = facts
        self.requested = requested

    @property
    def is_plain(self) -> bool:
        """Whether it has no subgroups and no topology constraints."""
        if len(self.pod_sets) > 1:
            return False
        (pod_set,) = self.pod_sets
        return self.root.members[0] is pod_set and self.root.topology is None and pod_set.topology is None

    def may_name(self, other: "PodGroup") -> bool:
        """Whether texts about it name another pod group: only one of its queue and namespace."""
        return self.queue == other.queue and self.facts.namespace == other.facts.namespace

    @property
    def preemptibility(self) -> Preemptibility:
        """Preemptibility in force: the explicit value, else the legacy rule (semantics R1.80)."""
        return effective_preemptibility(self.facts.preemptibility, self.facts.priority)

    @property
    def is_preemptible(self) -> bool:
        """Whether all of it is preemptible."""
        return self.preemptibility is Preemptibility.PREEMPTIBLE

    @property
    def is_evictable(self) -> bool:
        """Whether any of its tasks may be a victim: of semi-preemptible ones the surplus (R8.30)."""
        return self.is_preemptible or self.is_semi_preemptible

    @property
    def is_semi_preemptible(self) -> bool:
        """Whether its minimum is protected, and what goes beyond is not (semantics R8.30)."""
        return self.facts.preemptibility is Preemptibility.SEMI_PREEMPTIBLE

    def is_firm(self, fair_share_actions: AbstractSet[str]) -> bool:
        """Whether all of it must be within quota, because no other queue can take any of it back.

        That is so for non-preemptible pod groups, and for those that opt out of an action by which queues
        take back their fair shares (semantics R4.61).
        """
        if not self.is_evictable:
            return True
        opted_out = self.facts.opt_out_actions
        return bool(opted_out) and not opted_out.isdisjoint(fair_share_actions)

    @property
    def is_elastic(self) -> bool:
        """Whether it can lose tasks and still meet its minimum when all run (semantics R1.57)."""
        return self.root.has_surplus

    def incomplete(self, used: Counts, alive: Counts) -> list[PodSet]:
        """Pod sets in use of subgroups that are below their minimum, and would be with all living tasks.

        None of them, while the pod group as a whole is below its minimum. Numbers are by pod set.
        """
        return list(self.root.incomplete(used, alive)) if self.root.is_met(used) else []

    def is_cut(self, active: Counts, taken: Mapping[int, int]) -> bool:
        """Whether it has its minimum, and is left without it and with other tasks once some are taken.

        Numbers are by pod set.
        """
        before = {each.index: active[each.index] for each in self.pod_sets}
        after = {pod_set: count - taken.get(pod_set, 0) for pod_set, count in before.items()}
        return any(after.values()) and self.root.is_met(before) and not self.root.is_met(after)


def min_pods(member: Member) -> int:
    """Smallest number of pods that satisfies a subgroup (semantics R1.55)."""
    if isinstance(member, PodSet):
        return member.min_available
    return sum(sorted([min_pods(inner) for inner in member.members])[: member.required])


def add_shares(a: Share, b: Share) -> Share:
    """Component-wise sum."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])

"""Effective values of pod groups, for programs that show them: no other module derives them again.

They depend on the snapshot and its time alone, not on the decisions of a cycle.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final, final

from tenure.solver.ends import UNKNOWN_END, End, end_of
from tenure.solver.grants import Uncovered, review_grants, with_covered
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import PodGroupFacts
from tenure.solver.model.fate import HoldReason
from tenure.solver.model.inherited_settings import expected_runtime
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.workload import PodGroup, min_pods
from tenure.terms.preemptibility import Preemptibility, PreemptibilitySource


@final
class PodGroupStatus:
    """Effective values of one pod group. Times and durations are in nanoseconds."""

    __slots__ = (
        "end",
        "expected_runtime",
        "expected_runtime_source",
        "group",
        "held_by",
        "min_pods",
        "preemptibility",
        "preemptibility_source",
        "uncovered",
    )

    def __init__(self, group: PodGroup, cluster: Cluster, uncovered: Uncovered | None = None) -> None:
        self.group: Final = group
        self.uncovered: Final = uncovered
        """What its owner requests beyond what counts; None: all counts."""
        self.preemptibility: Final = group.preemptibility
        self.preemptibility_source: Final = preemptibility_source(group.facts)
        self.min_pods: Final = min_pods(group.root)
        """Smallest number of pods that satisfies its minimum (semantics R1.55)."""
        self.held_by: Final = _hold(group, cluster.now)
        runtime, source = expected_runtime(group, cluster.queues)
        self.expected_runtime: Final[ParsedValue] = runtime
        self.expected_runtime_source: Final[str] = source
        self.end: Final[End] = (
            end_of(group, cluster.queues, cluster.now) if _is_running(group, cluster) else UNKNOWN_END
        )


def pod_group_statuses(cluster: Cluster, fair_share_actions: AbstractSet[str]) -> Iterator[PodGroupStatus]:
    """Statuses of all pod groups at the time of the cluster, by uid.

    `fair_share_actions`: names of the actions by which queues take back their fair shares.
    """
    review = review_grants(cluster, fair_share_actions)
    counting = with_covered(cluster, review.covered) if review.covered else cluster
    uncovered = {each.pod_group: each for each in review.uncovered}
    for group in counting.pod_groups:
        if group.facts.uid:
            yield PodGroupStatus(group, counting, uncovered.get(group.index))


def preemptibility_source(facts: PodGroupFacts) -> PreemptibilitySource:
    """Where the preemptibility of a pod group is from (semantics R1.80)."""
    if facts.preemptibility is Preemptibility.UNSPECIFIED:
        return PreemptibilitySource.PRIORITY
    if not facts.is_preemptibility_annotated:
        return PreemptibilitySource.FIELD
    return PreemptibilitySource.LABEL if facts.is_preemptibility_label else PreemptibilitySource.ANNOTATION


def _hold(group: PodGroup, now: int) -> HoldReason:
    """What holds it; a time that has come holds nothing (semantics R19.25)."""
    facts = group.facts.victim
    is_due = facts.held_by is HoldReason.NOT_BEFORE and (facts.not_before or 0) <= now
    return HoldReason.UNSPECIFIED if is_due else facts.held_by


def _is_running(group: PodGroup, cluster: Cluster) -> bool:
    tasks = cluster.tasks
    return any(tasks[task].placement.status.is_active_allocated for task in group.tasks)

"""What is doubtful about the pod groups of a cluster, and how a cycle reads it.

In doubt nothing is evicted; only a missing start time protects from nothing (semantics R7.20, R8.20).
"""

from collections.abc import Iterator

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.doubt import Doubt, DoubtCode
from tenure.solver.model.requeue import NO_TERMS
from tenure.solver.model.workload import PodGroup, Preemptibility


def doubts(cluster: Cluster) -> tuple[Doubt, ...]:
    """Those of the snapshot, then one for all pod groups alike, then one for each value that is bad."""
    own = (doubt for group in cluster.pod_groups if _may_be_bad(group) for doubt in _own(group))
    return (*cluster.doubts, *_shared(cluster), *own)


def _shared(cluster: Cluster) -> Iterator[Doubt]:
    """Doubts that are told of many pod groups at once."""
    unspecified, now = Preemptibility.UNSPECIFIED, cluster.now
    legacy = tuple([g.index for g in cluster.pod_groups if g.preemptibility is unspecified])
    if legacy:
        message = (
            "nothing says whether these pod groups are preemptible: they are if their priority is below 100"
        )
        yield Doubt(DoubtCode.LEGACY_PREEMPTIBILITY, legacy, message)
    odd = [g for g in cluster.pod_groups if g.last_start is None or g.last_start > now]
    running = [group for group in odd if _runs(cluster, group)]
    missing = tuple(group.index for group in running if group.last_start is None)
    if missing:
        message = "nobody says since when these pod groups run: min-runtime does not protect them"
        yield Doubt(DoubtCode.MISSING_START_TIME, missing, message)
    skewed = tuple(group.index for group in running if group.last_start is not None)
    if skewed:
        message = "these pod groups start after the time of the snapshot: their runtime counts from then on"
        yield Doubt(DoubtCode.CLOCK_SKEW, skewed, message)


def _runs(cluster: Cluster, group: PodGroup) -> bool:
    return any(cluster.tasks[task].placement.status.is_allocated for task in group.tasks)


def _may_be_bad(group: PodGroup) -> bool:
    """Whether it says anything that might not be readable: most say nothing."""
    return group.requeue is not NO_TERMS or bool(group.unknown_preemptibility)


def _own(group: PodGroup) -> Iterator[Doubt]:
    """Values of one pod group that cannot be read."""
    terms = group.requeue
    found = (
        (DoubtCode.UNKNOWN_PREEMPTIBILITY, group.unknown_preemptibility, "it is read as non-preemptible"),
        (DoubtCode.INVALID_EXPECTED_RUNTIME, terms.expected_runtime.problem, "its runtime is never over"),
        (DoubtCode.INVALID_REQUEUE_DELAY, terms.delay.problem, "it is read as not set"),
        (DoubtCode.INVALID_REQUEUE_NOT_BEFORE, terms.not_before.problem, "it is not requeued at all"),
    )
    for code, problem, reading in found:
        if problem:
            yield Doubt(code, (group.index,), f"pod group {group.name}: {problem}; {reading}")

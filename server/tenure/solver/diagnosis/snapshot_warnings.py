"""Warnings about dubious input, and how a cycle interprets it.

If unclear, a pod group is not evicted; only a missing start time protects from nothing (semantics R7.20,
R8.20).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final

from tenure.solver.diagnosis.queue_warnings import QUEUE_WARNINGS
from tenure.solver.framework.session import Session
from tenure.solver.grants import review_grants
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import NO_VICTIM_FACTS
from tenure.solver.model.fate import Fate
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.requeue import NO_TERMS
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.durations import format_duration, parse_duration
from tenure.terms.formatting import format_count
from tenure.terms.preemptibility import LEGACY_LIMIT

_MIN_RUNTIME: Final = "minruntime"
"""Name of the plugin that protects pod groups that just started."""
FEW_CHANGES: Final = 64
"""Changes up to which single entries of a sorted list are moved; for more, the list is sorted again."""


class _WarningCandidates:
    """Pod groups that may cause warnings, by index."""

    def __init__(self, now: int) -> None:
        self.now = now
        """Time of the snapshot: a start time in its future is dubious only until then."""
        self.legacy: list[int] = []
        """Pod groups that do not set preemptibility, in order."""
        self.odd: set[int] = set()
        """Pod groups without a start time, or with a start or checkpoint in the future."""
        self.bad: set[int] = set()
        """Pod groups with a value that might be invalid."""

    @classmethod
    def of(cls, cluster: Cluster) -> "_WarningCandidates":
        """Candidates among all pod groups of a cluster."""
        made = cls(cluster.now)
        for group in cluster.pod_groups:
            if _is_legacy(group):
                made.legacy.append(group.index)
            made._update(group)
        return made

    def copy(self) -> "_WarningCandidates":
        """Independent copy."""
        other = _WarningCandidates(self.now)
        other.legacy, other.odd, other.bad = self.legacy.copy(), self.odd.copy(), self.bad.copy()
        return other

    def follow(self, cluster: Cluster, change: SlotChange) -> None:
        """Follow a change of the cluster."""
        self.now = max(self.now, cluster.now)
        for index in change.pod_groups:
            self.odd.discard(index)
            self.bad.discard(index)
            self._update(cluster.pod_groups[index])
        if len(change.pod_groups) > FEW_CHANGES:
            legacy = [index for index in change.pod_groups if _is_legacy(cluster.pod_groups[index])]
            self.legacy = sorted([*(i for i in self.legacy if i not in change.pod_groups), *legacy])
            return
        for index in change.pod_groups:
            at, is_legacy = bisect_left(self.legacy, index), _is_legacy(cluster.pod_groups[index])
            was_legacy = at < len(self.legacy) and self.legacy[at] == index
            if was_legacy and not is_legacy:
                del self.legacy[at]
            elif is_legacy and not was_legacy:
                self.legacy.insert(at, index)

    def _update(self, group: PodGroup) -> None:
        start, saved = group.facts.last_start, group.facts.victim.last_checkpoint
        if start is None or start > self.now or (saved is not None and saved > self.now):
            self.odd.add(group.index)
        if _may_be_bad(group):
            self.bad.add(group.index)


_CANDIDATES: Final = Derived(_WarningCandidates.of, _WarningCandidates.follow, _WarningCandidates.copy)


def collect_warnings(session: Session) -> tuple[SnapshotWarning, ...]:
    """Warnings of the snapshot, then one for each kind of missing value, then one per invalid value.

    Those of plugins come behind others about many pod groups, or about queues.
    """
    cluster, candidates, most = session.cluster, _warning_candidates(session), session.options.max_notice
    odd = sorted(candidates.bad)
    plugins = session.chains.warnings(odd)
    of_groups = [each for each in plugins if each.pod_groups]
    of_queues = [each for each in plugins if not each.pod_groups]
    reserved = _invalid_planned_starts(cluster) if session.planned_starts is not None else ()
    return (
        *cluster.warnings,
        *_shared(session, candidates),
        *of_groups,
        *_long(cluster, most),
        *_unknown_budgets(session),
        *reserved,
        *of_queues,
        *session.derived_data.get(QUEUE_WARNINGS, cluster),
        *_swings(session),
        *(each for index in odd for each in _own(cluster.pod_groups[index], most)),
        *_not_in_force(session),
    )


def _not_in_force(session: Session) -> Iterator[SnapshotWarning]:
    """One warning per running pod group whose owner wants more protection than counts (semantics R8.45)."""
    for each in review_grants(session.cluster, session.registry.guarded.fair_share_names).uncovered:
        text = f"{each.wish} is requested, but not in force: {each.detail}"
        yield SnapshotWarning(WarningCode.PROTECTION_NOT_IN_FORCE, (each.pod_group,), text, is_about_one=True)


def _swings(session: Session) -> Iterator[SnapshotWarning]:
    """A warning if fair shares follow past use, and nothing keeps pod groups that just started (R18)."""
    if not any(each.follows_past_use() for each in session.chains.usage_followers):
        return
    guard = session.registry.arguments_of(session.profile, _MIN_RUNTIME)
    if guard is not None:
        default = parse_duration(guard.get("defaultReclaimMinRuntime", "0s"))
        if default or any(queue.facts.reclaim_min_runtime for queue in session.cluster.queues):
            return
    message = "fair shares follow past use, and no queue has a minimum runtime before reclaim: they may swing"
    yield SnapshotWarning(WarningCode.USAGE_WITHOUT_MIN_RUNTIME, (), message)


def _warning_candidates(session: Session) -> _WarningCandidates:
    cluster = session.cluster
    found = session.derived_data.get(_CANDIDATES, cluster)
    return found if found.now <= cluster.now else _WarningCandidates.of(cluster)


def _shared(session: Session, candidates: _WarningCandidates) -> Iterator[SnapshotWarning]:
    """Warnings about many pod groups at once."""
    cluster = session.cluster
    if candidates.legacy:
        message = f"preemptibility is not set; derived from priority (preemptible below {LEGACY_LIMIT})"
        yield SnapshotWarning(WarningCode.LEGACY_PREEMPTIBILITY, tuple(candidates.legacy), message)
    running = [cluster.pod_groups[index] for index in sorted(candidates.odd & session.phases.running)]
    missing = tuple([group.index for group in running if group.facts.last_start is None])
    if missing:
        message = "start time is missing; the minimum runtime does not protect these pod groups"
        yield SnapshotWarning(WarningCode.MISSING_START_TIME, missing, message)
    skewed = tuple(
        [g.index for g in running if g.facts.last_start is not None and g.facts.last_start > cluster.now]
    )
    if skewed:
        message = "start time is after the snapshot time; runtimes count from the start time"
        yield SnapshotWarning(WarningCode.CLOCK_SKEW, skewed, message)
    ahead = tuple(
        [group.index for group in running if (group.facts.victim.last_checkpoint or 0) > cluster.now]
    )
    if ahead:
        message = "time of the last checkpoint is after the snapshot time; it is treated as unset"
        yield SnapshotWarning(WarningCode.CLOCK_SKEW, ahead, message)
    if incomplete := tuple(filter(partial(_lacks_pods, session), sorted(session.phases.stale))):
        message = "fewer pods than the minimum run or wait in the snapshot, and none has succeeded; "
        message += "if pods have succeeded, they must stay in it, else the pod group counts as stale"
        yield SnapshotWarning(WarningCode.GANG_LACKS_PODS, incomplete, message)


def _lacks_pods(session: Session, index: int) -> bool:
    """Whether a pod group below its minimum, which it may not stay for ever, has too few pods."""
    cluster = session.cluster
    group, pods = cluster.pod_groups[index], Counter[int]()
    own = group.facts.staleness_grace_period
    if (session.options.staleness_grace_period if own is None else own) < 0:
        return False
    for task in [cluster.tasks[each] for each in group.tasks]:
        if task.placement.status is TaskStatus.SUCCEEDED:
            return False
        if task.pod_set is not None and task.placement.status is not TaskStatus.FAILED:
            pods[task.pod_set] += 1
    return not group.root.is_met(pods)


def _unknown_budgets(session: Session) -> Iterator[SnapshotWarning]:
    """One warning about the pod groups whose pods name disruption budgets that are not in the snapshot."""
    missing = session.disruptions.unknown_budgets()
    if not missing:
        return
    pod_groups = session.disruptions.pod_groups_with(missing)
    what = format_count(len(missing), "disruption budget")
    message = f"{what} of pods not in the snapshot, such as {missing[0]}; its running pods stay"
    yield SnapshotWarning(WarningCode.UNKNOWN_DISRUPTION_BUDGET, pod_groups, message)


_IGNORED: Final = (
    ("pod_group", "of a pod group that has another one"),
    ("pod_group", "of a pod group that is not in the snapshot"),
    ("pods.node", "on a node that is not in the snapshot"),
    ("pods.shape", "of a shape that is not in the snapshot"),
)
"""Fields of planned starts, and what is ignored."""


def _invalid_planned_starts(cluster: Cluster) -> Iterator[SnapshotWarning]:
    """One warning for each kind of planned starts, or parts of them, that are ignored (semantics R17.7)."""
    indices = {group.facts.uid: group.index for group in cluster.pod_groups}
    found: list[list[str]] = [[] for _ in _IGNORED]
    seen: set[str] = set()
    for row in cluster.carried.rows(PLANNED_STARTS):
        wrong = (
            row.pod_group in seen,
            row.pod_group not in indices,
            any(place.node == NOWHERE for place in row.places),
            any(place.shape == NOWHERE for place in row.places),
        )
        seen.add(row.pod_group)
        if True in wrong:
            found[wrong.index(True)].append(row.pod_group)
    for (field, what), uids in zip(_IGNORED, found, strict=True):
        if uids:
            groups = tuple(sorted({indices[uid] for uid in uids if uid in indices}))
            number = f"{format_count(len(uids), 'planned start')} {what}"
            detail = f"planned_starts.{field}: ignored {number}, such as that of {uids[0]}"
            yield SnapshotWarning(WarningCode.INVALID_PLANNED_START, groups, detail)


def _long(cluster: Cluster, most: int) -> Iterator[SnapshotWarning]:
    """One warning for each queue with a longer notice than the options permit (semantics R16.1)."""
    for queue in cluster.queues if most else ():
        if (queue.facts.notice or 0) > most:
            detail = f"queue {queue.facts.name}: {_shortened(queue.facts.notice or 0, most)}"
            yield SnapshotWarning(WarningCode.NOTICE_ABOVE_MAXIMUM, (), detail)


def _shortened(notice: int, most: int) -> str:
    return f"its notice of {format_duration(notice)} counts as {format_duration(most)}, the longest permitted"


def _is_legacy(group: PodGroup) -> bool:
    return group.facts.preemptibility is Preemptibility.UNSPECIFIED


def _may_be_bad(group: PodGroup) -> bool:
    """Whether it has any value that might be invalid; most pod groups have none."""
    facts = group.facts
    if facts.requeue is not NO_TERMS or facts.unknown_preemptibility:
        return True
    return facts.victim is not NO_VICTIM_FACTS and (_cannot_suspend(group) or bool(facts.victim.notice))


def _cannot_suspend(group: PodGroup) -> bool:
    return group.facts.victim.on_evict is Fate.SUSPEND and not group.facts.victim.suspendable


def _own(group: PodGroup, max_notice: int) -> Iterator[SnapshotWarning]:
    """Invalid values of one pod group."""
    terms = group.facts.requeue
    never_past = "ignored: the pod group is never past its expected runtime"
    found = (
        (
            WarningCode.UNKNOWN_PREEMPTIBILITY,
            group.facts.unknown_preemptibility,
            "treated as non-preemptible",
        ),
        (WarningCode.INVALID_EXPECTED_RUNTIME, terms.expected_runtime.problem, never_past),
        (WarningCode.INVALID_REQUEUE_DELAY, terms.delay.problem, "treated as unset"),
        (WarningCode.INVALID_REQUEUE_NOT_BEFORE, terms.not_before.problem, "the pod group is not requeued"),
        (WarningCode.INVALID_MIN_RUNTIME, terms.min_runtime.problem, "treated as the longest one permitted"),
    )
    for code, problem, reading in found:
        if problem:
            yield SnapshotWarning(code, (group.index,), f"{problem}; {reading}", is_about_one=True)
    if _cannot_suspend(group):
        detail = "it is not suspendable; when it is evicted, it waits again"
        yield SnapshotWarning(WarningCode.CANNOT_BE_SUSPENDED, (group.index,), detail, is_about_one=True)
    notice = group.facts.victim.notice or 0
    if 0 < max_notice < notice:
        code, detail = WarningCode.NOTICE_ABOVE_MAXIMUM, _shortened(notice, max_notice)
        yield SnapshotWarning(code, (group.index,), detail, is_about_one=True)

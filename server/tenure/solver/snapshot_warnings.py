"""Warnings about dubious input, and how a cycle interprets it.

If unclear, a pod group is not evicted; only a missing start time protects from nothing (semantics R7.20,
R8.20).
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import NO_VICTIM_FACTS
from tenure.solver.model.fate import Fate
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.queue import NO_RULES
from tenure.solver.model.requeue import NO_TERMS
from tenure.solver.model.snapshot_warning import SnapshotWarning, WarningCode
from tenure.solver.model.workload import PodGroup
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugins.guards.min_runtime import NAME as MIN_RUNTIME
from tenure.solver.plugins.guards.min_runtime import MinRuntime, Resolver
from tenure.solver.plugins.proportion.queue_rules import cut_bounds
from tenure.solver.plugins.proportion.usage_settings import PLUGIN as PROPORTION
from tenure.solver.plugins.proportion.usage_settings import follows_past_use
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.durations import format_duration, parse_duration
from tenure.terms.formatting import format_count

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
        self.own_minimum: set[int] = set()
        """Pod groups that set a minimum runtime of their own."""

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
        other.own_minimum = self.own_minimum.copy()
        return other

    def follow(self, cluster: Cluster, change: SlotChange) -> None:
        """Follow a change of the cluster."""
        self.now = max(self.now, cluster.now)
        for index in change.pod_groups:
            self.odd.discard(index)
            self.bad.discard(index)
            self.own_minimum.discard(index)
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
            if group.facts.requeue.min_runtime.value is not None:
                self.own_minimum.add(group.index)


_CANDIDATES: Final = Derived(_WarningCandidates.of, _WarningCandidates.follow, _WarningCandidates.copy)


def collect_warnings(session: Session, profile: Profile) -> tuple[SnapshotWarning, ...]:
    """Warnings of the snapshot, then one for each kind of missing value, then one per invalid value."""
    cluster, doubtful = session.cluster, _warning_candidates(session)
    most = profile.options.max_notice
    own = (doubt for index in sorted(doubtful.bad) for doubt in _own(cluster.pod_groups[index], most))
    shared = (*_shared(session, doubtful), *_not_permitted(cluster, doubtful, profile), *_long(cluster, most))
    bounds = (*_cut_limits(session), *_swings(cluster, profile))
    reserved = _invalid_reservations(cluster) if session.reservations is not None else ()
    return (*cluster.warnings, *shared, *_unknown_budgets(session), *reserved, *bounds, *own)


def _swings(cluster: Cluster, profile: Profile) -> Iterator[SnapshotWarning]:
    """A warning if fair shares follow past use, and nothing keeps pod groups that just started (R18)."""
    chosen = next((each.arguments for each in profile.plugins if each.name == PROPORTION), None)
    if chosen is None or not follows_past_use(chosen):
        return
    guard = next((each for each in profile.plugins if each.name == MIN_RUNTIME), None)
    if guard is not None:
        default = {**MinRuntime.DEFAULTS, **guard.arguments}["defaultReclaimMinRuntime"]
        if parse_duration(default) or any(queue.reclaim_min_runtime for queue in cluster.queues):
            return
    message = "fair shares follow past use, and no queue has a minimum runtime before reclaim: they may swing"
    yield SnapshotWarning(WarningCode.USAGE_WITHOUT_MIN_RUNTIME, (), message)


def _cut_limits(session: Session) -> tuple[SnapshotWarning, ...]:
    """One warning per bound of a queue that contradicts its quota (semantics R19)."""
    return session.derived_data.get(_CUT_LIMITS, session.cluster)


def _find_cut_limits(cluster: Cluster) -> tuple[SnapshotWarning, ...]:
    return tuple(
        [
            SnapshotWarning(WarningCode.QUEUE_LIMIT_CUT, (), f"queue {queue.name}: {text}")
            for queue in cluster.queues
            if queue.rules is not NO_RULES
            for text in cut_bounds(queue)
        ]
    )


_CUT_LIMITS: Final = Derived(_find_cut_limits)


def _warning_candidates(session: Session) -> _WarningCandidates:
    cluster = session.cluster
    found = session.derived_data.get(_CANDIDATES, cluster)
    return found if found.now <= cluster.now else _WarningCandidates.of(cluster)


def _shared(session: Session, doubtful: _WarningCandidates) -> Iterator[SnapshotWarning]:
    """Warnings about many pod groups at once."""
    cluster = session.cluster
    if doubtful.legacy:
        message = "preemptibility is not set; derived from priority (preemptible below 100)"
        yield SnapshotWarning(WarningCode.LEGACY_PREEMPTIBILITY, tuple(doubtful.legacy), message)
    running = [cluster.pod_groups[index] for index in sorted(doubtful.odd & session.phases.running)]
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


def _not_permitted(
    cluster: Cluster, doubtful: _WarningCandidates, profile: Profile
) -> Iterator[SnapshotWarning]:
    """One warning about all pod groups whose own minimum runtime their queue ignores."""
    if not doubtful.own_minimum:
        return
    guard = next((each for each in profile.plugins if each.name == MIN_RUNTIME), None)
    if guard is None:
        return
    resolver, found = Resolver.of(cluster.queues, guard.arguments), list[int]()
    for group in map(cluster.pod_groups.__getitem__, sorted(doubtful.own_minimum)):
        own, queue = group.facts.requeue.min_runtime.value or 0, group.queue
        if own > resolver.preempt(queue).minimum and not resolver.most(queue).minimum:
            found.append(group.index)
    if found:
        message = "its own minimum runtime is ignored: neither its queue nor the configuration permits one"
        yield SnapshotWarning(WarningCode.MIN_RUNTIME_NOT_PERMITTED, tuple(found), message)


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
"""Fields of reservations, and what is ignored."""


def _invalid_reservations(cluster: Cluster) -> Iterator[SnapshotWarning]:
    """One warning for each kind of reservations, or parts of them, that are ignored (semantics R17.7)."""
    indices = {group.facts.uid: group.index for group in cluster.pod_groups}
    found: list[list[str]] = [[] for _ in _IGNORED]
    seen: set[str] = set()
    for row in cluster.reservations:
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
            number = f"{format_count(len(uids), 'reservation')} {what}"
            detail = f"reservations.{field}: ignored {number}, such as that of {uids[0]}"
            yield SnapshotWarning(WarningCode.INVALID_RESERVATION, groups, detail)


def _long(cluster: Cluster, most: int) -> Iterator[SnapshotWarning]:
    """One warning for each queue with a longer notice than the options permit (semantics R16.1)."""
    for queue in cluster.queues if most else ():
        if (queue.notice or 0) > most:
            detail = f"queue {queue.name}: {_shortened(queue.notice or 0, most)}"
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

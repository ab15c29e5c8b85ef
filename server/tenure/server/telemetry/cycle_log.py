"""Log messages about requeue nominations, and about values that workload owners should fix.

Levels follow the requeue proposal: invalid values and clock skew are warnings (V(4)), nominations and skips
are information (V(5)), every check is for debugging (V(6)). Pod groups are NAME/NAMESPACE, under the key of
the proposal (`job`) in its lines, else under `pod_group`. A warning is logged once.
"""

import logging
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from tenure.codec.annotations import PREEMPTIBILITY, preemptibility_of
from tenure.codec.encoded_response import CycleSummary, NominationSummary, WarningSummary
from tenure.solver.model.facts import PodGroupFacts
from tenure.solver.resolution.persistent_map import PersistentMap
from tenure.terms.preemptibility import SPELLINGS, Preemptibility, PreemptibilitySource
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup
from tenure.wire.enum_labels import enum_label
from tenure.wire.timestamps import span, timestamp


class SeenKeys:
    """The `most` latest keys. Not thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: OrderedDict[Hashable, None] = OrderedDict()

    def is_new(self, thing: Hashable) -> bool:
        """Whether a key is new; adds it."""
        is_new = thing not in self._keys
        self._keys[thing] = None
        self._keys.move_to_end(thing)
        if len(self._keys) > self._most:
            self._keys.popitem(last=False)
        return is_new


MAX_SEEN: Final = 100_000
"""Maximum number of remembered warnings; older ones may be logged again. Only their hashes are kept."""
MAX_NAMED: Final = 3
"""Maximum number of legacy workloads that one message names."""
LEGACY_INTERVAL: Final = 300 * 10**9
"""Nanoseconds, by the times of snapshots, between messages about legacy workloads of a shard."""
_MAX_SHARDS: Final = 1_000

_REQUEUE: Final = logging.getLogger("tenure.requeue")
_PREEMPTIBILITY: Final = logging.getLogger("tenure.preemptibility")
_WARNING_CODES: Final = (
    pb.NOMINATION_SKIP_REASON_INVALID_DURATION,
    pb.NOMINATION_SKIP_REASON_INVALID_NOT_BEFORE,
    pb.NOMINATION_SKIP_REASON_CLOCK_SKEW,
)
"""Skip reasons that need a fix: warnings with the error when they are new."""


class CycleWorkloads:
    """Pod groups of a cycle by UID, for log lines and events that name them."""

    def __init__(self, snapshot: ClusterSnapshot, rows: PersistentMap[PodGroupFacts] | None = None) -> None:
        """`rows` are the pod groups of a pushed state, whose `snapshot` has no rows."""
        self.snapshot = snapshot
        self.rows = rows

    @cached_property
    def pod_groups(self) -> Mapping[str, PodGroup] | PersistentMap[PodGroupFacts]:
        """Pod groups by UID."""
        if self.rows is not None:
            return self.rows
        return {group.uid: group for group in self.snapshot.pod_groups}

    def name(self, pod_group: str) -> str:
        """Name of a pod group; its UID if it has no name."""
        found = self.pod_groups.get(pod_group)
        return (found.name if found else "") or pod_group


class CycleLog:
    """Logs the results of cycles. Its only state is which warnings are logged, and which wait to be."""

    def __init__(self) -> None:
        self._seen = SeenKeys(MAX_SEEN)
        self._states = SeenKeys(_MAX_SHARDS)
        """Cluster and origin of pushed states. Origins are compared by identity, so they are kept."""
        self._legacy_waiting: OrderedDict[tuple[str, str], _LegacyWorkloads] = OrderedDict()
        """By cluster and node pool."""

    def write(self, summary: CycleSummary, workloads: CycleWorkloads) -> None:
        """Log one cycle. Not thread-safe."""
        for nomination in summary.nominations:
            self._nomination(workloads, nomination)
        if summary.without_expected_runtime:
            self._without_expected_runtime(summary)
        for warning in summary.warnings:
            self._warning(workloads, warning, summary.now)

    def _without_expected_runtime(self, summary: CycleSummary) -> None:
        """One message about all of them, when their number is new."""
        number = summary.without_expected_runtime
        what = "without expected runtime"
        if self._seen.is_new(hash((summary.cluster_id, summary.node_pool, what, number))):
            error = "no expected runtime is set"
            line = "Requeue nomination skipped: %d %s, reason=invalid_duration, error=%s"
            _REQUEUE.info(line, number, "job" if number == 1 else "jobs", error)

    def _nomination(self, workloads: CycleWorkloads, nomination: NominationSummary) -> None:
        name = _Name(workloads, nomination.pod_group)
        for reason, detail in _skips(nomination).items():
            self._skip(workloads, nomination.pod_group, name, reason, detail)
        if nomination.is_candidate and not nomination.skip_reason:
            scope = ", surplus only" if nomination.surplus_only else ""
            for plugin in nomination.plugins:
                _REQUEUE.info("Requeue candidate nominated: job=%s, plugin=%s%s", name, plugin, scope)
        if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
            contender, until = _Name(workloads, nomination.contender), _time_text(nomination.not_before)
            _REQUEUE.info("Requeue committed: job=%s, contender=%s, not_before=%s", name, contender, until)
        if _REQUEUE.isEnabledFor(logging.DEBUG):
            _REQUEUE.debug("Requeue eligibility: job=%s, %s", name, _eligibility(nomination))

    def _skip(self, workloads: CycleWorkloads, pod_group: str, name: "_Name", code: int, error: str) -> None:
        reason = enum_label(pb.NominationSkipReason, code)
        if code not in _WARNING_CODES:
            _REQUEUE.info("Requeue nomination skipped: job=%s, reason=%s", name, reason)
            return
        level = logging.WARNING if self._is_new(workloads, pod_group, reason) else logging.INFO
        _REQUEUE.log(level, "Requeue nomination skipped: job=%s, reason=%s, error=%s", name, reason, error)

    def _warning(self, workloads: CycleWorkloads, warning: WarningSummary, now: int) -> None:
        match warning.code:
            case service_pb.WARNING_CODE_LEGACY_PREEMPTIBILITY:
                self._legacy(workloads, now)
            case service_pb.WARNING_CODE_UNKNOWN_PREEMPTIBILITY:
                self._value(workloads, warning, _PREEMPTIBILITY, "Preemptibility unknown")
            case service_pb.WARNING_CODE_INVALID_REQUEUE_DELAY:
                self._value(workloads, warning, _REQUEUE, "Requeue delay ignored")
            case service_pb.WARNING_CODE_INVALID_MIN_RUNTIME:
                self._value(workloads, warning, _PREEMPTIBILITY, "Minimum runtime invalid")
            case service_pb.WARNING_CODE_MIN_RUNTIME_NOT_PERMITTED:
                self._value(workloads, warning, _PREEMPTIBILITY, "Minimum runtime not permitted")
            case service_pb.WARNING_CODE_NOTICE_ABOVE_MAXIMUM:
                self._value(workloads, warning, _PREEMPTIBILITY, "Notice shortened")

    def _value(
        self, workloads: CycleWorkloads, warning: WarningSummary, logger: logging.Logger, what: str
    ) -> None:
        """Warn about an invalid value of a pod group."""
        for uid in warning.pod_groups:
            if self._is_new(workloads, uid, what):
                key = "job" if logger is _REQUEUE else "pod_group"
                logger.warning("%s: %s=%s, error=%s", what, key, _Name(workloads, uid), warning.detail)

    def _legacy(self, workloads: CycleWorkloads, now: int) -> None:
        """Warn about new pod groups with derived preemptibility: all of a while in one message."""
        shard = workloads.snapshot.cluster_id, workloads.snapshot.node_pool
        waiting = self._legacy_waiting.setdefault(shard, _LegacyWorkloads())
        self._legacy_waiting.move_to_end(shard)
        if len(self._legacy_waiting) > _MAX_SHARDS:
            self._legacy_waiting.popitem(last=False)
        for group in map(workloads.pod_groups.get, self._unseen(workloads)):
            if group is None:
                continue
            mode, source, _ = preemptibility_of(group)
            is_legacy = source is PreemptibilitySource.PRIORITY
            if is_legacy and self._is_new(workloads, group.uid, "legacy preemptibility"):
                waiting.add(_Name(workloads, group.uid), group.priority, mode)
        if waiting.number and not waiting.last <= now < waiting.last + LEGACY_INTERVAL:
            _PREEMPTIBILITY.warning("Legacy preemptibility: %s", waiting)
            self._legacy_waiting[shard] = _LegacyWorkloads(now)

    def _unseen(self, workloads: CycleWorkloads) -> Iterable[str]:
        """Pod groups not seen in an earlier cycle: of a pushed state, those that changed since."""
        known = workloads.rows
        if known is None or self._states.is_new((workloads.snapshot.cluster_id, known.origin)):
            return workloads.pod_groups
        return known.changed_uids

    def _is_new(self, workloads: CycleWorkloads, pod_group: str, what: str) -> bool:
        return self._seen.is_new(hash((workloads.snapshot.cluster_id, pod_group, what)))


class _Name(NamedTuple):
    """Name of a pod group in log messages, formatted only if a message is written."""

    workloads: CycleWorkloads
    pod_group: str

    def __str__(self) -> str:
        found = self.workloads.pod_groups.get(self.pod_group)
        name, namespace = self.workloads.name(self.pod_group), found.namespace if found else ""
        text = f"{name}/{namespace}" if namespace else name
        return text if text.isprintable() else ascii(text)


class _LegacyWorkloads:
    """Workloads with derived preemptibility that no message has named since `last`, in nanoseconds."""

    def __init__(self, last: int = -LEGACY_INTERVAL) -> None:
        self.last = last
        self.number = 0
        self._named: list[str] = []

    def add(self, name: _Name, priority: int, mode: Preemptibility) -> None:
        """Count a workload; the first ones are named."""
        self.number += 1
        if len(self._named) < MAX_NAMED:
            self._named.append(f"pod_group={name}, priority={priority}, preemptibility={SPELLINGS[mode]}")

    def __str__(self) -> str:
        more = self.number - len(self._named)
        rest = f" and {more} more pod groups" if more else ""
        return f"{'; '.join(self._named)}{rest}; set the annotation {PREEMPTIBILITY}"


def _skips(nomination: NominationSummary) -> dict[int, str]:
    """Why plugins, or the action, skipped a pod group, each reason once, with the first detail."""
    found: dict[int, str] = {}
    for _, reason, detail in nomination.skips:
        found.setdefault(reason, detail)
    if nomination.is_candidate and nomination.skip_reason:
        found.setdefault(nomination.skip_reason, nomination.detail)
    return found


def _eligibility(nomination: NominationSummary) -> str:
    facts = {
        "result": enum_label(pb.NominationResult, nomination.result),
        "overrun": span(nomination.overrun).ToJsonString(),
        "until": "" if nomination.until is None else _time_text(nomination.until),
        "detail": nomination.detail,
    }
    return ", ".join(f"{key}={value}" for key, value in facts.items() if value)


def _time_text(nanoseconds: int | None) -> str:
    return timestamp(nanoseconds or 0).ToJsonString()

"""What to do with a group of which some steps are done, some are refused, and some are left.

    all steps that count are done                        finished
    its time is over, or one is refused for good         cancel, unless its steps help without each other
    one is refused for now                               retry
    else                                                 in flight

What a group patches is due when what it notes has happened: that somebody was evicted, or was bound. Of a
group that is cancelled the evictions came to nothing, as far as they were asked of the cluster: that is
remembered in place of what the group would have had remembered.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.codec.limits import MAX_COUNT
from tenure.server.outcomes.sentences import said
from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1 import outcome_pb2 as pb

_COUNTING: Final = ("evict", "hold", "bind")
"""Steps that are done in the cluster; the others tell or note something."""
_STARTS: Final = ("last_start_time", "waited_after_evictions")
"""Patches that note a start."""
_Pair = tuple[str, str]


def judged(report: pb.GroupReport, now: Timestamp) -> pb.GroupVerdict:
    """The verdict on a group by what is known of it; equal reports get equal verdicts."""
    return _Judge(report, now).verdict()


class _Judge:
    """One report, read from several sides."""

    def __init__(self, report: pb.GroupReport, now: Timestamp) -> None:
        self._group = report.group
        self._now = now
        self._steps = {step.decision_id: step for step in report.steps}
        self._counting = [each for each in self._group.decisions if each.WhichOneof("step") in _COUNTING]
        self._memory: Mapping[_Pair, snapshot_pb2.EvictionMemory] = {
            (row.victim, row.preemptor): row for row in report.eviction_memory
        }

    def verdict(self) -> pb.GroupVerdict:
        fate = self._fate()
        return pb.GroupVerdict(
            id=self._group.id,
            fate=fate,
            message=said(fate, self._is_over(), list(self._refused())),
            patches=self._patches(is_cancelled=fate == pb.GROUP_FATE_CANCEL),
            retry_time=self._retry_time() if fate == pb.GROUP_FATE_RETRY else None,
        )

    def _fate(self) -> pb.GroupFate:
        needs_all = self._group.atomicity != decision_pb2.ATOMICITY_BEST_EFFORT
        lost = [step for step in self._refused() if not self._may_retry(step)]
        left = [each for each in self._counting if not self._is_settled(each)]
        if lost and needs_all:
            return pb.GROUP_FATE_CANCEL
        if not left:
            return pb.GROUP_FATE_FINISHED
        if self._is_over():
            return pb.GROUP_FATE_CANCEL
        if any(self._may_retry(step) for step in self._refused()):
            return pb.GROUP_FATE_RETRY
        return pb.GROUP_FATE_IN_FLIGHT

    def _refused(self) -> Iterator[pb.StepReport]:
        for decision in self._counting:
            step = self._steps.get(decision.id)
            if step is not None and step.result != pb.STEP_RESULT_APPLIED:
                yield step

    def _is_settled(self, decision: decision_pb2.Decision) -> bool:
        """Whether it is known for good what became of a step."""
        step = self._steps.get(decision.id)
        return step is not None and not self._may_retry(step)

    def _may_retry(self, step: pb.StepReport) -> bool:
        """Whether a step may still succeed within the time of the group."""
        if step.result != pb.STEP_RESULT_FAILED or not step.retryable or self._is_over():
            return False
        return not step.HasField("retry_time") or not self._is_past(step.retry_time)

    def _is_over(self) -> bool:
        return self._is_past(self._now)

    def _is_past(self, moment: Timestamp) -> bool:
        end = self._group.expire_time
        return self._group.HasField("expire_time") and moment.ToNanoseconds() >= end.ToNanoseconds()

    def _retry_time(self) -> Timestamp | None:
        """When every step that failed may be tried again."""
        times = [step.retry_time for step in self._refused() if step.HasField("retry_time")]
        return max(times, key=Timestamp.ToNanoseconds, default=None)

    def _patches(self, *, is_cancelled: bool) -> Iterator[pb.DuePatch]:
        for decision in self._group.decisions:
            if not decision.HasField("patch"):
                continue
            if (patch := self._due(decision.patch, is_cancelled)) is not None:
                yield pb.DuePatch(decision_id=decision.id, patch=patch)

    def _due(self, patch: decision_pb2.Patch, is_cancelled: bool) -> decision_pb2.Patch | None:
        """What is to be stored of a patch, or in its place."""
        if patch.HasField("remember") and self._came_to_nothing(patch.pod_group, is_cancelled):
            return self._failure(patch.remember)
        return patch if self._is_due(patch, is_cancelled) else None

    def _came_to_nothing(self, victim: str, is_cancelled: bool) -> bool:
        """Whether evictions of a pod group were asked of the cluster, and were refused or are in vain."""
        steps = [self._steps.get(each.id) for each in self._evictions(victim)]
        asked = [step for step in steps if step is not None]
        if is_cancelled:
            return bool(asked)
        is_gone = any(step.result == pb.STEP_RESULT_APPLIED for step in asked)
        return bool(asked) and not is_gone and not any(self._may_retry(step) for step in asked)

    def _failure(self, planned: snapshot_pb2.EvictionMemory) -> decision_pb2.Patch | None:
        """One failure more for a pair; None when what is kept of it is later than this group."""
        kept = self._memory.get((planned.victim, planned.preemptor))
        if kept is not None:
            order = kept.last_eviction_time.ToNanoseconds() - planned.last_eviction_time.ToNanoseconds()
            if order > 0 or (order == 0 and not kept.unsettled):
                return None
        row = snapshot_pb2.EvictionMemory(
            victim=planned.victim,
            preemptor=planned.preemptor,
            last_eviction_time=planned.last_eviction_time,
            failures=min(planned.failures + 1, MAX_COUNT),
            last_failure_time=self._now,
        )
        return decision_pb2.Patch(pod_group=planned.victim, remember=row)

    def _is_due(self, patch: decision_pb2.Patch, is_cancelled: bool) -> bool:
        """Whether what a patch notes has happened."""
        evictions = list(self._evictions(patch.pod_group))
        if patch.WhichOneof("change") in _STARTS or not evictions:
            causes = [each for each in self._counting if each.HasField("bind")]
        else:
            causes = evictions
        if not causes:
            return not is_cancelled
        return any(self._is_applied(each) for each in causes)

    def _evictions(self, victim: str) -> Iterator[decision_pb2.Decision]:
        return (each for each in self._counting if each.HasField("evict") and each.evict.pod_group == victim)

    def _is_applied(self, decision: decision_pb2.Decision) -> bool:
        step = self._steps.get(decision.id)
        return step is not None and step.result == pb.STEP_RESULT_APPLIED

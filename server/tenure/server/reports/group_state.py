"""Evaluate a group by the results of its decisions.

    all counting decisions are applied                 COMPLETED
    it expired, or a decision failed permanently       CANCELLED, unless its decisions are independent
    a decision failed and can be retried               RETRY
    else                                               IN_FLIGHT

A patch of the group is due when its event has happened: a pod was evicted or bound, or the first pod of the
pod group was given notice. In a cancelled group, evictions that the cluster
accepted or rejected were ineffective; this is stored instead of the eviction records of the group. Tokens of
eviction rates are due for evictions that are not made.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.solver.model.disruption_limits import TOKEN
from tenure.v1 import decision_pb2, snapshot_pb2
from tenure.v1 import report_pb2 as pb
from tenure.wire.in_flight_rows import reported_row
from tenure.wire.limits import MAX_COUNT
from tenure.wire.violations import escape_control_characters


def status_message(state: pb.GroupState, is_over: bool, failed: Sequence[pb.DecisionResult]) -> str:
    """One sentence with the reason and what to do."""
    match state:
        case pb.GROUP_STATE_COMPLETED:
            return "nothing is left to apply"
        case pb.GROUP_STATE_IN_FLIGHT:
            return "decisions are left to apply"
        case pb.GROUP_STATE_RETRY:
            return f"{_failure_message(failed)}; it can be retried"
    why = "it expired" if is_over else _failure_message(failed)
    return f"{why}; apply no further decisions of this group"


def _failure_message(failed: Sequence[pb.DecisionResult]) -> str:
    """The first failed decision, and the number of others."""
    first, others = failed[0], len(failed) - 1
    more = f" and {others} more" if others else ""
    is_stale = first.status == pb.APPLY_STATUS_PRECONDITION_FAILED
    why = "a precondition failed" if is_stale else "the cluster rejected it"
    return f"decision {escape_control_characters(first.decision_id)} was not applied: {why}{more}"


_COUNTING: Final = ("evict", "reserve", "bind")
"""Decisions that are applied to the cluster; the others are informative or patches."""
_STARTS: Final = ("last_start_time", "total_eviction_wait", "grant")
"""Patches that store a start."""
_Pair = tuple[str, str]


def evaluate(report: pb.GroupReport, now: Timestamp) -> pb.GroupStatus:
    """State of a group by its results so far; identical reports produce identical states."""
    return _GroupEvaluation(report, now).status()


class _GroupEvaluation:
    """Evaluation of one report."""

    def __init__(self, report: pb.GroupReport, now: Timestamp) -> None:
        self._group = report.group
        self._now = now
        self._steps = {step.decision_id: step for step in report.results}
        self._counting = [each for each in self._group.decisions if each.WhichOneof("kind") in _COUNTING]
        self._bindings = _Results()
        self._evictions: dict[str, _Results] = {}
        """By victim."""
        for each in self._counting:
            if each.HasField("bind"):
                self._bindings.add(self._steps.get(each.id))
            elif each.HasField("evict"):
                results = self._evictions.setdefault(each.evict.pod_group, _Results())
                results.add(self._steps.get(each.id))
        applied = {id for id, step in self._steps.items() if step.status == pb.APPLY_STATUS_APPLIED}
        self._noticed = {each.notify.pod_group for each in self._group.decisions if each.id in applied}
        """Pod groups with pods that were given notice."""
        self._history: Mapping[_Pair, snapshot_pb2.EvictionRecord] = {
            (row.victim, row.preemptor): row for row in report.eviction_history
        }

    def status(self) -> pb.GroupStatus:
        fate = self._state()
        return pb.GroupStatus(
            id=self._group.id,
            state=fate,
            message=status_message(fate, self._is_over(), list(self._failed_results())),
            patches=self._patches(is_cancelled=fate == pb.GROUP_STATE_CANCELLED),
            retry_time=self._retry_time() if fate == pb.GROUP_STATE_RETRY else None,
            in_flight=self._in_flight(is_cancelled=fate == pb.GROUP_STATE_CANCELLED),
        )

    def _in_flight(self, *, is_cancelled: bool) -> snapshot_pb2.InFlightGroup | None:
        """The row to send with the next snapshots. None: nothing of the group is in flight."""
        return reported_row(self._group, self._steps.values(), is_cancelled)

    def _state(self) -> pb.GroupState:
        needs_all = self._group.atomicity != decision_pb2.ATOMICITY_BEST_EFFORT
        lost = [step for step in self._failed_results() if not self._may_retry(step)]
        left = [each for each in self._counting if not self._is_settled(each)]
        if lost and needs_all:
            return pb.GROUP_STATE_CANCELLED
        if not left:
            return pb.GROUP_STATE_COMPLETED
        if self._is_over():
            return pb.GROUP_STATE_CANCELLED
        if any(self._may_retry(step) for step in self._failed_results()):
            return pb.GROUP_STATE_RETRY
        return pb.GROUP_STATE_IN_FLIGHT

    def _failed_results(self) -> Iterator[pb.DecisionResult]:
        for decision in self._counting:
            step = self._steps.get(decision.id)
            if step is not None and step.status != pb.APPLY_STATUS_APPLIED:
                yield step

    def _is_settled(self, decision: decision_pb2.Decision) -> bool:
        """Whether the result of a decision is final."""
        step = self._steps.get(decision.id)
        return step is not None and not self._may_retry(step)

    def _may_retry(self, result: pb.DecisionResult) -> bool:
        """Whether a decision may still succeed before the group expires."""
        if result.status != pb.APPLY_STATUS_FAILED or not result.retryable or self._is_over():
            return False
        return not result.HasField("retry_time") or not self._is_past(result.retry_time)

    def _is_over(self) -> bool:
        return self._is_past(self._now)

    def _is_past(self, moment: Timestamp) -> bool:
        end = self._group.expire_time
        return self._group.HasField("expire_time") and moment.ToNanoseconds() >= end.ToNanoseconds()

    def _retry_time(self) -> Timestamp | None:
        """Time when all failed decisions may be retried."""
        times = [step.retry_time for step in self._failed_results() if step.HasField("retry_time")]
        return max(times, key=Timestamp.ToNanoseconds, default=None)

    def _patches(self, *, is_cancelled: bool) -> Iterator[pb.PatchToStore]:
        for decision in self._group.decisions:
            if not decision.HasField("patch"):
                continue
            if (patch := self._due(decision.patch, is_cancelled)) is not None:
                yield pb.PatchToStore(decision_id=decision.id, patch=patch)
        yield from self._returned_tokens(is_cancelled)

    def _returned_tokens(self, is_cancelled: bool) -> Iterator[pb.PatchToStore]:
        """Tokens that were paid for evictions that are not made (semantics R15.9)."""
        shared: dict[tuple[str, str], list[decision_pb2.Decision]] = {}
        for decision in self._group.decisions:
            for rate in decision.evict.eviction_rates:
                if rate.per_pod_group:
                    shared.setdefault((decision.evict.pod_group, rate.name), []).append(decision)
                elif self._is_not_made(decision, is_cancelled):
                    yield _token(decision, rate.name)
        for (_, name), decisions in shared.items():
            if all(self._is_not_made(each, is_cancelled) for each in decisions):
                yield _token(decisions[0], name)

    def _is_not_made(self, decision: decision_pb2.Decision, is_cancelled: bool) -> bool:
        """Whether a decision was not applied, and will not be."""
        step = self._steps.get(decision.id)
        if step is None:
            return is_cancelled
        return step.status != pb.APPLY_STATUS_APPLIED and (is_cancelled or not self._may_retry(step))

    def _due(self, patch: decision_pb2.Patch, is_cancelled: bool) -> decision_pb2.Patch | None:
        """What to store for a patch, or in its place."""
        if patch.HasField("set_eviction_record") and self._is_ineffective(patch.pod_group, is_cancelled):
            return self._failure(patch.set_eviction_record)
        return patch if self._is_due(patch, is_cancelled) else None

    def _is_ineffective(self, victim: str, is_cancelled: bool) -> bool:
        """Whether evictions of a pod group were sent to the cluster and failed or were ineffective."""
        evictions = self._evictions.get(victim)
        if evictions is None or not evictions.reported:
            return False
        if is_cancelled:
            return True
        if evictions.may_retry is None:
            evictions.may_retry = any(self._may_retry(step) for step in evictions.reported)
        return not evictions.has_applied and not evictions.may_retry

    def _failure(self, planned: snapshot_pb2.EvictionRecord) -> decision_pb2.Patch | None:
        """One more failure for a pair; None if the stored record is later than this group."""
        kept = self._history.get((planned.victim, planned.preemptor))
        if kept is not None:
            order = kept.last_eviction_time.ToNanoseconds() - planned.last_eviction_time.ToNanoseconds()
            if order > 0 or (order == 0 and not kept.result_pending):
                return None
        row = snapshot_pb2.EvictionRecord(
            victim=planned.victim,
            preemptor=planned.preemptor,
            last_eviction_time=planned.last_eviction_time,
            consecutive_failures=min(planned.consecutive_failures + 1, MAX_COUNT),
            last_failure_time=self._now,
        )
        return decision_pb2.Patch(pod_group=planned.victim, set_eviction_record=row)

    def _is_due(self, patch: decision_pb2.Patch, is_cancelled: bool) -> bool:
        """Whether the event of a patch has happened."""
        evictions = self._evictions.get(patch.pod_group)
        if patch.HasField("last_notice_time"):
            return patch.pod_group in self._noticed
        is_start = patch.WhichOneof("change") in _STARTS
        causes = self._bindings if is_start or evictions is None else evictions
        return causes.has_applied if causes.decisions else not is_cancelled


def _token(decision: decision_pb2.Decision, rate: str) -> pb.PatchToStore:
    tokens = pb.ReturnedTokens(name=rate, tokens_milli=TOKEN)
    return pb.PatchToStore(decision_id=decision.id, returned_tokens=tokens)


class _Results:
    """Results of all bindings of a group, or of all its evictions of one pod group."""

    def __init__(self) -> None:
        self.decisions = 0
        self.reported: list[pb.DecisionResult] = []
        self.has_applied = False
        self.may_retry: bool | None = None
        """Whether any may still succeed; None: not known yet."""

    def add(self, step: pb.DecisionResult | None) -> None:
        """Add a decision with its result, if it has one."""
        self.decisions += 1
        if step is not None:
            self.reported.append(step)
            self.has_applied = self.has_applied or step.status == pb.APPLY_STATUS_APPLIED

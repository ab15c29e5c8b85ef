"""Logs: what became of pod groups that are expected to end, and values that workloads should mend.

The levels are those of the proposal: doubtful values and clock skew are warnings (V(4)), nominations and
skips are information (V(5)), every check in detail is for debugging (V(6)). Jobs are NAME/NAMESPACE.

What was said already, so that a log says it once.
"""

import logging
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

from tenure.codec import annotations
from tenure.render.response_view import ResponseView
from tenure.solver.model.facts import PodGroupSpec
from tenure.solver.model.workload import LEGACY_NON_PREEMPTIBLE_PRIORITY, Preemptibility
from tenure.v1 import decide_pb2 as service_pb
from tenure.v1 import decision_pb2 as pb
from tenure.v1.snapshot_pb2 import PodGroup
from tenure.wire.enum_labels import PREEMPTIBILITY, enum_label


class SeenKeys:
    """Remembers the `most` things that came up last. For one thread at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: OrderedDict[Hashable, None] = OrderedDict()

    def is_new(self, thing: Hashable) -> bool:
        """Whether it comes up for the first time, as far as memory goes; it is remembered from now on."""
        is_new = thing not in self._keys
        self._keys[thing] = None
        self._keys.move_to_end(thing)
        if len(self._keys) > self._most:
            self._keys.popitem(last=False)
        return is_new


MAX_SEEN: Final = 100_000
"""Warnings that are remembered as said; beyond that the oldest may be said again."""
MAX_PER_CYCLE: Final = 100
"""Workloads of the legacy rule that one cycle names."""

_REQUEUE: Final = logging.getLogger("tenure.requeue")
_PREEMPTIBILITY: Final = logging.getLogger("tenure.preemptibility")
_WARNING_CODES: Final = (
    pb.NOMINATION_SKIP_REASON_INVALID_DURATION,
    pb.NOMINATION_SKIP_REASON_INVALID_NOT_BEFORE,
    pb.NOMINATION_SKIP_REASON_CLOCK_SKEW,
)
"""Skips that somebody should mend: warnings when they are new, with the error."""


class CycleLog:
    """Writes about one cycle after the other; all it remembers is whom it has warned about."""

    def __init__(self) -> None:
        self._seen = SeenKeys(MAX_SEEN)

    def write(self, view: ResponseView) -> None:
        """Write about one cycle. Not for several threads at a time."""
        for nomination in view.response.nominations:
            self._nomination(view, nomination)
        for warning in view.response.warnings:
            self._warning(view, warning)

    def _nomination(self, view: ResponseView, nomination: pb.Nomination) -> None:
        job = _Job(view, nomination.pod_group)
        for plugin in nomination.nominated_by:
            _REQUEUE.info("Requeue candidate nominated: job=%s, plugin=%s", job, plugin)
        if nomination.skip_reason:
            self._skip(view, nomination, job)
        if nomination.result == pb.NOMINATION_RESULT_REQUEUED:
            contender, until = _Job(view, nomination.contender), nomination.not_before.ToJsonString()
            _REQUEUE.info("Requeue committed: job=%s, contender=%s, not_before=%s", job, contender, until)
        if _REQUEUE.isEnabledFor(logging.DEBUG):
            _REQUEUE.debug("Requeue eligibility: job=%s, %s", job, _eligibility(view, nomination))

    def _skip(self, view: ResponseView, nomination: pb.Nomination, job: "_Job") -> None:
        reason = enum_label(pb.NominationSkipReason, nomination.skip_reason)
        if nomination.skip_reason not in _WARNING_CODES:
            _REQUEUE.info("Requeue nomination skipped: job=%s, reason=%s", job, reason)
            return
        level = logging.WARNING if self._is_new(view, nomination.pod_group, reason) else logging.INFO
        error = view.detail(nomination)
        _REQUEUE.log(level, "Requeue nomination skipped: job=%s, reason=%s, error=%s", job, reason, error)

    def _warning(self, view: ResponseView, warning: service_pb.SnapshotWarning) -> None:
        match warning.code:
            case service_pb.WARNING_CODE_LEGACY_PREEMPTIBILITY:
                self._legacy(view)
            case service_pb.WARNING_CODE_UNKNOWN_PREEMPTIBILITY:
                self._value(view, warning, _PREEMPTIBILITY, "Preemptibility unknown")
            case service_pb.WARNING_CODE_INVALID_REQUEUE_DELAY:
                self._value(view, warning, _REQUEUE, "Requeue delay ignored")

    def _value(
        self, view: ResponseView, warning: service_pb.SnapshotWarning, logger: logging.Logger, what: str
    ) -> None:
        """A value of one pod group that is read as something else."""
        for uid in warning.pod_groups:
            if self._is_new(view, uid, what):
                error = warning.message.removeprefix(f"pod group {view.name(uid)}: ")
                logger.warning("%s: job=%s, error=%s", what, _Job(view, uid), error)

    def _legacy(self, view: ResponseView) -> None:
        """Everybody whose priority decides, to encourage them to say it; the warning names the first only."""
        groups = map(view.pod_groups.get, self._unseen(view))
        legacy = (group for group in groups if group is not None and _is_legacy(group))
        new = [group for group in legacy if self._is_new(view, group.uid, "legacy preemptibility")]
        line = "Legacy preemptibility: job=%s, priority=%d, preemptibility=%s; say so by the annotation %s"
        for group in new[:MAX_PER_CYCLE]:
            job, mode = _Job(view, group.uid), PREEMPTIBILITY[_legacy_mode(group)]
            _PREEMPTIBILITY.warning(line, job, group.priority, mode, annotations.PREEMPTIBILITY)
        if len(new) > MAX_PER_CYCLE:
            rest = len(new) - MAX_PER_CYCLE
            _PREEMPTIBILITY.warning("Legacy preemptibility: and %d more jobs of this cycle", rest)

    def _unseen(self, view: ResponseView) -> Iterable[str]:
        """Pod groups that no earlier cycle looked at: of a kept state, those that changed since it was."""
        known = view.pod_group_rows
        if known is None or self._seen.is_new((view.snapshot.cluster_id, known.origin)):
            return view.pod_groups
        return known.changed_uids

    def _is_new(self, view: ResponseView, pod_group: str, what: str) -> bool:
        return self._seen.is_new((view.snapshot.cluster_id, pod_group, what))


class _Job(NamedTuple):
    """A pod group as lines name it, made up only when a line is written."""

    view: ResponseView
    pod_group: str

    def __str__(self) -> str:
        found = self.view.pod_groups.get(self.pod_group)
        name, namespace = self.view.name(self.pod_group), found.namespace if found else ""
        text = f"{name}/{namespace}" if namespace else name
        return text if text.isprintable() else ascii(text)


def _eligibility(view: ResponseView, nomination: pb.Nomination) -> str:
    facts = {
        "result": enum_label(pb.NominationResult, nomination.result),
        "overrun": nomination.overrun.ToJsonString(),
        "until": nomination.reason.until.ToJsonString() if nomination.reason.HasField("until") else "",
        "detail": view.detail(nomination),
    }
    return ", ".join(f"{key}={value}" for key, value in facts.items() if value)


def _is_legacy(group: PodGroup | PodGroupSpec) -> bool:
    if group.preemptibility:
        return False
    if isinstance(group, PodGroupSpec):
        return True
    text = group.annotations.get(annotations.PREEMPTIBILITY, "")
    return annotations.preemptibility(text) is Preemptibility.UNSPECIFIED


def _legacy_mode(group: PodGroup | PodGroupSpec) -> Preemptibility:
    is_preemptible = group.priority < LEGACY_NON_PREEMPTIBLE_PRIORITY
    return Preemptibility.PREEMPTIBLE if is_preemptible else Preemptibility.NON_PREEMPTIBLE

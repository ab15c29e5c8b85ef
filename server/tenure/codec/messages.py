"""Encode reasons and guard verdicts.

A reason has a code, a sentence and a source. Sentences name the pod groups and queues concerned and are
printable.
"""

from collections.abc import Mapping
from typing import Final

from tenure.codec.encoding_cache import EncodingCache
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
    Evict,
    InFlightGroupState,
    InFlightGroupStatus,
    Patch,
    PatchKind,
    PodGroupOutcome,
    Requeue,
)
from tenure.solver.model.fate import Fate
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.verdict import GuardVerdict, ProtectionScope, VictimCost, VictimSet
from tenure.terms.custom_reason import CustomReason
from tenure.terms.reason_class import OUTCOMES
from tenure.terms.reasons import OWN_ENDS, REASONS, ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.wire.violations import escape_control_characters
from tenure.wire.writer import message, number, scalar, tag, text

_EVICTIONS: Final = {code: row.eviction.partition("{beneficiary}") for code, row in REASONS.items()}
_PATCHES: Final[Mapping[PatchKind, str]] = {
    PatchKind.LAST_START_TIME: " started",
    PatchKind.LAST_EVICTION_TIME: " was evicted",
    PatchKind.STALE_SINCE: " is below its minimum",
    PatchKind.CLEAR_STALE_SINCE: " is no longer below its minimum",
    PatchKind.REQUEUE_NOT_BEFORE: " must not be requeued before the given time",
    PatchKind.EVICTION_COUNT: ": eviction count increased",
    PatchKind.EVICTIONS_WITHOUT_PROGRESS: ": consecutive evictions without progress counted",
    PatchKind.LAST_NOTICE_TIME: " was given notice",
    PatchKind.HELD_BY: " is held until it is released",
    PatchKind.BACKFILL_FOR: ": owners of the reserved capacity that it uses updated",
    PatchKind.GRANT: ": what protects it from now on stored",
    PatchKind.EVICTIONS: ": evictions counted by cause",
    PatchKind.TOTAL_EVICTION_WAIT: ": total wait after evictions increased",
    PatchKind.SET_EVICTION_RECORD: ": eviction record for {preemptor} updated",
    PatchKind.DELETE_EVICTION_RECORD: ": eviction record for {preemptor} deleted",
}
_FATES: Final[Mapping[Fate, str]] = {
    Fate.UNSPECIFIED: "",
    Fate.REQUEUE: "; it waits again",
    Fate.HOLD: "; it is held until released",
    Fate.DELETE: "; it is deleted",
    Fate.SUSPEND: "; it is suspended",
}
_CHANGE_NAMES: Final = {kind: change.partition("{preemptor}") for kind, change in _PATCHES.items()}
_IN_FLIGHT: Final[Mapping[InFlightGroupState, str]] = {
    InFlightGroupState.IN_FLIGHT: "is in flight",
    InFlightGroupState.SUPERSEDED: "is superseded",
    InFlightGroupState.COMPLETED: "is completed",
    InFlightGroupState.EXPIRED: "is expired",
    InFlightGroupState.CANCELLED: "is cancelled",
}


class ReasonMessages:
    """Writes the sentences of one response."""

    def __init__(self, cluster: Cluster, cache: EncodingCache) -> None:
        self._cluster = cluster
        self._recurring = cache

    def eviction(
        self, code: ReasonCode, step: Evict, beneficiary: int, custom: CustomReason | None = None
    ) -> str:
        """Why a pod is evicted, and what becomes of it."""
        before, named, after = _evicted_because(code, custom)
        whom = self._pod_group(beneficiary) if named else ""
        then = "; it restarts on another node" if step.relocating else _FATES[step.fate]
        overridden = map(escape_control_characters, step.overridden_budgets)
        held = "".join([f"; disruption budget {name} holds no longer" for name in overridden])
        return f"{self._pod(step.task)} {before}{whom}{after}{held}{then}."

    def notice(
        self, code: ReasonCode, step: Evict, beneficiary: int, custom: CustomReason | None = None
    ) -> str:
        """Why a pod is given notice of its eviction."""
        before, named, after = _evicted_because(code, custom)
        whom = self._pod_group(beneficiary) if named else ""
        return f"{self._pod(step.task)} was given notice. At its end, the pod {before}{whom}{after}."

    def withdrawal(self, task: int) -> str:
        """That the notice of a pod is withdrawn."""
        return f"{self._pod(task)} is not evicted: its notice is withdrawn."

    def reserve(self, task: int, node: int, after_evictions: bool) -> str:
        """Why a pod waits for its reserved capacity."""
        after = (
            "the evicted pods have terminated"
            if after_evictions
            else "terminating pods have released their resources"
        )
        return f"{self._pod(task)} is assigned to node {self._node(node)} when {after}."

    def bind(self, task: int, node: int) -> str:
        """Why a pod is bound."""
        return f"{self._pod(task)} is bound to node {self._node(node)}."

    def requeue(self, step: Requeue) -> str:
        """Why a pod group is requeued."""
        contender = self._pod_group(step.contender)
        what = "exceeded its expected runtime and is requeued"
        return f"{self._capitalized(step.pod_group)} {what} for {contender}."

    def patch(self, patch: Patch) -> str:
        """Why a stored field of a pod group changes."""
        before, named, after = _CHANGE_NAMES[patch.kind]
        whom = ""
        if named:
            whom = self._pod_group(patch.value if patch.record is None else patch.record.preemptor)
        return f"{self._capitalized(patch.pod_group)}{before}{whom}{after}."

    def outcome(self, outcome: PodGroupOutcome, detail: str) -> str:
        """Outcome of a pod group, with the detail of its reason."""
        sentence = f"{self._capitalized(outcome.pod_group)} {OUTCOMES[outcome.kind]}"
        return f"{sentence}: {detail}." if detail else f"{sentence}."

    def in_flight(self, status: InFlightGroupStatus, detail: str) -> str:
        """State of an in-flight group, with the detail of its reason."""
        index = self._cluster.in_flight[status.group].beneficiary
        beneficiary = f" for {self._pod_group(index)}" if index != NOWHERE else ""
        return f"In-flight group{beneficiary} {_IN_FLIGHT[status.state]}: {detail}."

    def _pod_group(self, index: int) -> str:
        return self._recurring.pod_group(index).display_name

    def _capitalized(self, index: int) -> str:
        return self._recurring.pod_group(index).capitalized_name

    def _pod(self, index: int) -> str:
        task = self._cluster.tasks[index]
        return f"Pod {escape_control_characters(task.facts.name)} of {self._pod_group(task.pod_group)}"

    def _node(self, index: int) -> str:
        return self._recurring.node(index).display_name


def _evicted_because(code: ReasonCode, custom: CustomReason | None) -> tuple[str, str, str]:
    """Predicate of an evicted pod before its beneficiary, whether that is named, and the rest."""
    if custom is None:
        return _EVICTIONS[code]
    if code in OWN_ENDS:
        return f"is evicted because {custom.clause}", "", ""
    return "is evicted for ", "{beneficiary}", f" because {custom.clause}"


CODES: Final = {code: number(getattr(pb, f"REASON_CODE_{code.name}")) for code in ReasonCode}
"""Encoded numbers of reason codes."""
_CODE: Final = tag(pb.Reason, "code")
_MESSAGE: Final = tag(pb.Reason, "message")
_SOURCE: Final = tag(pb.Reason, "source")
_UNTIL: Final = tag(pb.Reason, "until")
_DETAIL: Final = tag(pb.Reason, "detail")
_CUSTOM: Final = tag(pb.Reason, "custom")


def printable_detail(detail: str) -> str:
    """Detail of a rejection as it follows the colon of a sentence."""
    return escape_control_characters(detail.rstrip("."))


def encode_reason(
    cache: EncodingCache,
    code: ReasonCode,
    sentence: str,
    source: str,
    until: int | None = None,
    detail: str = "",
    custom: CustomReason | None = None,
) -> bytes:
    """A reason. `until` is in nanoseconds; None: it holds until something changes. `custom` is a declared
    reason of the source.
    """
    fields = [_CODE, CODES[code], _MESSAGE, text(sentence), scalar(_SOURCE, cache.encoded_text(source))]
    if until is not None:
        fields += [_UNTIL, cache.moment(until)]
    if detail:
        fields += [_DETAIL, text(detail)]
    if custom is not None:
        fields += [_CUSTOM, cache.custom_reason(source, custom)]
    return message(fields)


SCOPES: Final = {
    scope: number(getattr(pb, f"PROTECTION_SCOPE_{scope.name if scope else 'UNSPECIFIED'}"))
    for scope in ProtectionScope
}
"""Encoded numbers of protection scopes."""
_GUARD: Final = tag(pb.GuardVerdict, "guard")
_SCOPE: Final = tag(pb.GuardVerdict, "scope")
_VERDICT_UNTIL: Final = tag(pb.GuardVerdict, "until")
_VERDICT_SOURCE: Final = tag(pb.GuardVerdict, "source")


def encode_guard_verdict(cache: EncodingCache, verdict: GuardVerdict) -> bytes:
    """Verdict of one guard on a victim."""
    fields = [_GUARD, cache.encoded_text(verdict.guard), scalar(_SCOPE, SCOPES[verdict.scope])]
    if verdict.until is not None:
        fields += [_VERDICT_UNTIL, cache.moment(verdict.until)]
    fields.append(scalar(_VERDICT_SOURCE, cache.encoded_text(verdict.source)))
    return message(fields)


_MINIMALITY: Final = tag(pb.VictimSet, "minimality")
_DISRUPTED_PODS: Final = tag(pb.VictimSet, "disrupted_pods")
_TRIED: Final = tag(pb.VictimSet, "tried")
_SUFFICIENT_PODS: Final = tag(pb.VictimSet, "sufficient_pods")
_UNTRIED: Final = tag(pb.VictimSet, "untried")
_PUT_BACK_PODS: Final = tag(pb.VictimSet, "put_back_pods")
_SET_COST: Final = tag(pb.VictimSet, "cost")
_VICTIM_COSTS: Final = tag(pb.VictimSet, "victim_costs")
_NEXT_BEST_PODS: Final = tag(pb.VictimSet, "next_best_pods")
_NEXT_BEST_COST: Final = tag(pb.VictimSet, "next_best_cost")
_NEXT_BEST_POD_GROUPS: Final = tag(pb.VictimSet, "next_best_pod_groups")
_NEXT_BEST_LOST_BY: Final = tag(pb.VictimSet, "next_best_lost_by")
_EXCESS_GPU: Final = tag(pb.VictimSet, "excess_gpu_milli")
_VICTIM: Final = tag(pb.VictimCost, "pod_group")
_VICTIM_PODS: Final = tag(pb.VictimCost, "pods")
_COST: Final = tag(pb.VictimCost, "cost")
_MAX_NUMBER: Final = 2**63 - 1
_LOST: Final = tag(pb.VictimCost, "lost")


def encode_victim_set(
    cache: EncodingCache, known: VictimSet, disrupted: int, sufficient: int | None = None
) -> bytes:
    """How many pods are disrupted, and how many would have been enough in the sets that were tried."""
    fields = [_MINIMALITY, number(known.minimality), _DISRUPTED_PODS, number(disrupted)]
    fields.append(scalar(_TRIED, number(known.tried)))
    if sufficient is not None:
        fields += [_SUFFICIENT_PODS, number(sufficient)]
    fields.append(scalar(_UNTRIED, number(known.untried)))
    fields.append(scalar(_PUT_BACK_PODS, number(known.put_back)))
    if known.costs:
        fields += [_SET_COST, _gpu_seconds(known.cost)]
    for each in known.costs:
        fields += [_VICTIM_COSTS, _encode_victim_cost(cache, each)]
    if known.next_best is not None:
        fields += [_NEXT_BEST_PODS, number(known.next_best.pods)]
        if known.costs:
            fields += [_NEXT_BEST_COST, _gpu_seconds(known.next_best.cost)]
        for pod_group in known.next_best.pod_groups:
            fields += [_NEXT_BEST_POD_GROUPS, cache.pod_group(pod_group).encoded]
        fields.append(scalar(_NEXT_BEST_LOST_BY, number(known.next_best.lost_by)))
    fields.append(scalar(_EXCESS_GPU, number(known.excess_gpu_milli)))
    return message(fields)


def _encode_victim_cost(cache: EncodingCache, each: VictimCost) -> bytes:
    cost, lost = each.price
    fields = [_VICTIM, cache.pod_group(each.pod_group).encoded, _VICTIM_PODS, number(each.pods)]
    fields.append(scalar(_COST, _gpu_seconds(cost)))
    fields.append(scalar(_LOST, _gpu_seconds(lost)))
    return message(fields)


def _gpu_seconds(thousandths: int) -> bytes:
    """Whole GPU-seconds, at most the largest number of the contract."""
    return number(min(thousandths // 1000, _MAX_NUMBER))

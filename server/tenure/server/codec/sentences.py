"""Reasons for people: one sentence each, naming the pod groups and queues concerned, and printable."""

from collections.abc import Mapping
from typing import Final

from tenure.server.codec.printable import printable
from tenure.server.codec.recurring import Recurring
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
    InFlightResult,
    InFlightStatus,
    Outcome,
    OutcomeKind,
    Patch,
    PatchKind,
    Requeue,
)
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.reason import ReasonCode

_EVICTIONS: Final[Mapping[ReasonCode, str]] = {
    ReasonCode.RECLAIMED: "yields to {beneficiary}, whose queue is below its fair share",
    ReasonCode.PREEMPTED: "yields to {beneficiary}, which has a higher priority in the same queue",
    ReasonCode.CONSOLIDATED: "makes room for {beneficiary}, so that scattered room becomes usable",
    ReasonCode.REQUEUED: "ran longer than expected and yields to {beneficiary}, which has a higher priority",
    ReasonCode.STALE_GANG: "is evicted because its gang stayed below the minimum for too long",
}
_WHY_EVICTED: Final = {code: why.partition("{beneficiary}") for code, why in _EVICTIONS.items()}
_OUTCOMES: Final[Mapping[OutcomeKind, str]] = {
    OutcomeKind.BOUND: "starts",
    OutcomeKind.WAITING_FOR_RELEASE: "waits for pods that are already terminating",
    OutcomeKind.WAITING_FOR_VICTIMS: "waits for the pods that are evicted for it",
    OutcomeKind.WAITING_FOR_QUOTA: "waits for quota",
    OutcomeKind.DELAYED: "may not start yet",
    OutcomeKind.INFEASIBLE: "cannot run on the cluster as it is",
    OutcomeKind.BUDGET_EXHAUSTED: "was not decided on within the search budget",
    OutcomeKind.REJECTED_INPUT: "cannot be scheduled as it is described",
}
_PATCHES: Final[Mapping[PatchKind, str]] = {
    PatchKind.LAST_START_TIME: "starts to run now",
    PatchKind.LAST_EVICTION_TIME: "has pods evicted now",
    PatchKind.STALE_SINCE: "runs below its minimum from now on",
    PatchKind.CLEAR_STALE_SINCE: "is no longer below its minimum",
    PatchKind.REQUEUE_NOT_BEFORE: "is not to be requeued again for now",
    PatchKind.EVICTION_COUNT: "is evicted once more",
    PatchKind.WAITED_AFTER_EVICTIONS: "starts again after an eviction",
    PatchKind.REMEMBER: "has its evictions for {preemptor} remembered",
    PatchKind.FORGET_PREEMPTOR: "need not remember evictions for {preemptor} any longer",
}
_WHAT_CHANGES: Final = {kind: told.partition("{preemptor}") for kind, told in _PATCHES.items()}
_IN_FLIGHT: Final[Mapping[InFlightResult, str]] = {
    InFlightResult.KEPT: "is kept",
    InFlightResult.REDEEMED: "is redeemed",
    InFlightResult.FINISHED: "is finished",
    InFlightResult.LAPSED: "lapses",
    InFlightResult.CANCELLED: "is cancelled",
}


class Sentences:
    """Writes the sentences of one answer."""

    def __init__(self, cluster: Cluster, recurring: Recurring) -> None:
        self._cluster = cluster
        self._recurring = recurring

    def eviction(self, code: ReasonCode, task: int, beneficiary: int, moves: bool) -> str:
        """Why a pod is evicted; `moves` when it gets room elsewhere."""
        before, named, after = _WHY_EVICTED[code]
        whom = self._pod_group(beneficiary) if named else ""
        return f"{self._pod(task)} {before}{whom}{after}{'; it moves to another node' if moves else ''}."

    def hold(self, task: int, node: int, after_evictions: bool) -> str:
        """Why a pod has to wait for the room it got."""
        leaving = "the evicted pods" if after_evictions else "pods that are already terminating"
        return f"{self._pod(task)} takes room on node {self._node(node)} when {leaving} are gone."

    def binding(self, task: int, node: int) -> str:
        """Why a pod can start."""
        return f"{self._pod(task)} starts on node {self._node(node)}, where there is room."

    def requeue(self, step: Requeue) -> str:
        """Why a pod group goes back to its queue."""
        contender = self._pod_group(step.contender)
        what = "ran longer than expected and goes back to its queue"
        return f"{self._begins(step.pod_group)} {what} for {contender}."

    def patch(self, patch: Patch) -> str:
        """Why a stored field of a pod group changes."""
        before, named, after = _WHAT_CHANGES[patch.kind]
        whom = ""
        if named:
            whom = self._pod_group(patch.value if patch.memory is None else patch.memory.preemptor)
        return f"{self._begins(patch.pod_group)} {before}{whom}{after}."

    def outcome(self, outcome: Outcome) -> str:
        """What happened to a pod group, with the detail of the plugin or action that said so."""
        said = f"{self._begins(outcome.pod_group)} {_OUTCOMES[outcome.kind]}"
        detail = printable(outcome.reason.detail.rstrip("."))
        return f"{said}: {detail}." if detail else f"{said}."

    def in_flight(self, status: InFlightStatus) -> str:
        """What became of a group in flight, and why."""
        index = self._cluster.in_flight[status.group].beneficiary
        who = f" for {self._pod_group(index)}" if index != NOWHERE else ""
        why = printable(status.reason.detail)
        return f"The group in flight{who} {_IN_FLIGHT[status.result]}: {why}."

    def _pod_group(self, index: int) -> str:
        return self._recurring.pod_group(index).said

    def _begins(self, index: int) -> str:
        return self._recurring.pod_group(index).begins

    def _pod(self, index: int) -> str:
        task = self._cluster.tasks[index]
        return f"Pod {printable(task.name)} of {self._pod_group(task.pod_group)}"

    def _node(self, index: int) -> str:
        return self._recurring.node(index).said

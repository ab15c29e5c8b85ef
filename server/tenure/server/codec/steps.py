"""The steps of a decision group: from the solver's tuples to messages.

Messages are filled where they stand: one that is made apart is copied into the one around it, and there may
be tens of thousands of steps.
"""

from typing import Final

from tenure.server.codec.guards import encode_check
from tenure.server.codec.identifiers import Identifiers
from tenure.server.codec.inflight import fill_hold, fill_place
from tenure.server.codec.patches import encode_patch
from tenure.server.codec.printable import printable
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.times import set_time
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
    Atomicity,
    Bind,
    DecisionGroup,
    Evict,
    Hold,
    Patch,
    PatchKind,
    Requeue,
)
from tenure.solver.model.reason import ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import BasedOn

REASON_CODES: Final = {code: getattr(pb, f"REASON_CODE_{code.name}") for code in ReasonCode}
"""Codes as the contract numbers them."""
_ATOMICITIES: Final = {each: getattr(pb, f"ATOMICITY_{each.name}") for each in Atomicity}
_KINDS: Final = {kind: kind.name.lower() for kind in PatchKind}


class StepEncoder:
    """Encodes the groups of one answer. Each of its methods fills in the message of one kind of step."""

    def __init__(self, cluster: Cluster, based_on: BasedOn, say: Sentences) -> None:
        self._cluster = cluster
        self._version = based_on.version
        self._ids = Identifiers(based_on)
        self._say = say

    def group(self, into: pb.DecisionGroup, ordinal: int, group: DecisionGroup) -> None:
        """One group: evictions first, then the requeue, holds, bindings, patches."""
        beneficiary = self._cluster.pod_groups[group.beneficiary].uid
        into.id = self._ids.group(ordinal, group.action, beneficiary)
        into.action = group.action
        into.beneficiary = beneficiary
        into.atomicity = _ATOMICITIES[group.atomicity]
        set_time(into.expire_time, group.expires)
        into.in_flight_group = group.in_flight
        add = into.decisions.add
        for eviction in group.evictions:
            self._evict(add(), ordinal, group, eviction)
        if group.requeue is not None:
            self._requeue(add(), ordinal, group, group.requeue)
        for hold in group.holds:
            self._hold(add(), ordinal, group, hold)
        for binding in group.bindings:
            self._bind(add(), ordinal, group, binding)
        for patch in group.patches:
            self._patch(add(), ordinal, group, patch)

    def _evict(self, into: pb.Decision, ordinal: int, group: DecisionGroup, step: Evict) -> None:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        into.id = self._ids.step(ordinal, "evict", pod, node)
        evict = into.evict
        evict.pod = pod
        evict.node = node
        evict.beneficiary = self._cluster.pod_groups[group.beneficiary].uid
        evict.moves = step.moves
        evict.pod_group = self._pod_group(step.task)
        if step.guards:
            evict.guards.extend([encode_check(verdict) for verdict in step.guards])
        message = self._say.eviction(group.reason, step.task, group.beneficiary, step.moves)
        fill_reason(into.reason, group.reason, message, group.action)
        self._require(into.preconditions, pod, node)

    def _requeue(self, into: pb.Decision, ordinal: int, group: DecisionGroup, step: Requeue) -> None:
        uid = self._cluster.pod_groups[step.pod_group].uid
        into.id = self._ids.step(ordinal, "requeue", uid)
        requeue = into.requeue
        requeue.pod_group = uid
        set_time(requeue.not_before, step.not_before)
        requeue.contender = self._cluster.pod_groups[step.contender].uid
        requeue.nominated_by.extend(step.nominated_by)
        fill_reason(into.reason, group.reason, self._say.requeue(step), group.action)
        self._require(into.preconditions)

    def _hold(self, into: pb.Decision, ordinal: int, group: DecisionGroup, step: Hold) -> None:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        into.id = self._ids.step(ordinal, "hold", pod, node)
        fill_hold(into.hold, self._cluster, step)
        code = ReasonCode.VICTIMS_EVICTED if group.evictions else ReasonCode.PIPELINED
        message = self._say.hold(step.task, step.node, bool(group.evictions))
        fill_reason(into.reason, code, message, group.action)
        self._require(into.preconditions, pod)

    def _bind(self, into: pb.Decision, ordinal: int, group: DecisionGroup, step: Bind) -> None:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        into.id = self._ids.step(ordinal, "bind", pod, node)
        fill_place(into.bind, self._cluster, step)
        message = self._say.binding(step.task, step.node)
        fill_reason(into.reason, ReasonCode.ALLOCATED, message, group.action)
        self._require(into.preconditions, pod)

    def _patch(self, into: pb.Decision, ordinal: int, group: DecisionGroup, step: Patch) -> None:
        pod_group = self._cluster.pod_groups[step.pod_group].uid
        into.id = self._ids.step(ordinal, _KINDS[step.kind], pod_group, self._preemptor(step))
        encode_patch(into.patch, self._cluster, step)
        fill_reason(into.reason, ReasonCode.STATE_CHANGED, self._say.patch(step), group.action)
        self._require(into.preconditions)

    def _pod_group(self, task: int) -> str:
        return self._cluster.pod_groups[self._cluster.tasks[task].pod_group].uid

    def _preemptor(self, patch: Patch) -> str:
        """Whose evictions a patch is about: part of its id, for there may be several in a group."""
        if patch.memory is not None:
            return self._cluster.pod_groups[patch.memory.preemptor].uid
        is_forgotten = patch.kind is PatchKind.FORGET_PREEMPTOR
        return self._cluster.pod_groups[patch.value].uid if is_forgotten else ""

    def _require(self, into: pb.Preconditions, pod: str = "", node: str = "") -> None:
        """What must still hold: no node means that the pod is still unbound."""
        into.pod_uid = pod
        into.node = node
        into.snapshot_version = self._version


def fill_reason(into: pb.Reason, code: ReasonCode, message: str, source: str) -> None:
    """A reason that holds until something changes."""
    into.code = REASON_CODES[code]
    into.message = printable(message)
    into.source = source

"""The steps of a decision group: from the solver's objects to messages. There may be tens of thousands."""

from typing import Final

from tenure.server.codec.guards import encode_check
from tenure.server.codec.identifiers import NOBODY, Identifiers, basis_of, quoted
from tenure.server.codec.patches import encode_patch
from tenure.server.codec.places import encode_binding, encode_hold
from tenure.server.codec.reasons import encode_reason
from tenure.server.codec.recurring import Recurring
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.writing import message, number, tag, text
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
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

_GROUP_ID: Final = tag(pb.DecisionGroup, "id")
_ACTION: Final = tag(pb.DecisionGroup, "action")
_BENEFICIARY: Final = tag(pb.DecisionGroup, "beneficiary")
_DECISIONS: Final = tag(pb.DecisionGroup, "decisions")
_ATOMICITY: Final = tag(pb.DecisionGroup, "atomicity")
_EXPIRE_TIME: Final = tag(pb.DecisionGroup, "expire_time")
_IN_FLIGHT_GROUP: Final = tag(pb.DecisionGroup, "in_flight_group")

_ID: Final = tag(pb.Decision, "id")
_BIND: Final = tag(pb.Decision, "bind")
_EVICT: Final = tag(pb.Decision, "evict")
_HOLD: Final = tag(pb.Decision, "hold")
_REQUEUE: Final = tag(pb.Decision, "requeue")
_PATCH: Final = tag(pb.Decision, "patch")
_REASON: Final = tag(pb.Decision, "reason")
_PRECONDITIONS: Final = tag(pb.Decision, "preconditions")

_EVICTED: Final = tag(pb.Evict, "pod")
_EVICTED_FROM: Final = tag(pb.Evict, "node")
_EVICTED_FOR: Final = tag(pb.Evict, "beneficiary")
_MOVES: Final = tag(pb.Evict, "moves")
_GUARDS: Final = tag(pb.Evict, "guards")
_EVICTED_OF: Final = tag(pb.Evict, "pod_group")

_REQUEUED: Final = tag(pb.Requeue, "pod_group")
_NOT_BEFORE: Final = tag(pb.Requeue, "not_before")
_CONTENDER: Final = tag(pb.Requeue, "contender")
_NOMINATED_BY: Final = tag(pb.Requeue, "nominated_by")

_POD_UID: Final = tag(pb.Preconditions, "pod_uid")
_NODE: Final = tag(pb.Preconditions, "node")
_SNAPSHOT_VERSION: Final = tag(pb.Preconditions, "snapshot_version")

_EVICTION: Final = quoted("evict")
_REQUEUING: Final = quoted("requeue")
_HOLDING: Final = quoted("hold")
_BINDING: Final = quoted("bind")
_PATCHING: Final = {kind: quoted(kind.name.lower()) for kind in PatchKind}
"""Kinds of steps in ids."""
_NOTHING: Final = text("")
_FORGET: Final = PatchKind.FORGET_PREEMPTOR
_ALLOCATED: Final = ReasonCode.ALLOCATED
_PIPELINED: Final = ReasonCode.PIPELINED
_VICTIMS_EVICTED: Final = ReasonCode.VICTIMS_EVICTED
_STATE_CHANGED: Final = ReasonCode.STATE_CHANGED


class StepEncoder:
    """Encodes the groups of one answer. Each of its methods writes the messages of one kind of step."""

    def __init__(self, cluster: Cluster, based_on: BasedOn, recurring: Recurring, say: Sentences) -> None:
        self._cluster = cluster
        self._version = number(based_on.version)
        self._nothing_required = self._require(_NOTHING, _NOTHING)
        self._basis = basis_of(based_on)
        self._recurring = recurring
        self._say = say

    def group(self, ordinal: int, group: DecisionGroup) -> bytes:
        """One group: evictions first, then the requeue, holds, bindings, patches."""
        recurring, ids = self._recurring, Identifiers(self._basis, ordinal)
        beneficiary = recurring.pod_group(group.beneficiary)
        fields = [
            _GROUP_ID,
            ids.group(quoted(group.action), beneficiary.quoted),
            _ACTION,
            recurring.word(group.action),
            _BENEFICIARY,
            beneficiary.written,
            _ATOMICITY,
            number(group.atomicity),
            _EXPIRE_TIME,
            recurring.moment(group.expires),
            _IN_FLIGHT_GROUP,
            text(group.in_flight),
        ]
        for eviction in group.evictions:
            fields += [_DECISIONS, self._evict(ids, group, eviction)]
        if group.requeue is not None:
            fields += [_DECISIONS, self._requeue(ids, group, group.requeue)]
        for hold in group.holds:
            fields += [_DECISIONS, self._hold(ids, group, hold)]
        for binding in group.bindings:
            fields += [_DECISIONS, self._bind(ids, group, binding)]
        for patch in group.patches:
            fields += [_DECISIONS, self._patch(ids, group, patch)]
        return message(fields)

    def _evict(self, ids: Identifiers, group: DecisionGroup, step: Evict) -> bytes:
        recurring, task = self._recurring, self._cluster.tasks[step.task]
        pod, node = text(task.uid), recurring.node(step.node)
        fields = [
            _EVICTED,
            pod,
            _EVICTED_FROM,
            node.written,
            _EVICTED_FOR,
            recurring.pod_group(group.beneficiary).written,
            _MOVES,
            number(step.moves),
            _EVICTED_OF,
            recurring.pod_group(task.pod_group).written,
        ]
        for verdict in step.guards:
            fields += [_GUARDS, encode_check(recurring, verdict)]
        said = self._say.eviction(group.reason, step.task, group.beneficiary, step.moves)
        return message(
            [
                _ID,
                ids.step(_EVICTION, quoted(task.uid), node.quoted),
                _EVICT,
                message(fields),
                _REASON,
                encode_reason(recurring, group.reason, said, group.action),
                _PRECONDITIONS,
                self._require(pod, node.written),
            ]
        )

    def _requeue(self, ids: Identifiers, group: DecisionGroup, step: Requeue) -> bytes:
        recurring = self._recurring
        pod_group = recurring.pod_group(step.pod_group)
        fields = [_REQUEUED, pod_group.written, _NOT_BEFORE, recurring.moment(step.not_before)]
        fields += [_CONTENDER, recurring.pod_group(step.contender).written]
        for nominator in step.nominated_by:
            fields += [_NOMINATED_BY, recurring.word(nominator)]
        return message(
            [
                _ID,
                ids.step(_REQUEUING, pod_group.quoted),
                _REQUEUE,
                message(fields),
                _REASON,
                encode_reason(recurring, group.reason, self._say.requeue(step), group.action),
                _PRECONDITIONS,
                self._nothing_required,
            ]
        )

    def _hold(self, ids: Identifiers, group: DecisionGroup, step: Hold) -> bytes:
        pod = self._cluster.tasks[step.task].uid
        code = _VICTIMS_EVICTED if group.evictions else _PIPELINED
        said = self._say.hold(step.task, step.node, bool(group.evictions))
        return message(
            [
                _ID,
                ids.step(_HOLDING, quoted(pod), self._recurring.node(step.node).quoted),
                _HOLD,
                encode_hold(self._cluster, self._recurring, step),
                _REASON,
                encode_reason(self._recurring, code, said, group.action),
                _PRECONDITIONS,
                self._require(text(pod), _NOTHING),
            ]
        )

    def _bind(self, ids: Identifiers, group: DecisionGroup, step: Bind) -> bytes:
        pod = self._cluster.tasks[step.task].uid
        said = self._say.binding(step.task, step.node)
        return message(
            [
                _ID,
                ids.step(_BINDING, quoted(pod), self._recurring.node(step.node).quoted),
                _BIND,
                encode_binding(self._cluster, self._recurring, step),
                _REASON,
                encode_reason(self._recurring, _ALLOCATED, said, group.action),
                _PRECONDITIONS,
                self._require(text(pod), _NOTHING),
            ]
        )

    def _patch(self, ids: Identifiers, group: DecisionGroup, step: Patch) -> bytes:
        pod_group = self._recurring.pod_group(step.pod_group).quoted
        return message(
            [
                _ID,
                ids.step(_PATCHING[step.kind], pod_group, self._preemptor(step)),
                _PATCH,
                encode_patch(self._recurring, step),
                _REASON,
                encode_reason(self._recurring, _STATE_CHANGED, self._say.patch(step), group.action),
                _PRECONDITIONS,
                self._nothing_required,
            ]
        )

    def _preemptor(self, patch: Patch) -> str:
        """Whose evictions a patch is about: part of its id, for there may be several in a group."""
        if patch.memory is not None:
            return self._recurring.pod_group(patch.memory.preemptor).quoted
        return self._recurring.pod_group(patch.value).quoted if patch.kind is _FORGET else NOBODY

    def _require(self, pod: bytes, node: bytes) -> bytes:
        """What must still hold: no node means that the pod is still unbound, no pod that nothing must."""
        return message([_POD_UID, pod, _NODE, node, _SNAPSHOT_VERSION, self._version])

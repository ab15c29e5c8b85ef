"""The steps of a decision group: from the solver's objects to messages. There may be tens of thousands."""

from typing import Final

from tenure.server.codec.guards import encode_check
from tenure.server.codec.identifiers import Identifiers
from tenure.server.codec.patches import encode_patch
from tenure.server.codec.places import encode_binding, encode_hold
from tenure.server.codec.reasons import encode_reason
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.writing import message, moment, number, tag, text
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

_KINDS: Final = {kind: kind.name.lower() for kind in PatchKind}
_FORGET: Final = PatchKind.FORGET_PREEMPTOR
_ALLOCATED: Final = ReasonCode.ALLOCATED
_PIPELINED: Final = ReasonCode.PIPELINED
_VICTIMS_EVICTED: Final = ReasonCode.VICTIMS_EVICTED
_STATE_CHANGED: Final = ReasonCode.STATE_CHANGED


class StepEncoder:
    """Encodes the groups of one answer. Each of its methods writes the messages of one kind of step."""

    def __init__(self, cluster: Cluster, based_on: BasedOn, say: Sentences) -> None:
        self._cluster = cluster
        self._version = number(based_on.version)
        self._nothing_required = self._require("", "")
        self._ids = Identifiers(based_on)
        self._say = say

    def group(self, ordinal: int, group: DecisionGroup) -> bytes:
        """One group: evictions first, then the requeue, holds, bindings, patches."""
        beneficiary = self._cluster.pod_groups[group.beneficiary].uid
        fields = [
            _GROUP_ID,
            text(self._ids.group(ordinal, group.action, beneficiary)),
            _ACTION,
            text(group.action),
            _BENEFICIARY,
            text(beneficiary),
            _ATOMICITY,
            number(group.atomicity),
            _EXPIRE_TIME,
            moment(group.expires),
            _IN_FLIGHT_GROUP,
            text(group.in_flight),
        ]
        for eviction in group.evictions:
            fields += [_DECISIONS, self._evict(ordinal, group, eviction)]
        if group.requeue is not None:
            fields += [_DECISIONS, self._requeue(ordinal, group, group.requeue)]
        for hold in group.holds:
            fields += [_DECISIONS, self._hold(ordinal, group, hold)]
        for binding in group.bindings:
            fields += [_DECISIONS, self._bind(ordinal, group, binding)]
        for patch in group.patches:
            fields += [_DECISIONS, self._patch(ordinal, group, patch)]
        return message(fields)

    def _evict(self, ordinal: int, group: DecisionGroup, step: Evict) -> bytes:
        task, node = self._cluster.tasks[step.task], self._cluster.nodes[step.node].name
        fields = [
            _EVICTED,
            text(task.uid),
            _EVICTED_FROM,
            text(node),
            _EVICTED_FOR,
            text(self._cluster.pod_groups[group.beneficiary].uid),
            _MOVES,
            number(step.moves),
            _EVICTED_OF,
            text(self._cluster.pod_groups[task.pod_group].uid),
        ]
        for verdict in step.guards:
            fields += [_GUARDS, encode_check(verdict)]
        said = self._say.eviction(group.reason, step.task, group.beneficiary, step.moves)
        return message(
            [
                _ID,
                text(self._ids.step(ordinal, "evict", task.uid, node)),
                _EVICT,
                message(fields),
                _REASON,
                encode_reason(group.reason, said, group.action),
                _PRECONDITIONS,
                self._require(task.uid, node),
            ]
        )

    def _requeue(self, ordinal: int, group: DecisionGroup, step: Requeue) -> bytes:
        uid = self._cluster.pod_groups[step.pod_group].uid
        fields = [_REQUEUED, text(uid), _NOT_BEFORE, moment(step.not_before)]
        fields += [_CONTENDER, text(self._cluster.pod_groups[step.contender].uid)]
        for nominator in step.nominated_by:
            fields += [_NOMINATED_BY, text(nominator)]
        return message(
            [
                _ID,
                text(self._ids.step(ordinal, "requeue", uid)),
                _REQUEUE,
                message(fields),
                _REASON,
                encode_reason(group.reason, self._say.requeue(step), group.action),
                _PRECONDITIONS,
                self._nothing_required,
            ]
        )

    def _hold(self, ordinal: int, group: DecisionGroup, step: Hold) -> bytes:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        code = _VICTIMS_EVICTED if group.evictions else _PIPELINED
        said = self._say.hold(step.task, step.node, bool(group.evictions))
        return message(
            [
                _ID,
                text(self._ids.step(ordinal, "hold", pod, node)),
                _HOLD,
                encode_hold(self._cluster, step),
                _REASON,
                encode_reason(code, said, group.action),
                _PRECONDITIONS,
                self._require(pod, ""),
            ]
        )

    def _bind(self, ordinal: int, group: DecisionGroup, step: Bind) -> bytes:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        said = self._say.binding(step.task, step.node)
        return message(
            [
                _ID,
                text(self._ids.step(ordinal, "bind", pod, node)),
                _BIND,
                encode_binding(self._cluster, step),
                _REASON,
                encode_reason(_ALLOCATED, said, group.action),
                _PRECONDITIONS,
                self._require(pod, ""),
            ]
        )

    def _patch(self, ordinal: int, group: DecisionGroup, step: Patch) -> bytes:
        pod_group = self._cluster.pod_groups[step.pod_group].uid
        return message(
            [
                _ID,
                text(self._ids.step(ordinal, _KINDS[step.kind], pod_group, self._preemptor(step))),
                _PATCH,
                encode_patch(self._cluster, step),
                _REASON,
                encode_reason(_STATE_CHANGED, self._say.patch(step), group.action),
                _PRECONDITIONS,
                self._nothing_required,
            ]
        )

    def _preemptor(self, patch: Patch) -> str:
        """Whose evictions a patch is about: part of its id, for there may be several in a group."""
        if patch.memory is not None:
            return self._cluster.pod_groups[patch.memory.preemptor].uid
        return self._cluster.pod_groups[patch.value].uid if patch.kind is _FORGET else ""

    def _require(self, pod: str, node: str) -> bytes:
        """What must still hold: no node means that the pod is still unbound, no pod that nothing must."""
        return message([_POD_UID, text(pod), _NODE, text(node), _SNAPSHOT_VERSION, self._version])

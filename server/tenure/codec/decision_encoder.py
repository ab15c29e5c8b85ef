"""Encode decision groups and their decisions. A response can contain tens of thousands of decisions."""

from collections.abc import Sequence
from typing import Final

from tenure.codec.decisions.notices import NoticeEncoder
from tenure.codec.decisions.patches import encode_patch, preemptor_of
from tenure.codec.encoding_cache import EncodingCache, Identifiers, compute_id_seed, quoted
from tenure.codec.messages import ReasonMessages, encode_guard_verdict, encode_reason, encode_victim_set
from tenure.codec.nodes import encode_placement
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import (
    NO_NOTICES,
    Bind,
    DecisionGroup,
    Evict,
    Patch,
    PatchKind,
    Requeue,
    Reserve,
)
from tenure.solver.model.disruption_limits import EvictionRateStatus
from tenure.solver.model.placement import TaskStatus
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import ResponseHeader
from tenure.wire.timestamps import span
from tenure.wire.writer import message, number, scalar, serialize_message, tag, text

_POD: Final = tag(pb.Reserve, "pod")
_RESERVED_NODE: Final = tag(pb.Reserve, "node")
_GPU_GROUPS: Final = tag(pb.Reserve, "gpu_groups")
_NUMA_PLACEMENT: Final = tag(pb.Reserve, "numa_placement")
"""Bind has the same fields with the same numbers."""
_POD_GROUP: Final = tag(pb.Reserve, "pod_group")
_SUB_GROUP: Final = tag(pb.Reserve, "sub_group")


def encode_reserve(cluster: Cluster, cache: EncodingCache, reserve: Reserve) -> bytes:
    """Reservation of capacity for a pod."""
    task = cluster.tasks[reserve.task]
    fields = [*_placement(cluster, cache, reserve), _POD_GROUP, cache.pod_group(task.pod_group).encoded]
    pod_sets = cluster.pod_groups[task.pod_group].pod_sets
    for pod_set in pod_sets if len(pod_sets) > 1 else ():
        if pod_set.index == task.pod_set:
            fields += [_SUB_GROUP, text(pod_set.name)]
    return message(fields)


def encode_bind(cluster: Cluster, cache: EncodingCache, binding: Bind) -> bytes:
    """Binding of a pod."""
    return message(_placement(cluster, cache, binding))


def _placement(cluster: Cluster, cache: EncodingCache, step: Reserve | Bind) -> list[bytes]:
    fields = [_POD, text(cluster.tasks[step.task].facts.uid), _RESERVED_NODE, cache.node(step.node).encoded]
    for group in step.gpu_groups:
        fields += [_GPU_GROUPS, text(group)]
    if step.zones:
        for placement in encode_placement(cluster, step.node, step.zones):
            fields += [_NUMA_PLACEMENT, serialize_message(placement)]
    return fields


_GROUP_ID: Final = tag(pb.DecisionGroup, "id")
_ACTION: Final = tag(pb.DecisionGroup, "action")
_BENEFICIARY: Final = tag(pb.DecisionGroup, "beneficiary")
_DECISIONS: Final = tag(pb.DecisionGroup, "decisions")
_ATOMICITY: Final = tag(pb.DecisionGroup, "atomicity")
_EXPIRE_TIME: Final = tag(pb.DecisionGroup, "expire_time")
_FULFILLS_GROUP_ID: Final = tag(pb.DecisionGroup, "fulfills_group_id")
_VICTIM_SET: Final = tag(pb.DecisionGroup, "victim_set")

_ID: Final = tag(pb.Decision, "id")
_BIND: Final = tag(pb.Decision, "bind")
_EVICT: Final = tag(pb.Decision, "evict")
_RESERVE: Final = tag(pb.Decision, "reserve")
_REQUEUE: Final = tag(pb.Decision, "requeue")
_PATCH: Final = tag(pb.Decision, "patch")
_REASON: Final = tag(pb.Decision, "reason")
_PRECONDITIONS: Final = tag(pb.Decision, "preconditions")

_EVICTED: Final = tag(pb.Evict, "pod")
_EVICTED_FROM: Final = tag(pb.Evict, "node")
_EVICT_PREEMPTOR: Final = tag(pb.Evict, "preemptor")
_RELOCATING: Final = tag(pb.Evict, "relocating")
_GUARDS: Final = tag(pb.Evict, "guards")
_EVICTED_OF: Final = tag(pb.Evict, "pod_group")
_FATE: Final = tag(pb.Evict, "fate")
_GRACE_PERIOD: Final = tag(pb.Evict, "grace_period")
_SPENT_BUDGETS: Final = tag(pb.Evict, "disruption_budgets")
_OVERRIDDEN: Final = tag(pb.Evict, "overridden_disruption_budgets")
_EVICTION_RATES: Final = tag(pb.Evict, "eviction_rates")
_RATE_NAME: Final = tag(pb.EvictionRateCharge, "name")
_PER_POD_GROUP: Final = tag(pb.EvictionRateCharge, "per_pod_group")

_REQUEUED: Final = tag(pb.Requeue, "pod_group")
_NOT_BEFORE: Final = tag(pb.Requeue, "not_before")
_CONTENDER: Final = tag(pb.Requeue, "contender")
_NOMINATED_BY: Final = tag(pb.Requeue, "nominated_by")

_POD_UID: Final = tag(pb.Preconditions, "pod_uid")
_NODE: Final = tag(pb.Preconditions, "node")
_SNAPSHOT_VERSION: Final = tag(pb.Preconditions, "snapshot_version")

_EVICT_KIND: Final = quoted("evict")
_REQUEUE_KIND: Final = quoted("requeue")
_RESERVE_KIND: Final = quoted("reserve")
_BIND_KIND: Final = quoted("bind")
_PATCH_KIND: Final = {kind: quoted(kind.name.lower()) for kind in PatchKind}
"""Kinds of decisions in IDs."""
_NOTHING: Final = text("")
_ALLOCATED: Final = ReasonCode.ALLOCATED
_PIPELINED: Final = ReasonCode.PIPELINED
_VICTIMS_EVICTED: Final = ReasonCode.VICTIMS_EVICTED
_FIELD_UPDATED: Final = ReasonCode.FIELD_UPDATED


class DecisionEncoder:
    """Encodes the decision groups of one response."""

    def __init__(
        self,
        cluster: Cluster,
        header: ResponseHeader,
        cache: EncodingCache,
        messages: ReasonMessages,
        rates: Sequence[EvictionRateStatus] = (),
    ) -> None:
        self._cluster = cluster
        self._version = scalar(_SNAPSHOT_VERSION, number(header.version))
        self._no_preconditions = self.preconditions(_NOTHING, _NOTHING)
        self._id_seed = compute_id_seed(header)
        self._recurring, self._rates = cache, rates
        self._messages = messages
        self._notices = NoticeEncoder(cluster, cache, messages, self.preconditions)
        self.group_ids: list[str] = []
        """IDs of the groups that were encoded, in order."""

    def group(self, ordinal: int, group: DecisionGroup) -> bytes:
        """One group: notices, evictions, requeues, reservations, bindings, patches."""
        recurring, ids = self._recurring, Identifiers(self._id_seed, ordinal)
        beneficiary = recurring.pod_group(group.beneficiary)
        id = ids.group(quoted(group.action), beneficiary.quoted)
        self.group_ids.append(id)
        fields = [_GROUP_ID, text(id), _ACTION, recurring.encoded_text(group.action)]
        fields += [_BENEFICIARY, beneficiary.encoded]
        if group.notices is not NO_NOTICES:
            fields += self._notices.encode(ids, group)
        for eviction in group.evictions:
            fields += [_DECISIONS, self._evict(ids, group, eviction)]
        for requeue in group.requeues:
            fields += [_DECISIONS, self._requeue(ids, group, requeue)]
        for hold in group.reservations:
            fields += [_DECISIONS, self._reserve(ids, group, hold)]
        for binding in group.bindings:
            fields += [_DECISIONS, self._bind(ids, group, binding)]
        for patch in group.patches:
            fields += [_DECISIONS, self._patch(ids, group, patch)]
        fields += [_ATOMICITY, number(group.atomicity), _EXPIRE_TIME, recurring.moment(group.expire_time)]
        fields.append(scalar(_FULFILLS_GROUP_ID, text(group.fulfills_group)))
        if (known := group.known_victims()) is not None:
            disrupted = len(group.evictions or group.notices.evictions)
            fields += [_VICTIM_SET, encode_victim_set(recurring, known, disrupted)]
        return message(fields)

    def _evict(self, ids: Identifiers, group: DecisionGroup, step: Evict) -> bytes:
        recurring, task = self._recurring, self._cluster.tasks[step.task]
        pod, node = text(task.facts.uid), recurring.node(step.node)
        fields = [
            _EVICTED,
            pod,
            _EVICTED_FROM,
            node.encoded,
            _EVICT_PREEMPTOR,
            recurring.pod_group(group.beneficiary).encoded,
            scalar(_RELOCATING, number(step.relocating)),
        ]
        for verdict in step.guards:
            fields += [_GUARDS, encode_guard_verdict(recurring, verdict)]
        fields += [_EVICTED_OF, recurring.pod_group(task.pod_group).encoded]
        fields.append(scalar(_FATE, number(step.fate)))
        if task.placement.status is TaskStatus.RUNNING:
            for name in task.facts.disruption_budgets:
                fields += [_SPENT_BUDGETS, recurring.encoded_text(name)]
            for name in step.overridden_budgets:
                fields += [_OVERRIDDEN, recurring.encoded_text(name)]
        if grace := self._cluster.pod_groups[task.pod_group].facts.victim.termination_grace:
            fields += [_GRACE_PERIOD, serialize_message(span(grace))]
        for rate in self._rates:
            if step.task in rate.payers:
                charge = [_RATE_NAME, recurring.encoded_text(rate.name)]
                charge.append(scalar(_PER_POD_GROUP, number(rate.per_pod_group)))
                fields += [_EVICTION_RATES, message(charge)]
        custom = recurring.reasons.evictions.get(group.action)
        sentence = self._messages.eviction(group.reason, step, group.beneficiary, custom)
        return message(
            [
                _ID,
                ids.decision(_EVICT_KIND, quoted(task.facts.uid), node.quoted),
                _EVICT,
                message(fields),
                _REASON,
                encode_reason(recurring, group.reason, sentence, group.action, custom=custom),
                _PRECONDITIONS,
                self.preconditions(pod, node.encoded),
            ]
        )

    def _requeue(self, ids: Identifiers, group: DecisionGroup, step: Requeue) -> bytes:
        recurring = self._recurring
        pod_group = recurring.pod_group(step.pod_group)
        fields = [_REQUEUED, pod_group.encoded, _NOT_BEFORE, recurring.moment(step.not_before)]
        fields += [_CONTENDER, recurring.pod_group(step.contender).encoded]
        for nominator in step.nominated_by:
            fields += [_NOMINATED_BY, recurring.encoded_text(nominator)]
        return message(
            [
                _ID,
                ids.decision(_REQUEUE_KIND, pod_group.quoted),
                _REQUEUE,
                message(fields),
                _REASON,
                encode_reason(recurring, group.reason, self._messages.requeue(step), group.action),
                _PRECONDITIONS,
                self._no_preconditions,
            ]
        )

    def _reserve(self, ids: Identifiers, group: DecisionGroup, step: Reserve) -> bytes:
        pod = self._cluster.tasks[step.task].facts.uid
        code = _VICTIMS_EVICTED if group.evictions else _PIPELINED
        sentence = self._messages.reserve(step.task, step.node, bool(group.evictions))
        return message(
            [
                _ID,
                ids.decision(_RESERVE_KIND, quoted(pod), self._recurring.node(step.node).quoted),
                _RESERVE,
                encode_reserve(self._cluster, self._recurring, step),
                _REASON,
                encode_reason(self._recurring, code, sentence, group.action),
                _PRECONDITIONS,
                self.preconditions(text(pod), _NOTHING),
            ]
        )

    def _bind(self, ids: Identifiers, group: DecisionGroup, step: Bind) -> bytes:
        pod = self._cluster.tasks[step.task].facts.uid
        sentence = self._messages.bind(step.task, step.node)
        return message(
            [
                _ID,
                ids.decision(_BIND_KIND, quoted(pod), self._recurring.node(step.node).quoted),
                _BIND,
                encode_bind(self._cluster, self._recurring, step),
                _REASON,
                encode_reason(self._recurring, _ALLOCATED, sentence, group.action),
                _PRECONDITIONS,
                self.preconditions(text(pod), _NOTHING),
            ]
        )

    def _patch(self, ids: Identifiers, group: DecisionGroup, step: Patch) -> bytes:
        pod_group = self._recurring.pod_group(step.pod_group).quoted
        return message(
            [
                _ID,
                ids.decision(_PATCH_KIND[step.kind], pod_group, preemptor_of(self._recurring, step)),
                _PATCH,
                encode_patch(self._recurring, step),
                _REASON,
                encode_reason(self._recurring, _FIELD_UPDATED, self._messages.patch(step), group.action),
                _PRECONDITIONS,
                self._no_preconditions,
            ]
        )

    def preconditions(self, pod: bytes, node: bytes) -> bytes:
        """Preconditions. Without a node, the pod must be unbound; without a pod, nothing is required."""
        return message([scalar(_POD_UID, pod), scalar(_NODE, node), self._version])

"""The steps of a decision group: from the solver's tuples to messages."""

from tenure.server.codec.guards import encode_check
from tenure.server.codec.identifiers import Identifiers
from tenure.server.codec.patches import encode_patch
from tenure.server.codec.printable import printable
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.times import timestamp
from tenure.server.codec.zones import encode_placement
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Bind, DecisionGroup, Evict, Hold, Patch, PatchKind, Requeue
from tenure.solver.model.reason import ReasonCode
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decision_service_pb2 import BasedOn


class StepEncoder:
    """Encodes the groups of one answer. Each of its methods gives the messages of one kind of step."""

    def __init__(self, cluster: Cluster, based_on: BasedOn) -> None:
        self._cluster = cluster
        self._based_on = based_on
        self._ids = Identifiers(based_on)
        self._say = Sentences(cluster)

    def group(self, ordinal: int, group: DecisionGroup) -> pb.DecisionGroup:
        """One group: evictions first, then the requeue, holds, bindings, patches."""
        beneficiary = self._cluster.pod_groups[group.beneficiary].uid
        return pb.DecisionGroup(
            id=self._ids.group(ordinal, group.action, beneficiary),
            action=group.action,
            beneficiary=beneficiary,
            decisions=[
                *(self._evict(ordinal, group, step) for step in group.evictions),
                *(self._requeue(ordinal, group, step) for step in (group.requeue,) if step is not None),
                *(self._hold(ordinal, group, step) for step in group.holds),
                *(self._bind(ordinal, group, step) for step in group.bindings),
                *(self._patch(ordinal, group, step) for step in group.patches),
            ],
        )

    def _evict(self, ordinal: int, group: DecisionGroup, step: Evict) -> pb.Decision:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        beneficiary = self._cluster.pod_groups[group.beneficiary].uid
        message = self._say.eviction(group.reason, step.task, group.beneficiary, step.moves)
        return pb.Decision(
            id=self._ids.step(ordinal, "evict", pod, node),
            evict=pb.Evict(
                pod=pod,
                node=node,
                beneficiary=beneficiary,
                moves=step.moves,
                guards=[encode_check(verdict) for verdict in step.guards],
            ),
            reason=_reason(group.reason, message, group.action),
            preconditions=self._preconditions(pod, node),
        )

    def _requeue(self, ordinal: int, group: DecisionGroup, step: Requeue) -> pb.Decision:
        uid = self._cluster.pod_groups[step.pod_group].uid
        return pb.Decision(
            id=self._ids.step(ordinal, "requeue", uid),
            requeue=pb.Requeue(
                pod_group=uid,
                not_before=timestamp(step.not_before),
                contender=self._cluster.pod_groups[step.contender].uid,
                nominated_by=step.nominated_by,
            ),
            reason=_reason(group.reason, self._say.requeue(step), group.action),
            preconditions=self._preconditions(),
        )

    def _hold(self, ordinal: int, group: DecisionGroup, step: Hold) -> pb.Decision:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        code = ReasonCode.VICTIMS_EVICTED if group.evictions else ReasonCode.PIPELINED
        message = self._say.hold(step.task, step.node, bool(group.evictions))
        return pb.Decision(
            id=self._ids.step(ordinal, "hold", pod, node),
            hold=pb.Hold(
                pod=pod,
                node=node,
                gpu_groups=step.gpu_groups,
                numa_placement=encode_placement(self._cluster, step.node, step.zones),
            ),
            reason=_reason(code, message, group.action),
            preconditions=self._preconditions(pod),
        )

    def _bind(self, ordinal: int, group: DecisionGroup, step: Bind) -> pb.Decision:
        pod, node = self._cluster.tasks[step.task].uid, self._cluster.nodes[step.node].name
        message = self._say.binding(step.task, step.node)
        return pb.Decision(
            id=self._ids.step(ordinal, "bind", pod, node),
            bind=pb.Bind(
                pod=pod,
                node=node,
                gpu_groups=step.gpu_groups,
                numa_placement=encode_placement(self._cluster, step.node, step.zones),
            ),
            reason=_reason(ReasonCode.ALLOCATED, message, group.action),
            preconditions=self._preconditions(pod),
        )

    def _patch(self, ordinal: int, group: DecisionGroup, step: Patch) -> pb.Decision:
        pod_group = self._cluster.pod_groups[step.pod_group].uid
        message = self._say.patch(step)
        return pb.Decision(
            id=self._ids.step(ordinal, step.kind.name.lower(), pod_group, self._preemptor(step)),
            patch=encode_patch(self._cluster, step),
            reason=_reason(ReasonCode.STATE_CHANGED, message, group.action),
            preconditions=self._preconditions(),
        )

    def _preemptor(self, patch: Patch) -> str:
        """Whose evictions a patch is about: part of its id, for there may be several in a group."""
        if patch.memory is not None:
            return self._cluster.pod_groups[patch.memory.preemptor].uid
        is_forgotten = patch.kind is PatchKind.FORGET_PREEMPTOR
        return self._cluster.pod_groups[patch.value].uid if is_forgotten else ""

    def _preconditions(self, pod: str = "", node: str = "") -> pb.Preconditions:
        """What must still hold: no node means that the pod is still unbound."""
        return pb.Preconditions(pod_uid=pod, node=node, snapshot_version=self._based_on.version)


def _reason(code: ReasonCode, message: str, source: str) -> pb.Reason:
    return pb.Reason(code=f"REASON_CODE_{code.name}", message=printable(message), source=source)

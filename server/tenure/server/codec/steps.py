"""The steps of a decision group: from the solver's tuples to messages."""

from tenure.server.codec.identifiers import Identifiers
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.zones import encode_placement
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Bind, DecisionGroup, Evict, Hold, Patch, PatchKind
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
        """One group: evictions first, then holds, then bindings, then patches."""
        beneficiary = self._cluster.pod_groups[group.beneficiary].uid
        return pb.DecisionGroup(
            id=self._ids.group(ordinal, group.action, beneficiary),
            action=group.action,
            beneficiary=beneficiary,
            decisions=[
                *(self._evict(ordinal, group, step) for step in group.evictions),
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
            evict=pb.Evict(pod=pod, node=node, beneficiary=beneficiary, moves=step.moves),
            reason=_reason(group.reason, message, group.action),
            preconditions=self._preconditions(pod, node),
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
        patch = pb.Patch(pod_group=pod_group)
        if step.kind is PatchKind.CLEAR_STALE_SINCE:
            patch.clear_stale_since = True
        else:
            getattr(patch, step.kind.name.lower()).CopyFrom(self._based_on.now)
        message = self._say.patch(step.pod_group, step.kind)
        return pb.Decision(
            id=self._ids.step(ordinal, step.kind.name.lower(), pod_group),
            patch=patch,
            reason=_reason(ReasonCode.STATE_CHANGED, message, group.action),
            preconditions=self._preconditions(),
        )

    def _preconditions(self, pod: str = "", node: str = "") -> pb.Preconditions:
        """What must still hold: no node means that the pod is still unbound."""
        return pb.Preconditions(pod_uid=pod, node=node, snapshot_version=self._based_on.version)


def _reason(code: ReasonCode, message: str, source: str) -> pb.Reason:
    return pb.Reason(code=f"REASON_CODE_{code.name}", message=message, source=source)

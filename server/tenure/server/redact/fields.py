"""What every text of a snapshot is: a name of some kind, or no name, and why not.

Keys are field names within the package of the contract. A field that is in neither table is an error, so that
no new one slips through.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.server.redact import kinds
from tenure.server.redact.kinds import Kind
from tenure.v1.snapshot_pb2 import InFlightStep, Pod, PodGroup

Scope = Callable[[Message, Message], str]
"""Within what a name has its meaning, from the row of the snapshot and the message that holds the name."""


def _everywhere(row: Message, holder: Message) -> str:
    return ""


def _on_node(row: Message, holder: Message) -> str:
    assert isinstance(holder, Pod | InFlightStep)
    return holder.node


def _in_pod_group(row: Message, holder: Message) -> str:
    assert isinstance(row, Pod | PodGroup)
    return row.uid if isinstance(row, PodGroup) else row.pod_group


def _of_key(row: Message, holder: Message) -> str:
    key: str = getattr(holder, "key")  # noqa: B009 (of a requirement, a taint or a toleration)
    return key


class Name(NamedTuple):
    """A field that holds names. Values of a map have their keys as scope, whatever `scope` is."""

    kind: Kind
    scope: Scope = _everywhere
    declares: bool = False
    """Whether its spelling is the one that counts."""


NAMES: Final[Mapping[str, Name]] = {
    "ClusterSnapshot.cluster_id": Name(kinds.CLUSTER),
    "ClusterSnapshot.node_pool": Name(kinds.POOL),
    "DeviceClaim.id": Name(kinds.CLAIM),
    "DeviceClaim.node": Name(kinds.NODE),
    "DeviceClaim.queue": Name(kinds.QUEUE),
    "DeviceRequest.device_class": Name(kinds.DEVICE_CLASS),
    "EvictionMemory.preemptor": Name(kinds.POD_GROUP),
    "EvictionMemory.victim": Name(kinds.POD_GROUP),
    "InFlightGroup.action": Name(kinds.ACTION),
    "InFlightGroup.beneficiary": Name(kinds.POD_GROUP),
    "InFlightGroup.id": Name(kinds.GROUP),
    "InFlightStep.gpu_groups": Name(kinds.DEVICE, _on_node),
    "InFlightStep.node": Name(kinds.NODE),
    "InFlightStep.pod": Name(kinds.POD),
    "InFlightStep.pod_group": Name(kinds.POD_GROUP),
    "Node.DevicesEntry.key": Name(kinds.DEVICE_CLASS),
    "Node.LabelsEntry.key": Name(kinds.LABEL),
    "Node.LabelsEntry.value": Name(kinds.VALUE),
    "Node.name": Name(kinds.NODE),
    "Node.unready_conditions": Name(kinds.CONDITION),
    "NodeSelectorRequirement.key": Name(kinds.LABEL),
    "NodeSelectorRequirement.values": Name(kinds.VALUE, _of_key),
    "NumaPlacement.zone": Name(kinds.ZONE),
    "NumaZone.id": Name(kinds.ZONE),
    "Pod.LabelsEntry.key": Name(kinds.LABEL),
    "Pod.LabelsEntry.value": Name(kinds.VALUE),
    "Pod.blocked_by": Name(kinds.BLOCKER),
    "Pod.device_claims": Name(kinds.CLAIM),
    "Pod.gpu_groups": Name(kinds.DEVICE, _on_node),
    "Pod.name": Name(kinds.POD_NAME),
    "Pod.node": Name(kinds.NODE),
    "Pod.nominated_node": Name(kinds.NODE),
    "Pod.pod_group": Name(kinds.POD_GROUP),
    "Pod.shape": Name(kinds.SHAPE),
    "Pod.sub_group": Name(kinds.SUB_GROUP, _in_pod_group),
    "Pod.uid": Name(kinds.POD),
    "PodAffinityTerm.MatchLabelsEntry.key": Name(kinds.LABEL),
    "PodAffinityTerm.MatchLabelsEntry.value": Name(kinds.VALUE),
    "PodAffinityTerm.topology_key": Name(kinds.LABEL),
    "PodGroup.AnnotationsEntry.value": Name(kinds.ANNOTATION),
    "PodGroup.name": Name(kinds.POD_GROUP_NAME),
    "PodGroup.namespace": Name(kinds.NAMESPACE),
    "PodGroup.queue": Name(kinds.QUEUE),
    "PodGroup.uid": Name(kinds.POD_GROUP),
    "Queue.name": Name(kinds.QUEUE),
    "Queue.parent": Name(kinds.QUEUE),
    "Resources.ExtendedEntry.key": Name(kinds.RESOURCE),
    "SubGroup.name": Name(kinds.SUB_GROUP, _in_pod_group, declares=True),
    "SubGroup.parent": Name(kinds.SUB_GROUP, _in_pod_group),
    "Taint.key": Name(kinds.TAINT),
    "Taint.value": Name(kinds.TAINT_VALUE, _of_key),
    "TaskShape.NodeSelectorEntry.key": Name(kinds.LABEL),
    "TaskShape.NodeSelectorEntry.value": Name(kinds.VALUE),
    "TaskShape.id": Name(kinds.SHAPE),
    "Toleration.key": Name(kinds.TAINT),
    "Toleration.value": Name(kinds.TAINT_VALUE, _of_key),
    "Topology.levels": Name(kinds.LABEL),
    "Topology.name": Name(kinds.TOPOLOGY),
    "TopologyConstraint.preferred_level": Name(kinds.LABEL),
    "TopologyConstraint.required_level": Name(kinds.LABEL),
    "TopologyConstraint.topology": Name(kinds.TOPOLOGY),
}
"""Fields that hold names."""

NO_NAMES: Final[Mapping[str, str]] = {
    "PodColumns.name": "columns are written anew, each value as the field of Pod",
    "PodColumns.texts": "columns are written anew, each value as the field of Pod",
    "PodColumns.uid": "columns are written anew, each value as the field of Pod",
    "PodGroup.AnnotationsEntry.key": "only the keys that Tenure reads stay; others go with their values",
    "PodGroup.opt_outs": "a closed list of actions; a snapshot with another is refused",
}
"""Fields with texts that are no names, and why."""

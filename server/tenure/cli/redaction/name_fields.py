"""What every text of a snapshot is: a name of some kind, or no name, and why not.

Keys are field names within the package of the contract. A field that is in neither table is an error, so that
no new one slips through.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from google.protobuf.message import Message
from tenure.cli.redaction import name_kinds
from tenure.cli.redaction.name_kinds import NameKind
from tenure.v1.snapshot_pb2 import InFlightDecision, Pod, PodGroup

Scope = Callable[[Message, Message], str]
"""Within what a name has its meaning, from the row of the snapshot and the message that holds the name."""


def _everywhere(row: Message, holder: Message) -> str:
    return ""


def _on_node(row: Message, holder: Message) -> str:
    assert isinstance(holder, Pod | InFlightDecision)
    return holder.node


def _in_pod_group(row: Message, holder: Message) -> str:
    assert isinstance(row, Pod | PodGroup)
    return row.uid if isinstance(row, PodGroup) else row.pod_group


def _of_key(row: Message, holder: Message) -> str:
    key: str = getattr(holder, "key")  # noqa: B009 (of a requirement, a taint or a toleration)
    return key


class NameField(NamedTuple):
    """A field that holds names. Values of a map have their keys as scope, whatever `scope` is."""

    kind: NameKind
    scope: Scope = _everywhere
    declares: bool = False
    """Whether its spelling is the one that counts."""


NAMES: Final[Mapping[str, NameField]] = {
    "ClusterSnapshot.cluster_id": NameField(name_kinds.CLUSTER),
    "ClusterSnapshot.node_pool": NameField(name_kinds.POOL),
    "ResourceClaim.id": NameField(name_kinds.CLAIM),
    "ResourceClaim.node": NameField(name_kinds.NODE),
    "ResourceClaim.queue": NameField(name_kinds.QUEUE),
    "DeviceRequest.device_class": NameField(name_kinds.DEVICE_CLASS),
    "EvictionRecord.preemptor": NameField(name_kinds.POD_GROUP),
    "EvictionRecord.victim": NameField(name_kinds.POD_GROUP),
    "InFlightGroup.action": NameField(name_kinds.ACTION),
    "InFlightGroup.beneficiary": NameField(name_kinds.POD_GROUP),
    "InFlightGroup.id": NameField(name_kinds.GROUP),
    "InFlightDecision.gpu_groups": NameField(name_kinds.DEVICE, _on_node),
    "InFlightDecision.node": NameField(name_kinds.NODE),
    "InFlightDecision.pod": NameField(name_kinds.POD),
    "InFlightDecision.pod_group": NameField(name_kinds.POD_GROUP),
    "Node.DevicesEntry.key": NameField(name_kinds.DEVICE_CLASS),
    "Node.LabelsEntry.key": NameField(name_kinds.LABEL),
    "Node.LabelsEntry.value": NameField(name_kinds.VALUE),
    "Node.name": NameField(name_kinds.NODE),
    "Node.unready_conditions": NameField(name_kinds.CONDITION),
    "NodeSelectorRequirement.key": NameField(name_kinds.LABEL),
    "NodeSelectorRequirement.values": NameField(name_kinds.VALUE, _of_key),
    "NumaPlacement.zone": NameField(name_kinds.ZONE),
    "NumaZone.id": NameField(name_kinds.ZONE),
    "Pod.LabelsEntry.key": NameField(name_kinds.LABEL),
    "Pod.LabelsEntry.value": NameField(name_kinds.VALUE),
    "Pod.blocked_reason": NameField(name_kinds.BLOCKER),
    "Pod.resource_claims": NameField(name_kinds.CLAIM),
    "Pod.gpu_groups": NameField(name_kinds.DEVICE, _on_node),
    "Pod.name": NameField(name_kinds.POD_NAME),
    "Pod.node": NameField(name_kinds.NODE),
    "Pod.nominated_node": NameField(name_kinds.NODE),
    "Pod.pod_group": NameField(name_kinds.POD_GROUP),
    "Pod.shape": NameField(name_kinds.SHAPE),
    "Pod.sub_group": NameField(name_kinds.SUB_GROUP, _in_pod_group),
    "Pod.uid": NameField(name_kinds.POD),
    "PodAffinityTerm.MatchLabelsEntry.key": NameField(name_kinds.LABEL),
    "PodAffinityTerm.MatchLabelsEntry.value": NameField(name_kinds.VALUE),
    "PodAffinityTerm.topology_key": NameField(name_kinds.LABEL),
    "PodGroup.AnnotationsEntry.value": NameField(name_kinds.ANNOTATION),
    "PodGroup.name": NameField(name_kinds.POD_GROUP_NAME),
    "PodGroup.namespace": NameField(name_kinds.NAMESPACE),
    "PodGroup.queue": NameField(name_kinds.QUEUE),
    "PodGroup.uid": NameField(name_kinds.POD_GROUP),
    "Queue.name": NameField(name_kinds.QUEUE),
    "Queue.parent": NameField(name_kinds.QUEUE),
    "Resources.ExtendedEntry.key": NameField(name_kinds.RESOURCE),
    "SubGroup.name": NameField(name_kinds.SUB_GROUP, _in_pod_group, declares=True),
    "SubGroup.parent": NameField(name_kinds.SUB_GROUP, _in_pod_group),
    "Taint.key": NameField(name_kinds.TAINT),
    "Taint.value": NameField(name_kinds.TAINT_VALUE, _of_key),
    "PodShape.NodeSelectorEntry.key": NameField(name_kinds.LABEL),
    "PodShape.NodeSelectorEntry.value": NameField(name_kinds.VALUE),
    "PodShape.id": NameField(name_kinds.SHAPE),
    "Toleration.key": NameField(name_kinds.TAINT),
    "Toleration.value": NameField(name_kinds.TAINT_VALUE, _of_key),
    "Topology.levels": NameField(name_kinds.LABEL),
    "Topology.name": NameField(name_kinds.TOPOLOGY),
    "TopologyConstraint.preferred_level": NameField(name_kinds.LABEL),
    "TopologyConstraint.required_level": NameField(name_kinds.LABEL),
    "TopologyConstraint.topology": NameField(name_kinds.TOPOLOGY),
}
"""Fields that hold names."""

NO_NAMES: Final[Mapping[str, str]] = {
    "PodColumns.name": "columns are written anew, each value as the field of Pod",
    "PodColumns.string_table": "columns are written anew, each value as the field of Pod",
    "PodColumns.uid": "columns are written anew, each value as the field of Pod",
    "PodGroup.AnnotationsEntry.key": "only the keys that Tenure reads stay; others go with their values",
    "PodGroup.opt_out_actions": "a closed list of actions; a snapshot with another is refused",
}
"""Fields with texts that are no names, and why."""

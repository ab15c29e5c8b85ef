"""Protections: from the model to messages."""

from typing import Final

from tenure.server.codec.guards import SCOPES
from tenure.server.codec.writing import message, moment, tag, text
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Protection
from tenure.v1 import decision_pb2 as pb

_POD_GROUP: Final = tag(pb.Protection, "pod_group")
_GUARD: Final = tag(pb.Protection, "guard")
_ACTIONS: Final = tag(pb.Protection, "actions")
_UNTIL: Final = tag(pb.Protection, "until")
_SOURCE: Final = tag(pb.Protection, "source")
_AGAINST: Final = tag(pb.Protection, "against")
_SCOPE: Final = tag(pb.Protection, "scope")
_AGAINST_POD_GROUP: Final = tag(pb.Protection, "against_pod_group")


def encode_protection(cluster: Cluster, protection: Protection) -> bytes:
    """Who may not touch a pod group until when."""
    fields = [_POD_GROUP, text(cluster.pod_groups[protection.pod_group].uid)]
    fields += [_GUARD, text(protection.guard), _SOURCE, text(protection.source)]
    fields += [_AGAINST, text(protection.against), _SCOPE, SCOPES[protection.scope]]
    for action in protection.actions:
        fields += [_ACTIONS, text(action)]
    if protection.until is not None:
        fields += [_UNTIL, moment(protection.until)]
    if protection.against_pod_group is not None:
        fields += [_AGAINST_POD_GROUP, text(cluster.pod_groups[protection.against_pod_group].uid)]
    return message(fields)

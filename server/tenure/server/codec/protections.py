"""Protections: from the model to messages."""

from typing import Final

from tenure.server.codec.guards import SCOPES
from tenure.server.codec.recurring import Recurring
from tenure.server.codec.writing import message, tag
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


def encode_protection(recurring: Recurring, protection: Protection) -> bytes:
    """Who may not touch a pod group until when."""
    fields = [_POD_GROUP, recurring.pod_group(protection.pod_group).written]
    fields += [_GUARD, recurring.word(protection.guard), _SOURCE, recurring.word(protection.source)]
    fields += [_AGAINST, recurring.word(protection.against), _SCOPE, SCOPES[protection.scope]]
    for action in protection.actions:
        fields += [_ACTIONS, recurring.word(action)]
    if protection.until is not None:
        fields += [_UNTIL, recurring.moment(protection.until)]
    if protection.against_pod_group is not None:
        fields += [_AGAINST_POD_GROUP, recurring.pod_group(protection.against_pod_group).written]
    return message(fields)

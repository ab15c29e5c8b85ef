"""Reasons in sentences without names.

`Reason.message` is for operators: it names pod groups, queues and nodes. The owner of an evicted pod must not
learn from it which pod group the pod was evicted for. These sentences follow from a reason's code and time;
plugins and actions of other packages declare sentences of their own.
"""

from tenure.terms.reasons import REASONS, UNKNOWN_PUBLIC
from tenure.v1 import decision_pb2 as pb


def format_notice(step: pb.Notify) -> str:
    """What the owner of a pod reads that is to be evicted, without names."""
    return f"The pod is to be evicted, not before {step.evict_time.ToJsonString()}: it should save its work."


def format_public_message(reason: pb.Reason) -> str:
    """A reason without names; times are RFC 3339 in UTC. Codes of a newer version have a general sentence."""
    row = REASONS.get(reason.code)
    sentence = UNKNOWN_PUBLIC if row is None else row.public
    if reason.custom.public_message:
        sentence = reason.custom.public_message
    if not reason.HasField("until"):
        return sentence
    return f"{sentence} This may change at {reason.until.ToJsonString()}."

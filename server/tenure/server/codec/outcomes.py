"""Outcomes of pod groups: from the model to messages."""

from typing import Final

from tenure.server.codec.reasons import encode_reason
from tenure.server.codec.recurring import Recurring
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.writing import message, number, tag
from tenure.solver.model.decision import Outcome
from tenure.v1 import decision_pb2 as pb

_POD_GROUP: Final = tag(pb.PodGroupOutcome, "pod_group")
_KIND: Final = tag(pb.PodGroupOutcome, "kind")
_REASON: Final = tag(pb.PodGroupOutcome, "reason")
_BOUND: Final = tag(pb.PodGroupOutcome, "bound")
_HELD: Final = tag(pb.PodGroupOutcome, "held")
_PENDING: Final = tag(pb.PodGroupOutcome, "pending")


def encode_outcome(recurring: Recurring, outcome: Outcome, say: Sentences) -> bytes:
    """What became of one pod group that had pods to schedule. Kinds are numbered as in the contract."""
    reason = outcome.reason
    return message(
        [
            _POD_GROUP,
            recurring.pod_group(outcome.pod_group).written,
            _KIND,
            number(outcome.kind),
            _REASON,
            encode_reason(recurring, reason.code, say.outcome(outcome), reason.source, reason.until),
            _BOUND,
            number(outcome.bound),
            _HELD,
            number(outcome.held),
            _PENDING,
            number(outcome.pending),
        ]
    )

"""What became of groups in flight: from the model to messages."""

from typing import Final

from tenure.server.codec.places import encode_hold
from tenure.server.codec.reasons import encode_reason
from tenure.server.codec.recurring import Recurring
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.writing import message, number, tag, text
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import InFlightStatus
from tenure.v1 import decision_pb2 as pb

_ID: Final = tag(pb.InFlightStatus, "id")
_RESULT: Final = tag(pb.InFlightStatus, "result")
_REASON: Final = tag(pb.InFlightStatus, "reason")
_HOLDS: Final = tag(pb.InFlightStatus, "holds")


def encode_verdict(cluster: Cluster, recurring: Recurring, status: InFlightStatus, say: Sentences) -> bytes:
    """The verdict on one group in flight. Results are numbered as in the contract."""
    reason = status.reason
    fields = [_ID, text(cluster.in_flight[status.group].id), _RESULT, number(status.result)]
    said = say.in_flight(status)
    fields += [_REASON, encode_reason(recurring, reason.code, said, reason.source or "redeem")]
    for hold in status.holds:
        fields += [_HOLDS, encode_hold(cluster, recurring, hold)]
    return message(fields)

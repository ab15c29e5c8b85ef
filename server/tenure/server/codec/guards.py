"""What guards say: from the model to messages."""

from typing import Final

from tenure.server.codec.recurring import Recurring
from tenure.server.codec.writing import message, number, tag
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.v1 import decision_pb2 as pb

SCOPES: Final = {
    scope: number(getattr(pb, f"PROTECTION_SCOPE_{scope.name if scope else 'UNSPECIFIED'}"))
    for scope in Scope
}
"""What is protected of a pod group, as the contract numbers it."""
_GUARD: Final = tag(pb.GuardCheck, "guard")
_SCOPE: Final = tag(pb.GuardCheck, "scope")
_UNTIL: Final = tag(pb.GuardCheck, "until")
_SOURCE: Final = tag(pb.GuardCheck, "source")


def encode_check(recurring: Recurring, verdict: GuardVerdict) -> bytes:
    """What one guard said of a victim."""
    fields = [_GUARD, recurring.word(verdict.guard), _SCOPE, SCOPES[verdict.scope]]
    fields += [_SOURCE, recurring.word(verdict.source)]
    if verdict.until is not None:
        fields += [_UNTIL, recurring.moment(verdict.until)]
    return message(fields)

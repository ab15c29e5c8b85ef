"""What guards say: from the model to messages."""

from typing import Final

from tenure.server.codec.times import timestamp
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.v1 import decision_pb2 as pb

SCOPES: Final = {
    scope: getattr(pb, f"PROTECTION_SCOPE_{scope.name if scope else 'UNSPECIFIED'}") for scope in Scope
}
"""What is protected of a pod group, as the contract numbers it."""


def encode_check(verdict: GuardVerdict) -> pb.GuardCheck:
    """What one guard said of a victim."""
    return pb.GuardCheck(
        guard=verdict.guard,
        scope=SCOPES[verdict.scope],
        until=None if verdict.until is None else timestamp(verdict.until),
        source=verdict.source,
    )

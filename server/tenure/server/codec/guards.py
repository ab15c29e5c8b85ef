"""What guards say: from the model to messages."""

from tenure.server.codec.times import timestamp
from tenure.solver.model.guard import GuardVerdict, Scope
from tenure.v1 import decision_pb2 as pb


def encode_scope(scope: Scope) -> str:
    """The name of what is protected of a pod group."""
    return f"PROTECTION_SCOPE_{scope.name if scope else 'UNSPECIFIED'}"


def encode_check(verdict: GuardVerdict) -> pb.GuardCheck:
    """What one guard said of a victim."""
    return pb.GuardCheck(
        guard=verdict.guard,
        scope=encode_scope(verdict.scope),
        until=None if verdict.until is None else timestamp(verdict.until),
        source=verdict.source,
    )

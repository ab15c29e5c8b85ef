"""An answer before it is a message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tenure.server.codec.protections import encode_protection
from tenure.server.codec.recurring import Recurring
from tenure.server.codec.times import timestamp
from tenure.server.codec.writing import tag
from tenure.server.explain.text import Text
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Protection
from tenure.solver.model.reason import ReasonCode
from tenure.v1 import decision_pb2
from tenure.v1 import explain_pb2 as pb

_PROTECTIONS: Final = tag(pb.ExplainResponse, "protections")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that the answer rests on, for operators."""

    code: ReasonCode
    message: str
    source: str
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question."""

    text: Text
    facts: Sequence[Fact] = ()
    protections: Sequence[Protection] = ()
    until: int | None = None
    """When time alone may change the answer, in nanoseconds."""
    remedies: Sequence[pb.Remedy] = ()

    def message(self, cluster: Cluster) -> pb.ExplainResponse:
        """As the contract has it."""
        answer = pb.ExplainResponse(
            explanation=self.text.message(),
            reasons=[_reason(fact) for fact in self.facts],
            until=None if self.until is None else timestamp(self.until),
            remedies=self.remedies,
        )
        recurring = Recurring(cluster)
        for protection in self.protections:
            answer.MergeFromString(_PROTECTIONS + encode_protection(recurring, protection))
        return answer


def _reason(fact: Fact) -> decision_pb2.Reason:
    return decision_pb2.Reason(
        code=f"REASON_CODE_{fact.code.name}",
        message=fact.message,
        source=fact.source,
        until=None if fact.until is None else timestamp(fact.until),
    )

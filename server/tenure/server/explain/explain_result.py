"""Result of an explanation before it is encoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tenure.codec.encode import ProtectionEncoder
from tenure.codec.encoding_cache import EncodingCache
from tenure.server.explain.audience_text import AudienceText
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.verdict import Protection
from tenure.terms.custom_reason import NO_REASONS, CustomReason, DeclaredReasons
from tenure.terms.reasons import ReasonCode
from tenure.v1 import decision_pb2
from tenure.v1 import explain_pb2 as pb
from tenure.wire.timestamps import timestamp
from tenure.wire.writer import tag

_PROTECTIONS: Final = tag(pb.ExplainResponse, "protections")
_VICTIM_SETS: Final = tag(pb.ExplainResponse, "victim_sets")


@dataclass(frozen=True, slots=True)
class ExplainReason:
    """A fact behind the text, for operators."""

    code: ReasonCode
    message: str
    source: str
    until: int | None = None
    custom: CustomReason | None = None


@dataclass(frozen=True, slots=True)
class ExplainResult:
    """Text, facts and remedies of one explanation."""

    text: AudienceText
    reasons: Sequence[ExplainReason] = ()
    protections: Sequence[Protection] = ()
    until: int | None = None
    """When time alone can change the result, in nanoseconds."""
    remedies: Sequence[pb.Remedy] = ()
    victim_sets: Sequence[bytes] = ()
    """Encoded."""
    victim_ranks: Sequence[pb.VictimRank] = ()
    start_estimates: Sequence[pb.StartEstimate] = ()
    gpu_account: pb.GpuAccount | None = None
    eviction_obstacles: Sequence[pb.EvictionObstacle] = ()

    def message(self, cluster: Cluster, reasons: DeclaredReasons = NO_REASONS) -> pb.ExplainResponse:
        """Message of the response. `reasons` are those that plugins and actions declare."""
        answer = pb.ExplainResponse(
            explanation=self.text.message(),
            reasons=[_reason(fact, reasons) for fact in self.reasons],
            until=None if self.until is None else timestamp(self.until),
            remedies=self.remedies,
            victim_ranks=self.victim_ranks,
            start_estimates=self.start_estimates,
            gpu_account=self.gpu_account,
            eviction_obstacles=self.eviction_obstacles,
        )
        encoder = ProtectionEncoder(cluster, EncodingCache(cluster))
        for protection in self.protections:
            answer.MergeFromString(_PROTECTIONS + encoder.encode(protection))
        for victims in self.victim_sets:
            answer.MergeFromString(_VICTIM_SETS + victims)
        return answer


def _reason(fact: ExplainReason, reasons: DeclaredReasons) -> decision_pb2.Reason:
    custom = reasons.find(fact.source, fact.code, fact.custom)
    return decision_pb2.Reason(
        code=f"REASON_CODE_{fact.code.name}",
        message=fact.message,
        source=fact.source,
        until=None if fact.until is None else timestamp(fact.until),
        custom=None
        if custom is None
        else decision_pb2.CustomReason(
            domain=fact.source,
            code=custom.code,
            clause=custom.clause,
            public_message=custom.public,
            remedy=custom.remedy,
        ),
    )

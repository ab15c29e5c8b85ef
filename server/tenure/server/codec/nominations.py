"""What became of the pod groups that are expected to end: from the model to messages."""

from typing import Final

from tenure.server.codec.printable import printable
from tenure.server.codec.times import span, timestamp
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.requeue import Nomination, NominationResult
from tenure.v1 import decision_pb2 as pb

_TOLD: Final = {
    NominationResult.NOT_DUE: "is expected to run on",
    NominationResult.SKIPPED: "is not nominated for a requeue",
    NominationResult.NO_CONTENDER: "ran longer than expected, and keeps running",
    NominationResult.NO_BENEFIT: "ran longer than expected, and keeps running",
    NominationResult.PROTECTED: "ran longer than expected, and keeps running",
    NominationResult.REQUEUED: "ran longer than expected, and goes back to its queue",
    NominationResult.BUDGET_EXHAUSTED: "ran longer than expected, and was not decided on",
    NominationResult.ALREADY_MOVED: "ran longer than expected",
}


def encode_nomination(cluster: Cluster, nomination: Nomination) -> pb.Nomination:
    """One nomination with its reason in words."""
    group, groups = cluster.pod_groups[nomination.pod_group], cluster.pod_groups
    told = f"Pod group {group.name} (queue {group.queue_name}) {_TOLD[nomination.result]}"
    skip, code = nomination.skip_reason, nomination.code
    return pb.Nomination(
        pod_group=group.uid,
        result=f"NOMINATION_RESULT_{nomination.result.name}",
        skip_reason=None if skip is None else f"NOMINATION_SKIP_REASON_{skip.name}",
        nominated_by=nomination.nominated_by if nomination.is_candidate else (),
        reason=pb.Reason(
            code="REASON_CODE_UNSPECIFIED" if code is None else f"REASON_CODE_{code.name}",
            message=printable(f"{told}: {nomination.detail}." if nomination.detail else f"{told}."),
            source="requeue" if nomination.is_candidate else ", ".join(nomination.nominated_by),
            until=None if nomination.until is None else timestamp(nomination.until),
        ),
        overrun=span(nomination.overrun) if nomination.overrun else None,
        contender="" if nomination.contender is None else groups[nomination.contender].uid,
        not_before=None if nomination.not_before is None else timestamp(nomination.not_before),
    )

"""ReportOutcome: what became of decisions, judged, counted and recorded."""

import time

import grpc
from tenure.server.labels import label
from tenure.server.outcomes import Conflict, check_report, judged
from tenure.server.outcomes.counter import count_outcomes
from tenure.server.outcomes.reported import Fact
from tenure.server.records import Outcome
from tenure.server.service.shared import Shared
from tenure.server.shard import Shard
from tenure.v1 import outcome_pb2 as pb


def report_outcome(
    shared: Shared, request: pb.ReportOutcomeRequest, context: grpc.ServicerContext
) -> pb.ReportOutcomeResponse:
    """A verdict on every group; what contradicts an earlier report is neither counted nor judged."""
    check_report(request)
    shard = Shard(request.cluster_id, request.node_pool)
    return pb.ReportOutcomeResponse(
        groups=[_verdict(shared, shard, request, report) for report in request.groups]
    )


def _verdict(
    shared: Shared, shard: Shard, request: pb.ReportOutcomeRequest, report: pb.GroupReport
) -> pb.GroupVerdict:
    try:
        news = shared.reported.take(shard, report)
    except Conflict as conflict:
        return pb.GroupVerdict(
            id=report.group.id,
            fate=pb.GROUP_FATE_CONFLICT,
            message="steps were reported otherwise before: find out which is true",
            conflicting_steps=conflict.decision_ids,
        )
    count_outcomes(news)
    for fact in news:
        shared.recorder.reported(_outcome(shard, report.group.id, fact))
    return judged(report, request.now)


def _outcome(shard: Shard, group_id: str, fact: Fact) -> Outcome:
    return Outcome(
        shard,
        fact.decision_id,
        group_id,
        fact.step,
        label(pb.StepResult, fact.report.result),
        fact.report.detail,
        time.time_ns(),
    )

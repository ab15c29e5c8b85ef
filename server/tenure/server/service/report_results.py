"""ReportResults: evaluate, count and record the results of decisions."""

import time

import grpc
from tenure.server.records import ResultEntry
from tenure.server.reports import ReportConflict, check_report, evaluate
from tenure.server.reports.report_history import ReportedResult, count_results
from tenure.server.security.callers import CURRENT
from tenure.server.service.service_context import ServiceContext
from tenure.server.shard import Shard
from tenure.v1 import report_pb2 as pb
from tenure.wire.enum_labels import enum_label


def report_results(
    shared: ServiceContext, request: pb.ReportResultsRequest, context: grpc.ServicerContext
) -> pb.ReportResultsResponse:
    """State of every group; conflicting results are neither counted nor evaluated."""
    check_report(request, shared.cycle_queue.call_deadline(context).check)
    shard = Shard(request.cluster_id, request.node_pool)
    return pb.ReportResultsResponse(
        groups=[_status(shared, shard, request, report) for report in request.groups]
    )


def _status(
    shared: ServiceContext, shard: Shard, request: pb.ReportResultsRequest, report: pb.GroupReport
) -> pb.GroupStatus:
    try:
        news = shared.report_history.add(shard, report)
    except ReportConflict as conflict:
        return pb.GroupStatus(
            id=report.group.id,
            state=pb.GROUP_STATE_CONFLICT,
            message="decisions have another final result from an earlier report; report the true one",
            conflicting_decision_ids=conflict.decision_ids,
        )
    count_results(news)
    for fact in news:
        shared.recorder.record_results(_result_entry(shard, report.group.id, fact))
    return evaluate(report, request.now)


def _result_entry(shard: Shard, group_id: str, fact: ReportedResult) -> ResultEntry:
    return ResultEntry(
        shard,
        fact.decision_id,
        group_id,
        fact.kind,
        enum_label(pb.ApplyStatus, fact.result.status),
        fact.result.detail,
        time.time_ns(),
        CURRENT.get().identity.name,
    )

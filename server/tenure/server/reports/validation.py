"""Validate a report of results: every invalid field by its path."""

from collections.abc import Callable, Iterator

from tenure.codec.carried.history import decode_eviction_history
from tenure.codec.checks import MISSING, time_problem
from tenure.terms.cancellation import Pace, no_check
from tenure.v1 import report_pb2 as pb
from tenure.wire.violations import FieldViolation, SnapshotValidationError, ViolationCollector, quote_name


def check_report(request: pb.ReportResultsRequest, check: Callable[[], None] = no_check) -> None:
    """Raises SnapshotValidationError when a field violates the contract; paths are those in the request.

    `check` raises when the call has ended.
    """
    if violations := list(_violations(request, Pace(check))):
        raise SnapshotValidationError(violations)


def _violations(request: pb.ReportResultsRequest, pace: Pace) -> Iterator[FieldViolation]:
    if not request.cluster_id:
        yield FieldViolation("cluster_id", MISSING)
    if not request.HasField("now"):
        yield FieldViolation("now", MISSING)
    elif problem := time_problem(request.now):
        yield FieldViolation("now", problem)
    first: dict[str, int] = {}
    for i, report in enumerate(request.groups):
        pace.step()
        path, group = f"groups[{i}]", report.group
        if not group.id:
            yield FieldViolation(f"{path}.group.id", MISSING)
        elif first.setdefault(group.id, i) != i:
            problem = f"{quote_name(group.id)} is already used by groups[{first[group.id]}]"
            yield FieldViolation(f"{path}.group.id", problem)
        if group.HasField("expire_time") and (problem := time_problem(group.expire_time)):
            yield FieldViolation(f"{path}.group.expire_time", problem)
        yield from _patches(report, path, pace)
        yield from _results(report, path, pace)
        yield from _eviction_history(report, path)


def _patches(report: pb.GroupReport, path: str, pace: Pace) -> Iterator[FieldViolation]:
    """Times of eviction records, which are compared with others."""
    for i, decision in enumerate(report.group.decisions):
        pace.step()
        remembered = decision.patch.set_eviction_record
        if decision.patch.HasField("set_eviction_record") and (
            problem := time_problem(remembered.last_eviction_time)
        ):
            where = f"{path}.group.decisions[{i}].patch.set_eviction_record.last_eviction_time"
            yield FieldViolation(where, problem)


def _results(report: pb.GroupReport, path: str, pace: Pace) -> Iterator[FieldViolation]:
    known = {decision.id for decision in report.group.decisions}
    first: dict[str, int] = {}
    for i, step in enumerate(report.results):
        pace.step()
        where = f"{path}.results[{i}]"
        if step.decision_id not in known:
            problem = f"{quote_name(step.decision_id)} is not a decision of the group"
            yield FieldViolation(f"{where}.decision_id", problem)
        elif first.setdefault(step.decision_id, i) != i:
            problem = f"{quote_name(step.decision_id)} is already used by results[{first[step.decision_id]}]"
            yield FieldViolation(f"{where}.decision_id", problem)
        if not step.status:
            yield FieldViolation(f"{where}.status", MISSING)
        elif step.status not in pb.ApplyStatus.values():
            problem = f"{step.status} is not a value of this version of the contract"
            yield FieldViolation(f"{where}.status", problem)
        if step.HasField("retry_time") and (problem := time_problem(step.retry_time)):
            yield FieldViolation(f"{where}.retry_time", problem)


def _eviction_history(report: pb.GroupReport, path: str) -> Iterator[FieldViolation]:
    """Eviction records, by the rules for snapshots."""
    findings = ViolationCollector(f"{path}.eviction_history")
    decode_eviction_history(report.eviction_history, {}, findings)
    yield from findings.violations()

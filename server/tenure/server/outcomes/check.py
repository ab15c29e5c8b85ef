"""What is wrong with a report of outcomes: every violating field by its path."""

from collections.abc import Iterator

from tenure.server.codec.checks import MISSING, time_problem
from tenure.server.codec.memory import decode_memory
from tenure.server.codec.violations import FieldViolation, Findings, InvalidSnapshot, shown
from tenure.v1 import outcome_pb2 as pb


def check_report(request: pb.ReportOutcomeRequest) -> None:
    """Raises InvalidSnapshot when a field violates the contract; paths are those in the request."""
    if violations := list(_violations(request)):
        raise InvalidSnapshot(violations)


def _violations(request: pb.ReportOutcomeRequest) -> Iterator[FieldViolation]:
    if not request.cluster_id:
        yield FieldViolation("cluster_id", MISSING)
    if not request.HasField("now"):
        yield FieldViolation("now", MISSING)
    elif problem := time_problem(request.now):
        yield FieldViolation("now", problem)
    first: dict[str, int] = {}
    for i, report in enumerate(request.groups):
        path, group = f"groups[{i}]", report.group
        if not group.id:
            yield FieldViolation(f"{path}.group.id", MISSING)
        elif first.setdefault(group.id, i) != i:
            told = f"{shown(group.id)} is already used by groups[{first[group.id]}]"
            yield FieldViolation(f"{path}.group.id", told)
        if group.HasField("expire_time") and (problem := time_problem(group.expire_time)):
            yield FieldViolation(f"{path}.group.expire_time", problem)
        yield from _patches(report, path)
        yield from _steps(report, path)
        yield from _memory(report, path)


def _patches(report: pb.GroupReport, path: str) -> Iterator[FieldViolation]:
    """Times of memories, which are compared with others."""
    for i, decision in enumerate(report.group.decisions):
        remembered = decision.patch.remember
        if decision.patch.HasField("remember") and (problem := time_problem(remembered.last_eviction_time)):
            where = f"{path}.group.decisions[{i}].patch.remember.last_eviction_time"
            yield FieldViolation(where, problem)


def _steps(report: pb.GroupReport, path: str) -> Iterator[FieldViolation]:
    known = {decision.id for decision in report.group.decisions}
    first: dict[str, int] = {}
    for i, step in enumerate(report.steps):
        where = f"{path}.steps[{i}]"
        if step.decision_id not in known:
            told = f"{shown(step.decision_id)} is no decision of the group"
            yield FieldViolation(f"{where}.decision_id", told)
        elif first.setdefault(step.decision_id, i) != i:
            told = f"{shown(step.decision_id)} is already used by steps[{first[step.decision_id]}]"
            yield FieldViolation(f"{where}.decision_id", told)
        if not step.result:
            yield FieldViolation(f"{where}.result", MISSING)
        elif step.result not in pb.StepResult.values():
            told = f"{step.result} is not a value of this version of the contract"
            yield FieldViolation(f"{where}.result", told)
        if step.HasField("retry_time") and (problem := time_problem(step.retry_time)):
            yield FieldViolation(f"{where}.retry_time", problem)


def _memory(report: pb.GroupReport, path: str) -> Iterator[FieldViolation]:
    """By the rules for snapshots."""
    findings = Findings(f"{path}.eviction_memory")
    decode_memory(report.eviction_memory, {}, findings)
    yield from findings.in_order()

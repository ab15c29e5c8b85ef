"""Pod groups as JSON for programs. Keys are only ever added; `tenure workloads --help` lists them."""

import json
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.labels import label
from tenure.server.report.workloads import Workload
from tenure.server.view import View
from tenure.solver.model.duration import SECOND
from tenure.v1 import decision_pb2 as pb

Facts = dict[str, object]


def workloads_json(view: View, workloads: Sequence[Workload]) -> str:
    """The time of the snapshot, when time may change the answer, and one object for each pod group."""
    response = view.response
    document = {
        "now": _time(view.snapshot.now),
        "next_wake_time": _time(response.next_wake_time) if response.HasField("next_wake_time") else None,
        "workloads": [_facts(workload) for workload in workloads],
    }
    return json.dumps(document, indent=2)


def _facts(workload: Workload) -> Facts:
    group, expected = workload.group, workload.expected
    return {
        "uid": group.uid,
        "name": group.name,
        "namespace": group.namespace,
        "queue": group.queue_name,
        "priority": group.priority,
        "preemptibility": workload.preemptibility,
        "preemptibility_source": workload.preemptibility_source,
        "preemptibility_problem": group.unknown_preemptibility,
        "pods_running": workload.running,
        "pods_pending": workload.pending,
        "pods_minimum": workload.minimum,
        "runs_for_seconds": _seconds(workload.runs_for),
        "is_protected": bool(workload.protections),
        "protections": [_protection(protection) for protection in workload.protections],
        "expected_runtime_seconds": _seconds(expected.value),
        "expected_runtime_source": workload.expected_source,
        "requeue": None if workload.nomination is None else _requeue(workload.nomination),
    }


def _protection(protection: pb.Protection) -> Facts:
    return {
        "guard": protection.guard,
        "actions": list(protection.actions),
        "against": protection.against,
        "against_pod_group": protection.against_pod_group,
        "scope": label(pb.ProtectionScope, protection.scope),
        "until": _time(protection.until) if protection.HasField("until") else None,
        "source": protection.source,
    }


def _requeue(nomination: pb.Nomination) -> Facts:
    reason = nomination.skip_reason
    until = nomination.reason.until if nomination.reason.HasField("until") else None
    return {
        "result": label(pb.NominationResult, nomination.result),
        "skip_reason": label(pb.NominationSkipReason, reason) if reason else None,
        "detail": nomination.reason.message,
        "nominated_by": list(nomination.nominated_by),
        "overrun_seconds": _seconds(nomination.overrun.ToNanoseconds()),
        "until": None if until is None else _time(until),
        "contender": nomination.contender or None,
        "not_before": _time(nomination.not_before) if nomination.HasField("not_before") else None,
    }


def _seconds(nanoseconds: int | None) -> int | None:
    """Whole seconds, rounded down."""
    return None if nanoseconds is None else nanoseconds // SECOND


def _time(moment: Timestamp) -> str:
    """RFC 3339."""
    return moment.ToJsonString()

"""Decision groups, and reports of their results."""

from google.protobuf import text_format
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.v1 import report_pb2 as pb
from tenure.v1.decision_pb2 import DecisionGroup

DECIDED_AT, REPORTED_AT, END = 1_000, 1_010, 1_120

EVICTING = f"""
id: "g" action: "reclaim" beneficiary: "b" atomicity: ATOMICITY_ALL expire_time {{ seconds: {END} }}
decisions {{ id: "e1" evict {{ pod: "v1-0" node: "n1" preemptor: "b" pod_group: "v1" }} }}
decisions {{ id: "e2" evict {{ pod: "v2-0" node: "n2" preemptor: "b" pod_group: "v2" }} }}
decisions {{ id: "h1" reserve {{ pod: "b-0" node: "n1" pod_group: "b" }} }}
decisions {{ id: "p1" patch {{ pod_group: "v1" last_eviction_time {{ seconds: {DECIDED_AT} }} }} }}
decisions {{ id: "p2" patch {{ pod_group: "v1" eviction_count: 4 }} }}
decisions {{ id: "p3" patch {{ pod_group: "v1" set_eviction_record {{ victim: "v1" preemptor: "b"
             consecutive_failures: 2 result_pending: true
             last_eviction_time {{ seconds: {DECIDED_AT} }} }} }} }}
decisions {{ id: "p4" patch {{ pod_group: "v2" eviction_count: 1 }} }}
decisions {{ id: "p5" patch {{ pod_group: "v2" set_eviction_record {{ victim: "v2" preemptor: "b"
             last_eviction_time {{ seconds: {DECIDED_AT} }} result_pending: true }} }} }}
"""
"""Two pods of other pod groups are evicted, and capacity is reserved for one pod."""

BINDING = f"""
id: "g" action: "allocate" beneficiary: "b" atomicity: ATOMICITY_ALL expire_time {{ seconds: {END} }}
decisions {{ id: "b1" bind {{ pod: "b-0" node: "n1" }} }}
decisions {{ id: "b2" bind {{ pod: "b-1" node: "n2" }} }}
decisions {{ id: "p1" patch {{ pod_group: "b" last_start_time {{ seconds: {DECIDED_AT} }} }} }}
"""

ELASTIC = BINDING.replace("ATOMICITY_ALL", "ATOMICITY_BEST_EFFORT")

TELLING = f"""
id: "g" action: "preempt" beneficiary: "b" atomicity: ATOMICITY_ALL expire_time {{ seconds: {END} }}
decisions {{ id: "n1" notify {{ pod: "v1-0" node: "n1" preemptor: "b" pod_group: "v1" }} }}
decisions {{ id: "n2" notify {{ pod: "v2-0" node: "n2" preemptor: "b" pod_group: "v2" }} }}
decisions {{ id: "h1" reserve {{ pod: "b-0" node: "n1" pod_group: "b" }} }}
decisions {{ id: "b1" bind {{ pod: "b-1" node: "n3" }} }}
decisions {{ id: "p1" patch {{ pod_group: "v1" last_notice_time {{ seconds: {DECIDED_AT} }} }} }}
decisions {{ id: "p2" patch {{ pod_group: "v2" last_notice_time {{ seconds: {DECIDED_AT} }} }} }}
decisions {{ id: "p3" patch {{ pod_group: "b" last_start_time {{ seconds: {DECIDED_AT} }} }} }}
"""
"""Pods are given notice, and one pod is bound beside the capacity that is reserved."""

PATCHING = """
id: "g" action: "stalegangeviction" beneficiary: "b" atomicity: ATOMICITY_BEST_EFFORT
decisions { id: "p1" patch { pod_group: "b" clear_stale_since: true } }
"""

PAYING = f"""
id: "g" action: "reclaim" beneficiary: "b" atomicity: ATOMICITY_ALL expire_time {{ seconds: {END} }}
decisions {{ id: "e1" evict {{ pod: "v1-0" pod_group: "v1" eviction_rates {{ name: "pods" }}
             eviction_rates {{ name: "groups" per_pod_group: true }} }} }}
decisions {{ id: "e2" evict {{ pod: "v1-1" pod_group: "v1" eviction_rates {{ name: "pods" }}
             eviction_rates {{ name: "groups" per_pod_group: true }} }} }}
decisions {{ id: "e3" evict {{ pod: "v2-0" pod_group: "v2"
             eviction_rates {{ name: "groups" per_pod_group: true }} }} }}
"""
"""Evictions that pay to two rates."""

APPLIED = "status: APPLY_STATUS_APPLIED"
STALE = "status: APPLY_STATUS_PRECONDITION_FAILED"
FAILED = "status: APPLY_STATUS_FAILED"
LATER = "status: APPLY_STATUS_FAILED retryable: true"


def report(group: str, memory: str = "", **steps: str) -> pb.GroupReport:
    """Build a report of a group: results by decision id, eviction records as text."""
    message = pb.GroupReport(group=text_format.Parse(group, DecisionGroup()))
    text_format.Merge(memory, message)
    for decision_id, text in steps.items():
        text_format.Merge(f'results {{ decision_id: "{decision_id}" {text} }}', message)
    return message


def at(seconds: int) -> Timestamp:
    return Timestamp(seconds=seconds)


def request(*reports: pb.GroupReport, now: int = REPORTED_AT) -> pb.ReportResultsRequest:
    return pb.ReportResultsRequest(cluster_id="c", node_pool="p", now=at(now), groups=reports)

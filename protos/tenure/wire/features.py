"""Features of the contract that callers can require, so that no server ignores what it does not know.

A caller names features, or fields as `PodGroup.grant`, in the metadata of a call. A server that lacks one
rejects the call.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.message import Message
from tenure.v1 import (
    capabilities_pb2,
    decide_pb2,
    decision_pb2,
    explain_pb2,
    pod_group_status_pb2,
    report_pb2,
    resources_pb2,
    simulate_pb2,
    snapshot_pb2,
    state_pb2,
)

CONTRACT_REVISION: Final = 1
"""Raised by one with the first change of the contract after a release (checked by `proto-breaking`)."""
METADATA_KEY: Final = "tenure-require"
MAX_LENGTH: Final = 4_096
"""Maximum length of the metadata, in characters."""
FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "disruption-budgets": ("ClusterSnapshot.disruption_budgets",),
    "estimated-starts": ("DecideRequest.estimate_starts",),
    "eviction-history": ("ClusterSnapshot.eviction_history",),
    "eviction-rates": ("ClusterSnapshot.eviction_rates", "GroupStatus.patches"),
    "fates": ("PodGroup.on_evict", "Queue.on_evict"),
    "grants": ("PodGroup.grant",),
    "holds": ("PodGroup.held_by", "PodGroup.not_before_time"),
    "in-flight-groups": ("ClusterSnapshot.in_flight_groups", "GroupStatus.in_flight"),
    "minimum-runtime": ("PodGroup.min_runtime", "Queue.preempt_min_runtime", "Queue.reclaim_min_runtime"),
    "notices": ("PodGroup.notice", "InFlightGroup.notices", "Decision.notify"),
    "planned-starts": ("ClusterSnapshot.planned_starts",),
    "pod-group-statuses": ("DecideRequest.include_pod_group_statuses",),
    "postponed-pod-groups": ("ClusterSnapshot.postponed_pod_groups",),
    "preemptibility-labels": ("PodGroup.is_preemptibility_label",),
    "protected-minimum": ("PodGroup.preemptibility",),
    "queue-runtimes": ("ClusterSnapshot.queue_runtimes",),
    "queue-usage": ("ClusterSnapshot.queue_usage",),
    "requeue": ("PodGroup.expected_runtime", "PodGroup.requeue_not_before", "Decision.requeue"),
    "time-limits": ("PodGroup.time_limit", "Queue.time_limit"),
    "unusable-gpus": ("DecideResponse.unusable_gpus",),
    "victim-sets": ("DecisionGroup.victim_set", "VictimSet.next_best_pods", "VictimSet.excess_gpu_milli"),
}
"""Fields of each feature, by its name."""
_FILES: Final = (
    *(capabilities_pb2, decide_pb2, decision_pb2, explain_pb2, pod_group_status_pb2),
    *(report_pb2, resources_pb2, simulate_pb2, snapshot_pb2, state_pb2),
)


def is_known(name: str) -> bool:
    """Whether this version has a feature, or a field such as `PodGroup.grant`."""
    message, dot, field = name.partition(".")
    return _has_field(message, field) if dot else name in FEATURES


def unknown_names(requirements: Iterable[str]) -> list[str]:
    """Names of features and fields that this version lacks. A requirement is a list with commas."""
    names = (name.strip() for text in requirements for name in text.split(","))
    return sorted({name for name in names if name and not is_known(name)})


def _has_field(message: str, field: str) -> bool:
    found: type[Message] | None = next(
        (getattr(each, message) for each in _FILES if message in each.DESCRIPTOR.message_types_by_name), None
    )
    return found is not None and field in found.DESCRIPTOR.fields_by_name

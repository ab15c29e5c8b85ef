"""Encode statuses of pod groups, for requests that include them. No part of recorded responses."""

from collections.abc import Callable, Iterator
from typing import Final

from tenure.codec.encoded_response import EncodedResponse
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.fate import HoldReason
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.pod_group_status import PodGroupStatus, pod_group_statuses
from tenure.solver.registry import unusable_gpus
from tenure.terms.cancellation import STRIDE, no_check
from tenure.terms.preemptibility import Preemptibility
from tenure.v1 import pod_group_status_pb2 as pb
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.simulate_pb2 import SimulateRequest
from tenure.wire.timestamps import span, timestamp
from tenure.wire.writer import serialize_message, tag

_STATUSES: Final = tag(DecideResponse, "pod_group_statuses")
_UNUSABLE: Final = tag(DecideResponse, "unusable_gpus")


def with_statuses(
    response: EncodedResponse,
    cluster: Cluster,
    request: DecideRequest | SimulateRequest,
    registry: Registry,
    check: Callable[[], None] = no_check,
) -> EncodedResponse:
    """The response with the statuses of the cluster, if the request includes them."""
    if not request.include_pod_group_statuses:
        return response
    return response._replace(statuses=encode_statuses(cluster, registry, check))


def encode_statuses(cluster: Cluster, registry: Registry, check: Callable[[], None] = no_check) -> bytes:
    """Statuses of all pod groups, and free GPUs that are unusable, as part of a serialized DecideResponse."""
    rows = status_messages(cluster, registry, check)
    unusable = (_UNUSABLE, serialize_message(unusable_message(cluster)))
    return b"".join([*[part for row in rows for part in (_STATUSES, serialize_message(row))], *unusable])


def unusable_message(cluster: Cluster) -> pb.UnusableGpus:
    """Free GPUs that the workloads of a cluster cannot use."""
    found = unusable_gpus(cluster)
    return pb.UnusableGpus(
        free_gpu_milli=found.free,
        no_cpu_gpu_milli=found.no_cpu,
        no_gpu_gpu_milli=found.no_gpu,
        neither_gpu_milli=found.neither,
        other_kind_gpu_milli=found.other_kind,
    )


def status_messages(
    cluster: Cluster, registry: Registry, check: Callable[[], None] = no_check
) -> Iterator[pb.PodGroupStatus]:
    """Statuses of all pod groups by uid; `check` is called every few rows."""
    for ordinal, status in enumerate(pod_group_statuses(cluster, registry.guarded.fair_share_names)):
        if not ordinal % STRIDE:
            check()
        yield _message(status)


def _message(status: PodGroupStatus) -> pb.PodGroupStatus:
    facts, end, uncovered = status.group.facts, status.end, status.uncovered
    requested = Preemptibility.UNSPECIFIED if uncovered is None else uncovered.requested
    made = pb.PodGroupStatus(
        pod_group=facts.uid,
        preemptibility=f"PREEMPTIBILITY_{status.preemptibility.name}",
        preemptibility_source=f"PREEMPTIBILITY_SOURCE_{status.preemptibility_source.name}",
        preemptibility_problem=facts.unknown_preemptibility,
        min_pods=status.min_pods,
        held_by=f"HOLD_REASON_{status.held_by.name}",
        expected_runtime_source=status.expected_runtime_source,
        expected_end_certainty=f"CERTAINTY_{end.certainty.name}",
        requested_preemptibility=f"PREEMPTIBILITY_{requested.name}",
        not_in_force="" if uncovered is None else f"{uncovered.wish}: {uncovered.detail}",
    )
    if status.held_by is HoldReason.NOT_BEFORE and facts.victim.not_before is not None:
        made.not_before_time.CopyFrom(timestamp(facts.victim.not_before))
    if status.expected_runtime.value is not None:
        made.expected_runtime.CopyFrom(span(status.expected_runtime.value))
    if end.likely is not None:
        made.expected_end.CopyFrom(timestamp(end.likely))
    if end.hard is not None:
        made.latest_end.CopyFrom(timestamp(end.hard))
    if facts.requeue.not_before.value is not None:
        made.requeue_not_before.CopyFrom(timestamp(facts.requeue.not_before.value))
    return made

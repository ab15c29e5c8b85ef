"""A decision to a response message."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Final

from tenure.server.codec.nominations import encode_nomination
from tenure.server.codec.outcomes import encode_outcome
from tenure.server.codec.protections import encode_protection
from tenure.server.codec.recurring import Recurring
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.steps import StepEncoder
from tenure.server.codec.times import timestamp
from tenure.server.codec.verdicts import encode_verdict
from tenure.server.codec.warnings import encode_warning
from tenure.server.codec.writing import message, number, tag, text
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Counters, Decision, Outcome, Protection, QueueStatus
from tenure.solver.model.resources import Share
from tenure.v1 import decision_service_pb2 as service_pb

_COUNTERS: Final = tuple([counter.name for counter in fields(Counters)])
_QUEUES: Final = tag(service_pb.DecideResponse, "queues")
_GROUPS: Final = tag(service_pb.DecideResponse, "groups")
_OUTCOMES: Final = tag(service_pb.DecideResponse, "outcomes")
_PROTECTIONS: Final = tag(service_pb.DecideResponse, "protections")
_IN_FLIGHT: Final = tag(service_pb.DecideResponse, "in_flight_groups")

_NAME: Final = tag(service_pb.QueueStatus, "name")
_FAIR_SHARE: Final = tag(service_pb.QueueStatus, "fair_share")
_ALLOCATED_BEFORE: Final = tag(service_pb.QueueStatus, "allocated_before")
_ALLOCATED_AFTER: Final = tag(service_pb.QueueStatus, "allocated_after")

_CPU: Final = tag(service_pb.ResourceShare, "cpu_milli")
_MEMORY: Final = tag(service_pb.ResourceShare, "memory_bytes")
_GPU: Final = tag(service_pb.ResourceShare, "gpu_milli")


def encode_decision(
    cluster: Cluster, decision: Decision, based_on: service_pb.BasedOn
) -> service_pb.DecideResponse:
    """The answer: groups in the order of decision, outcomes and protections by uid, queues by name.

    `based_on` is what ids are made from and what the answer echoes. Indices of the cluster are in the order
    of uids and names, so sorting by them is sorting by those. Pure: equal input, equal bytes.
    """
    answer = service_pb.DecideResponse(
        based_on=based_on,
        next_wake_time=None if decision.next_wake is None else timestamp(decision.next_wake),
        warnings=[encode_warning(cluster, doubt) for doubt in decision.doubts],
        counters=service_pb.SearchCounters(**{name: getattr(decision.counters, name) for name in _COUNTERS}),
        nominations=[encode_nomination(cluster, each) for each in decision.nominations],
        stopped_early=decision.stopped_early,
    )
    answer.MergeFromString(b"".join(_lists(cluster, decision, based_on)))
    return answer


def _lists(cluster: Cluster, decision: Decision, based_on: service_pb.BasedOn) -> Iterable[bytes]:
    """The lists with a row for every queue or pod group, or for every pod that is moved."""
    recurring = Recurring(cluster)
    say = Sentences(cluster, recurring)
    steps = StepEncoder(cluster, based_on, recurring, say)
    rows: list[bytes] = []
    for queue in sorted(decision.queues):
        rows += [_QUEUES, _encode_queue(cluster, queue)]
    for ordinal, group in enumerate(decision.groups):
        rows += [_GROUPS, steps.group(ordinal, group)]
    for outcome in sorted(decision.outcomes, key=_place_of_outcome):
        rows += [_OUTCOMES, encode_outcome(recurring, outcome, say)]
    for protection in sorted(decision.protections, key=_place_of_protection):
        rows += [_PROTECTIONS, encode_protection(recurring, protection)]
    for status in decision.in_flight:
        rows += [_IN_FLIGHT, encode_verdict(cluster, recurring, status, say)]
    return rows


def _place_of_outcome(outcome: Outcome) -> int:
    return outcome.pod_group


def _place_of_protection(protection: Protection) -> tuple[int, str, tuple[str, ...], str, int]:
    from_one = -1 if protection.against_pod_group is None else protection.against_pod_group
    return protection.pod_group, protection.guard, protection.actions, protection.against, from_one


def _encode_queue(cluster: Cluster, status: QueueStatus) -> bytes:
    fields = [_NAME, text(cluster.queues[status.queue].name), _FAIR_SHARE, _encode_share(status.fair_share)]
    fields += [_ALLOCATED_BEFORE, _encode_share(status.allocated_before)]
    fields += [_ALLOCATED_AFTER, _encode_share(status.allocated_after)]
    return message(fields)


def _encode_share(share: Share) -> bytes:
    cpu, memory, gpu = share
    return message([_CPU, number(cpu), _MEMORY, number(memory), _GPU, number(gpu)])

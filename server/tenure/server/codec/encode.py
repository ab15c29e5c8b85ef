"""A decision to a response message."""

from dataclasses import asdict
from typing import Final

from tenure.server.codec.guards import SCOPES
from tenure.server.codec.inflight import encode_in_flight
from tenure.server.codec.nominations import encode_nomination
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.steps import StepEncoder, fill_reason
from tenure.server.codec.times import set_time, timestamp
from tenure.server.codec.warnings import encode_warning
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision, Outcome, OutcomeKind, Protection, QueueStatus
from tenure.solver.model.resources import Share
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import decision_service_pb2 as service_pb

_KINDS: Final = {kind: getattr(pb, f"OUTCOME_KIND_{kind.name}") for kind in OutcomeKind}
"""Kinds as the contract numbers them."""


def encode_decision(
    cluster: Cluster, decision: Decision, based_on: service_pb.BasedOn
) -> service_pb.DecideResponse:
    """The answer: groups in the order of decision, outcomes and protections by uid, queues by name.

    `based_on` is what ids are made from and what the answer echoes. Indices of the cluster are in the order
    of uids and names, so sorting by them is sorting by those. Pure: equal input, equal bytes.
    """
    say = Sentences(cluster)
    steps = StepEncoder(cluster, based_on, say)
    answer = service_pb.DecideResponse(
        based_on=based_on,
        next_wake_time=None if decision.next_wake is None else timestamp(decision.next_wake),
        queues=[_encode_queue(cluster, status) for status in sorted(decision.queues)],
        warnings=[encode_warning(cluster, doubt) for doubt in decision.doubts],
        counters=service_pb.SearchCounters(**asdict(decision.counters)),
        nominations=[encode_nomination(cluster, each) for each in decision.nominations],
        stopped_early=decision.stopped_early,
        in_flight_groups=encode_in_flight(cluster, decision.in_flight, say),
    )
    for ordinal, group in enumerate(decision.groups):
        steps.group(answer.groups.add(), ordinal, group)
    for outcome in sorted(decision.outcomes, key=lambda outcome: outcome.pod_group):
        _fill_outcome(answer.outcomes.add(), cluster, outcome, say)
    for protection in sorted(decision.protections, key=_place_of_protection):
        fill_protection(answer.protections.add(), cluster, protection)
    return answer


def _place_of_protection(protection: Protection) -> tuple[int, str, tuple[str, ...], str, int]:
    from_one = -1 if protection.against_pod_group is None else protection.against_pod_group
    return protection.pod_group, protection.guard, protection.actions, protection.against, from_one


def _fill_outcome(into: pb.PodGroupOutcome, cluster: Cluster, outcome: Outcome, say: Sentences) -> None:
    reason = outcome.reason
    into.pod_group = cluster.pod_groups[outcome.pod_group].uid
    into.kind = _KINDS[outcome.kind]
    fill_reason(into.reason, reason.code, say.outcome(outcome), reason.source)
    if reason.until is not None:
        set_time(into.reason.until, reason.until)
    into.bound = outcome.bound
    into.held = outcome.held
    into.pending = outcome.pending


def fill_protection(into: pb.Protection, cluster: Cluster, protection: Protection) -> None:
    """Who may not touch a pod group until when."""
    into.pod_group = cluster.pod_groups[protection.pod_group].uid
    into.guard = protection.guard
    into.actions.extend(protection.actions)
    if protection.until is not None:
        set_time(into.until, protection.until)
    into.source = protection.source
    into.against = protection.against
    if protection.against_pod_group is not None:
        into.against_pod_group = cluster.pod_groups[protection.against_pod_group].uid
    into.scope = SCOPES[protection.scope]


def _encode_queue(cluster: Cluster, status: QueueStatus) -> service_pb.QueueStatus:
    return service_pb.QueueStatus(
        name=cluster.queues[status.queue].name,
        fair_share=_encode_share(status.fair_share),
        allocated_before=_encode_share(status.allocated_before),
        allocated_after=_encode_share(status.allocated_after),
    )


def _encode_share(share: Share) -> service_pb.ResourceShare:
    cpu, memory, gpu = share
    return service_pb.ResourceShare(cpu_milli=cpu, memory_bytes=memory, gpu_milli=gpu)

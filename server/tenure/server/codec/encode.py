"""A decision to a response message."""

from dataclasses import asdict

from tenure.server.codec.guards import encode_scope
from tenure.server.codec.nominations import encode_nomination
from tenure.server.codec.printable import printable
from tenure.server.codec.sentences import Sentences
from tenure.server.codec.steps import StepEncoder
from tenure.server.codec.times import timestamp
from tenure.server.codec.warnings import encode_warning
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import Decision, Outcome, Protection, QueueStatus
from tenure.solver.model.resources import Share
from tenure.v1 import decision_pb2 as pb
from tenure.v1 import decision_service_pb2 as service_pb


def encode_decision(
    cluster: Cluster, decision: Decision, based_on: service_pb.BasedOn
) -> service_pb.DecideResponse:
    """The answer: groups in the order of decision, outcomes and protections by uid, queues by name.

    `based_on` is what ids are made from and what the answer echoes. Indices of the cluster are in the order
    of uids and names, so sorting by them is sorting by those. Pure: equal input, equal bytes.
    """
    steps, say = StepEncoder(cluster, based_on), Sentences(cluster)
    outcomes = sorted(decision.outcomes, key=lambda outcome: outcome.pod_group)
    protections = sorted(decision.protections, key=_place_of_protection)
    return service_pb.DecideResponse(
        based_on=based_on,
        groups=[steps.group(ordinal, group) for ordinal, group in enumerate(decision.groups)],
        outcomes=[_encode_outcome(cluster, outcome, say) for outcome in outcomes],
        protections=[encode_protection(cluster, protection) for protection in protections],
        next_wake_time=None if decision.next_wake is None else timestamp(decision.next_wake),
        queues=[_encode_queue(cluster, status) for status in sorted(decision.queues)],
        warnings=[encode_warning(cluster, doubt) for doubt in decision.doubts],
        counters=service_pb.SearchCounters(**asdict(decision.counters)),
        nominations=[encode_nomination(cluster, each) for each in decision.nominations],
        stopped_early=decision.stopped_early,
    )


def _place_of_protection(protection: Protection) -> tuple[int, str, tuple[str, ...], str, int]:
    from_one = -1 if protection.against_pod_group is None else protection.against_pod_group
    return protection.pod_group, protection.guard, protection.actions, protection.against, from_one


def _encode_outcome(cluster: Cluster, outcome: Outcome, say: Sentences) -> pb.PodGroupOutcome:
    until = outcome.reason.until
    return pb.PodGroupOutcome(
        pod_group=cluster.pod_groups[outcome.pod_group].uid,
        kind=f"OUTCOME_KIND_{outcome.kind.name}",
        reason=pb.Reason(
            code=f"REASON_CODE_{outcome.reason.code.name}",
            message=printable(say.outcome(outcome)),
            source=outcome.reason.source,
            until=None if until is None else timestamp(until),
        ),
        bound=outcome.bound,
        held=outcome.held,
        pending=outcome.pending,
    )


def encode_protection(cluster: Cluster, protection: Protection) -> pb.Protection:
    """Who may not touch a pod group until when."""
    from_one = protection.against_pod_group
    return pb.Protection(
        pod_group=cluster.pod_groups[protection.pod_group].uid,
        guard=protection.guard,
        actions=protection.actions,
        until=None if protection.until is None else timestamp(protection.until),
        source=protection.source,
        against=protection.against,
        against_pod_group="" if from_one is None else cluster.pod_groups[from_one].uid,
        scope=encode_scope(protection.scope),
    )


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

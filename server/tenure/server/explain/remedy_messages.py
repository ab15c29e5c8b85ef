"""Remedies in words: the change, and when the pod group would start; and what happens if only time passes."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final

from tenure.server.explain.audience_text import (
    NOTHING,
    AudienceNames,
    AudienceText,
    explain_pending,
    for_all,
    for_operators,
    format_text,
    join,
    moment,
)
from tenure.solver.diagnosis.outcomes import outcome_kind
from tenure.solver.diagnosis.remedies import Remedy, RemedyKind
from tenure.solver.diagnosis.too_large import is_too_large
from tenure.solver.diagnosis.waiting import MAX_CYCLES, PendingAt, Waiting
from tenure.solver.diagnosis.what_if import TrialResult, single_pod_set
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import CPU, GPU, MEMORY
from tenure.terms.formatting import format_amount, format_count, join_words
from tenure.v1 import explain_pb2 as pb
from tenure.wire.timestamps import timestamp

MAX_NAMED: Final = 3
"""Other pod groups that a remedy names."""
_WHATEVER_ENDS: Final = (OutcomeKind.INFEASIBLE, OutcomeKind.INVALID_POD_GROUP, OutcomeKind.HELD)
"""Outcomes that the end of other work does not change."""


class ResourceKind(IntEnum):
    """Resources of quotas and limits; numbers as on the wire."""

    CPU = 1
    MEMORY = 2
    GPU = 3


RESOURCE_KINDS: Final = {CPU: ResourceKind.CPU, MEMORY: ResourceKind.MEMORY, GPU: ResourceKind.GPU}
"""By the index of the resource in amounts of the model."""
_AMOUNTS: Final = {
    ResourceKind.CPU: ("CPU", 1000, " cores"),
    ResourceKind.MEMORY: ("memory", 2**30, " GiB"),
    ResourceKind.GPU: ("GPU", 1000, " GPUs"),
}
"""Name, unit and suffix of amounts, by resource."""


def remedy_message(cluster: Cluster, names: AudienceNames, remedy: Remedy) -> pb.Remedy:
    """Message of the response: the parameters of the change, and the sentence that is made of them."""
    result = remedy.result
    message = pb.Remedy(
        kind=f"REMEDY_KIND_{remedy.kind.name}",
        outcome=f"OUTCOME_KIND_{result.kind.name}",
        evicted_pods=result.evicted,
        until=None if remedy.until is None else timestamp(remedy.until),
        victims=_pod_counts(cluster, result.victims),
        not_started=[cluster.pod_groups[index].facts.uid for index in result.not_started],
        further_losses=_pod_counts(cluster, result.further_losses),
    )
    _set_change(cluster, names.own, remedy, message)
    text = format_text("{change}; {effect}.", change=_change(names, message), effect=_effect(names, remedy))
    message.explanation.CopyFrom(text.message())
    return message


def _pod_counts(cluster: Cluster, counts: Sequence[tuple[int, int]]) -> list[pb.PodCount]:
    return [pb.PodCount(pod_group=cluster.pod_groups[each].facts.uid, pods=pods) for each, pods in counts]


def _set_change(cluster: Cluster, own: int, remedy: Remedy, message: pb.Remedy) -> None:
    """Set the parameters of the change, if its kind has any."""
    group, number = cluster.pod_groups[own], remedy.number
    match remedy.kind:
        case RemedyKind.REDUCE_MINIMUM:
            part = single_pod_set(group)
            assert part is not None
            message.min_member.CopyFrom(pb.NumberChange(before=part.min_available, after=number))
        case RemedyKind.RAISE_PRIORITY:
            message.priority.CopyFrom(pb.NumberChange(before=group.facts.priority, after=number))
        case RemedyKind.RAISE_QUOTA | RemedyKind.RAISE_LIMIT:
            bound = "quota" if remedy.kind is RemedyKind.RAISE_QUOTA else "limit"
            change = pb.BoundChange(resource=f"RESOURCE_KIND_{RESOURCE_KINDS[remedy.resource].name}")
            for facts in [cluster.queues[queue].facts for queue in remedy.queues]:
                before = getattr(facts, bound)[remedy.resource]
                change.queues.add(queue=facts.name, before=before, after=before + number)
            message.bound.CopyFrom(change)
        case RemedyKind.ADD_NODES:
            like = cluster.nodes[remedy.node].facts.name
            message.nodes.CopyFrom(pb.NodeAddition(number=number, like_node=like))


def _change(names: AudienceNames, message: pb.Remedy) -> AudienceText:
    match message.WhichOneof("change"):
        case "min_member":
            before, after = _numbers(message.min_member)
            return for_all(f"reduce its minimum from {before} to {format_count(after, 'pod')}")
        case "priority":
            before, after = _numbers(message.priority)
            return for_all(f"raise its priority from {before} to {after}")
        case "bound":
            return _larger_bounds(names, message)
        case "nodes":
            anonymous = "that match its requirements"
            like = AudienceText(anonymous, anonymous, f"like node {message.nodes.like_node}")
            number = format_count(message.nodes.number, "node")
            return format_text("add {nodes} {like}", nodes=number, like=like)
    if message.kind == pb.REMEDY_KIND_MAKE_PREEMPTIBLE:
        return for_all("make it preemptible without opt-outs")
    if message.HasField("until"):
        return for_all(f"wait until {moment(message.until.ToNanoseconds())}")
    return for_all("wait until the pods that are terminating are gone")


def _numbers(change: pb.NumberChange | pb.QueueBoundChange) -> tuple[int, int]:
    """Before and after."""
    return change.before, change.after


def _larger_bounds(names: AudienceNames, message: pb.Remedy) -> AudienceText:
    """`raise the GPU quota of queue a from 4 to 6 GPUs`; the public text has no amounts."""
    name, unit, suffix = _AMOUNTS[ResourceKind(message.bound.resource)]
    bound = "quota" if message.kind == pb.REMEDY_KIND_RAISE_QUOTA else "limit"
    queues = []
    for change in message.bound.queues:
        before, after = [format_amount(amount, unit) for amount in _numbers(change)]
        amounts = f" from {before} to {after}{suffix.removesuffix('s') if after == '1' else suffix}"
        queue = names.queue_by_name(change.queue)
        queues.append(
            format_text("{queue}{amounts}", queue=queue, amounts=AudienceText("", amounts, amounts))
        )
    return format_text(
        "raise the {name} {bound} of {queues}", name=name, bound=bound, queues=join(queues, " and of ")
    )


def _effect(names: AudienceNames, remedy: Remedy) -> AudienceText:
    """When it starts, who loses pods for that, and who then does not start."""
    result, when = remedy.result, for_all("it starts")
    match result.kind:
        case OutcomeKind.WAITING_FOR_VICTIMS if not result.evicted:
            when = for_all("it starts when pods that are evicted for it already have left")
        case OutcomeKind.WAITING_FOR_VICTIMS:
            pods = f"{format_count(result.evicted, 'pod')} of other pod groups"
            verb = "is evicted" if result.evicted == 1 else "are evicted"
            when = format_text(
                "it starts after {pods} {verb}{named}",
                pods=pods,
                verb=verb,
                named=_named_victims(names, result.victims),
            )
        case OutcomeKind.WAITING_FOR_RELEASE:
            when = for_all("it starts when terminating pods have released their resources")
    return join([when, *_not_started(names, result), *_further_losses(names, result)], "; ")


def _named_victims(names: AudienceNames, victims: Sequence[tuple[int, int]]) -> AudienceText:
    """In parentheses, for operators: `2 of pod group a (queue q)`."""
    parts = [f"{pods:,} of {names.pod_group(index).operator}" for index, pods in victims[:MAX_NAMED]]
    if left := sum(pods for _, pods in victims[MAX_NAMED:]):
        parts.append(f"{left:,} of {format_count(len(victims) - MAX_NAMED, 'other pod group')}")
    return for_operators(f" ({join_words(parts)})" if parts else "")


def _not_started(names: AudienceNames, result: TrialResult) -> Iterator[AudienceText]:
    """Pod groups that would start without the change."""
    if not result.not_started:
        return
    verb = "does" if len(result.not_started) == 1 else "do"
    yield format_text("{who} then {verb} not start", who=_others(names, result.not_started), verb=verb)


def _further_losses(names: AudienceNames, result: TrialResult) -> Iterator[AudienceText]:
    """Pods that other pod groups lose for others because of the change."""
    if not result.further_losses:
        return
    pods = format_count(sum(pods for _, pods in result.further_losses), "pod")
    who = _others(names, [index for index, _ in result.further_losses])
    verb = "loses" if len(result.further_losses) == 1 else "lose"
    yield format_text("{who} then {verb} {pods}", who=who, verb=verb, pods=pods)


def _others(names: AudienceNames, pod_groups: Sequence[int]) -> AudienceText:
    """Other pod groups: by number, and for operators by name."""
    number = format_count(len(pod_groups), "other pod group")
    named = [names.pod_group(index).operator for index in pod_groups[:MAX_NAMED]]
    more = [f"{len(pod_groups) - MAX_NAMED:,} more"] if len(pod_groups) > MAX_NAMED else []
    return AudienceText(number, number, join_words([*named, *more]))


def describe_waiting(names: AudienceNames, reason: Rejection, waiting: Waiting) -> AudienceText:
    """Why it does not run when the obstacle of now ends, and whether it runs at all; empty if it does then.

    `reason` is why it is pending now.
    """
    at_end = [each for each in waiting.pending if reason.until is not None and each.time >= reason.until]
    parts = [_still_pending(names, at_end[0])] if at_end else []
    if waiting.result is not None:
        return join(parts)
    if not waiting.is_complete:
        last = waiting.pending[-1].time if waiting.pending else names.cluster.now
        text = f"It does not start in {format_count(MAX_CYCLES, 'cycle')}, the last at {moment(last)}"
        return join([*parts, for_all(f"{text}; what happens later was not checked.")])
    if not waiting.pending:
        return NOTHING
    last_seen = waiting.pending[-1]
    if not at_end or last_seen.rejection.code is not at_end[0].rejection.code:
        parts.append(_still_pending(names, last_seen))
    is_final = outcome_kind(last_seen.rejection) in _WHATEVER_ENDS
    is_final = is_final or is_too_large(names.cluster, names.own, last_seen.rejection.code)
    ends = "" if is_final else ", unless other work ends"
    return join([*parts, for_all(f"It does not start by waiting{ends}.")])


def _still_pending(names: AudienceNames, at: PendingAt) -> AudienceText:
    why = explain_pending(names.cluster, names, names.own, at.rejection)
    text = format_text("At {time} it is still pending because {why}", time=moment(at.time), why=why)
    others = [index for index in at.others if index != names.own]
    if not others:
        return format_text("{text}.", text=text)
    number = format_count(len(others), "other pod group")
    named = join_words([names.pod_group(index).operator for index in others[:3]])
    rest = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return format_text(
        "{text}; capacity goes to {others}.",
        text=text,
        others=AudienceText(number, number, f"{named}{rest}"),
    )

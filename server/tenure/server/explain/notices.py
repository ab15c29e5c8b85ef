"""Notices in words: when pods are evicted, for which pod group and why, and which notices are withdrawn."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tenure.server.explain.audience_text import (
    AudienceNames,
    AudienceText,
    eviction_rule,
    for_operators,
    format_text,
    moment,
)
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.decision import InFlightGroupState
from tenure.solver.model.placement import NOWHERE
from tenure.terms.formatting import format_count


class StandingNotice(NamedTuple):
    """Pods of a pod group that a group in flight announced to evict."""

    victim: int
    beneficiary: int
    evict_time: int
    action: str


def standing_notices(replay: CycleReplay) -> Counter[StandingNotice]:
    """Notices of earlier cycles that stand after this one, with their numbers of pods."""
    found, tasks = Counter[StandingNotice](), replay.cluster.tasks
    for status in replay.result.in_flight:
        group = replay.cluster.in_flight[status.group]
        if status.state is not InFlightGroupState.IN_FLIGHT or group.beneficiary == NOWHERE:
            continue
        for task in group.tasks_with_notice(tasks):
            victim = tasks[task].pod_group
            found[StandingNotice(victim, group.beneficiary, group.evict_time, group.action)] += 1
    return found


def describe_standing(replay: CycleReplay, names: AudienceNames) -> Iterator[AudienceText]:
    """Notices of earlier cycles to the pod group that the names are for, and those that are withdrawn now."""
    last_notice = replay.cluster.pod_groups[names.own].facts.victim.last_notice
    since = "" if last_notice is None else f" since {moment(last_notice)}"
    for notice, pods in sorted(standing_notices(replay).items()):
        if notice.victim == names.own:
            event = f"{'has' if pods == 1 else 'have'} had notice{since}"
            yield _notice(replay, names, notice, pods, event, ", unless the notice is withdrawn")
    in_flight = replay.cluster.in_flight
    reasons = {in_flight[each.group].id: each.reason.detail for each in replay.result.in_flight}
    for group in replay.result.groups:
        spared = sum(replay.cluster.tasks[task].pod_group == names.own for task in group.notices.withdrawn)
        if spared:
            yield format_text(
                "The notice of {pods} of {who} is withdrawn: {other} does not need the eviction, or may no "
                "longer cause it{why}.",
                pods=format_count(spared, "pod"),
                who=names.pod_group(names.own),
                other=names.pod_group(group.beneficiary),
                why=for_operators(f" ({reasons[group.fulfills_group]})"),
            )


def describe_new(replay: CycleReplay, names: AudienceNames) -> Iterator[AudienceText]:
    """Notices of this cycle to the pod group that the names are for."""
    tasks = replay.cluster.tasks
    for group in replay.result.groups:
        pods = sum(tasks[step.task].pod_group == names.own for step in group.notices.evictions)
        if pods:
            notice = StandingNotice(names.own, group.beneficiary, group.notices.evict_time, group.action)
            event = f"{'is' if pods == 1 else 'are'} given notice in this cycle"
            yield _notice(replay, names, notice, pods, event)


def _notice(
    replay: CycleReplay,
    names: AudienceNames,
    notice: StandingNotice,
    pods: int,
    event: str,
    unless: str = "",
) -> AudienceText:
    """A notice, for which pod group and until when, and why the action may evict."""
    action = replay.registry.actions.get(notice.action)
    reason = None if action is None else action.reason
    rule = eviction_rule(replay.registry, notice.action, reason)
    return format_text(
        "{pods} of {who} {event}: {action} evicts {them} for {other} at {end}{unless}. Reason: {rule}.",
        pods=format_count(pods, "pod"),
        who=names.pod_group(notice.victim),
        event=event,
        action=notice.action,
        them="it" if pods == 1 else "them",
        other=names.pod_group(notice.beneficiary),
        end=moment(notice.evict_time),
        unless=unless,
        rule=rule,
    )

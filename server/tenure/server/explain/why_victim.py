"""Why are pods of a pod group evicted, and why they?"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tenure.server.explain.audience_text import (
    NOTHING,
    AudienceNames,
    AudienceText,
    capital,
    for_all,
    for_operators,
    format_text,
    join,
    moment,
)
from tenure.server.explain.explain_result import ExplainReason, ExplainResult
from tenure.server.explain.protected_until import find_pending_evictions
from tenure.solver.explain.cycle_replay import CycleReplay
from tenure.solver.explain.eligibility import VictimQuery
from tenure.solver.explain.victim_position import OrderCriterion, Precedence, VictimPosition, find_position
from tenure.solver.model.decision import DecisionGroup, Evict
from tenure.solver.model.verdict import GuardVerdict
from tenure.terms.formatting import format_count, join_words
from tenure.terms.reasons import REASONS, ReasonCode

MAX_NEXT: Final = 3
"""Candidates after it that are named."""

_RANKS: Final = {
    "priority": "higher priority",
    "elastic": "fewer surplus pods",
}
"""What the next candidate has, by the plugin whose order decided."""


def why_victim(replay: CycleReplay, pod_group: int) -> ExplainResult:
    """For every group of decisions that takes pods of it: the rule, for whom, the guards, and the order."""
    names = AudienceNames(replay.cluster, pod_group)
    lost = [
        (group, evictions) for group in replay.result.groups if (evictions := _of(replay, group, pod_group))
    ]
    if not lost:
        return ExplainResult(_not_now(replay, names))
    text = join(_describe_evictions(replay, names, group, evictions) for group, evictions in lost)
    facts = [
        ExplainReason(
            group.reason, _describe_evictions(replay, names, group, evictions).operator, group.action
        )
        for group, evictions in lost
    ]
    return ExplainResult(text, facts)


def _not_now(replay: CycleReplay, names: AudienceNames) -> AudienceText:
    """It loses nothing by this decision; it may by an earlier one."""
    who = names.pod_group(names.own)
    tasks = replay.cluster.tasks
    earlier = Counter(
        other for other, task in find_pending_evictions(replay) if tasks[task].pod_group == names.own
    )
    told = [
        format_text(
            "{n} of {who} evicted for {other} by an earlier decision that is being applied.",
            who=who,
            n=format_count(number, "pod"),
            other=names.pod_group(other),
        )
        for other, number in sorted(earlier.items())
    ]
    return join(told) if told else format_text("{who} is not evicted.", who=capital(who))


def _of(replay: CycleReplay, group: DecisionGroup, pod_group: int) -> list[Evict]:
    return [each for each in group.evictions if replay.cluster.tasks[each.task].pod_group == pod_group]


def _describe_evictions(
    replay: CycleReplay, names: AudienceNames, group: DecisionGroup, evictions: list[Evict]
) -> AudienceText:
    who = names.pod_group(names.own)
    number = format_count(len(evictions), "pod")
    if group.reason is ReasonCode.STALE_GANG:
        return format_text(
            "{n} of {who} evicted: it ran below its minimum for longer than its grace period.",
            who=who,
            n=number,
        )
    moving = sum(evict.relocating for evict in evictions)
    moves = f" ({moving} restart on another node)" if moving else ""
    rule = format_text(
        "{n} of {who}{moves} evicted for {other} by {action}: {rule}.",
        who=who,
        n=number,
        moves=moves,
        other=names.pod_group(group.beneficiary),
        action=group.action,
        rule=REASONS[group.reason].victim_clause or "the rules of the action allow it",
    )
    return join([rule, _guards(names, evictions), _order(replay, names, group)])


def _guards(names: AudienceNames, evictions: list[Evict]) -> AudienceText:
    """All that were asked and let it pass."""
    checks = dict.fromkeys(verdict for evict in evictions for verdict in evict.guards)
    parts = [_check(names, verdict) for verdict in checks]
    return (
        format_text("Guards that allowed the eviction: {parts}.", parts=join(parts, ", "))
        if parts
        else NOTHING
    )


def _check(names: AudienceNames, verdict: GuardVerdict) -> AudienceText:
    if verdict.scope:
        what = for_all("protects its minimum only")
    elif verdict.until is not None:
        what = for_all(f"protection ended {moment(verdict.until)}")
    else:
        what = for_all("no protection")
    return format_text(
        "{guard} ({what}, {source})", guard=verdict.guard, what=what, source=names.source(verdict.source)
    )


def _order(replay: CycleReplay, names: AudienceNames, group: DecisionGroup) -> AudienceText:
    """Where it stands among all who might have yielded."""
    action = next((each for each in replay.searches() if each.name == group.action), None)
    if action is None:
        return NOTHING
    context = replay.before_search(action, group.beneficiary)
    asking = VictimQuery(context, action, group.beneficiary)
    found = find_position(context, asking, names.own, MAX_NEXT)
    return join([_before(replay, names, found), *_after(names, found)])


def _before(replay: CycleReplay, names: AudienceNames, found: VictimPosition) -> AudienceText:
    if not found.earlier:
        return for_all("It is first in victim order.")
    named = join_words([replay.cluster.pod_groups[index].name for index in found.earlier])
    told = f"In victim order, {len(found.earlier)} precede it"
    return AudienceText(
        *(f"{told}{part}; they did not free enough capacity." for part in ("", "", f" ({named})"))
    )


def _after(names: AudienceNames, found: VictimPosition) -> Iterator[AudienceText]:
    for number, precedence in enumerate(found.later):
        told = "Next in victim order: {other} ({why})." if not number else "Then: {other} ({why})."
        text = format_text(told, other=names.pod_group(precedence.later), why=_why_later(precedence))
        yield text if not number else for_operators(text.operator)


def _why_later(precedence: Precedence) -> str:
    if precedence.criterion is OrderCriterion.QUEUE:
        return "in a later queue"
    if precedence.criterion is OrderCriterion.AGE:
        return "older"
    return _RANKS.get(precedence.plugin, f"later by {precedence.plugin}")

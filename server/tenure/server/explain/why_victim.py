"""Why is a pod group evicted?"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tenure.codec.encoding_cache import EncodingCache
from tenure.codec.messages import encode_victim_set
from tenure.server.explain.audience_text import (
    NOTHING,
    AudienceNames,
    AudienceText,
    capital,
    eviction_rule,
    for_all,
    for_operators,
    format_text,
    join,
    moment,
)
from tenure.server.explain.explain_result import ExplainReason, ExplainResult
from tenure.server.explain.notices import describe_standing
from tenure.server.explain.protected_until import find_pending_evictions
from tenure.solver.diagnosis.eligibility import VictimQuery
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.victim_position import OrderCriterion, Precedence, VictimPosition, find_position
from tenure.solver.diagnosis.victim_set import VictimSetCheck, check_victim_set
from tenure.solver.model.decision import DecisionGroup, Evict
from tenure.solver.model.verdict import UNTRIED_SET, GuardVerdict, Minimality, OtherSet, VictimMeasure
from tenure.solver.result.notices import victims_of
from tenure.solver.search.victim_sets.by_need import is_by_need
from tenure.terms.formatting import count_gpus, format_count, format_gpu_time, join_words
from tenure.terms.reasons import ReasonCode

MAX_NEXT: Final = 3
"""Later candidates that are named."""

_CRITERIA: Final = {
    "priority": "higher priority",
    "elastic": "fewer surplus pods",
    "evictioncost": "a higher cost",
    "gpujoborder": "by priority, then number of GPUs",
}
"""What a later candidate has, or by what it comes later, by the plugin whose order decides."""


def why_victim(replay: CycleReplay, pod_group: int) -> ExplainResult:
    """For each decision group with evictions of it: rule, preemptor, guards and position in victim order."""
    names = AudienceNames(replay.cluster, pod_group)
    groups = [
        (group, evictions) for group in replay.result.groups if (evictions := _of(replay, group, pod_group))
    ]
    if not groups:
        return ExplainResult(_not_now(replay, names))
    texts, facts, sets = list[AudienceText](), list[ExplainReason](), list[bytes]()
    for group, evictions in groups:
        check = check_victim_set(replay, group)
        texts.append(_describe_evictions(replay, names, group, evictions, check))
        custom = replay.registry.reasons.evictions.get(group.action)
        facts.append(ExplainReason(group.reason, texts[-1].operator, group.action, custom=custom))
        if check is not None:
            sufficient = None if check.smaller is None else check.smaller.pods
            made = group.victim_set or UNTRIED_SET
            known = made._replace(
                minimality=check.minimality,
                tried=check.tried,
                untried=check.untried,
                next_best=check.next_best,
            )
            cache = EncodingCache(replay.cluster)
            sets.append(encode_victim_set(cache, known, check.disrupted, sufficient))
    return ExplainResult(join(texts), facts, victim_sets=sets)


def _not_now(replay: CycleReplay, names: AudienceNames) -> AudienceText:
    """Not evicted in this cycle, but possibly by an in-flight group."""
    who = names.pod_group(names.own)
    tasks = replay.cluster.tasks
    earlier = Counter(
        other for other, task in find_pending_evictions(replay) if tasks[task].pod_group == names.own
    )
    sentences = [
        format_text(
            "{n} of {who} evicted for {other} by an earlier decision that is being applied.",
            who=who,
            n=format_count(number, "pod"),
            other=names.pod_group(other),
        )
        for other, number in sorted(earlier.items())
    ]
    sentences += describe_standing(replay, names)
    return join(sentences) if sentences else format_text("{who} is not evicted.", who=capital(who))


def _of(replay: CycleReplay, group: DecisionGroup, pod_group: int) -> list[Evict]:
    return [each for each in victims_of(group) if replay.cluster.tasks[each.task].pod_group == pod_group]


def _describe_evictions(
    replay: CycleReplay,
    names: AudienceNames,
    group: DecisionGroup,
    evictions: list[Evict],
    check: VictimSetCheck | None,
) -> AudienceText:
    who = names.pod_group(names.own)
    number = format_count(len(evictions), "pod")
    if group.reason is ReasonCode.STALE_GANG:
        return format_text(
            "{n} of {who} evicted: it ran below its minimum for longer than its grace period.",
            who=who,
            n=number,
        )
    if group.reason is ReasonCode.STALE_SUB_GROUP:
        return format_text(
            "{n} of {who} evicted: its subgroup ran below its minimum for longer than its grace period and "
            "has too few pods to reach it, and another pod group waits for the capacity.",
            who=who,
            n=number,
        )
    if group.reason is ReasonCode.TIME_LIMIT:
        evict_time = group.notices.evict_time
        return format_text(
            "{n} of {who}{notice} evicted{end}: it reached its time limit.",
            notice=" given notice, and" if evict_time else "",
            end=f" at {moment(evict_time)}" if evict_time else "",
            who=who,
            n=number,
        )
    moving = sum(evict.relocating for evict in evictions)
    moves = f" ({moving} restart on another node)" if moving else ""
    evict_time = group.notices.evict_time
    rule = format_text(
        "{n} of {who}{moves}{notice} evicted for {other} by {action}{end}: {rule}.",
        notice=" given notice, and" if evict_time else "",
        end=f" at {moment(evict_time)}" if evict_time else "",
        who=who,
        n=number,
        moves=moves,
        other=names.pod_group(group.beneficiary),
        action=group.action,
        rule=_right(replay, names, group)
        or for_all(eviction_rule(replay.registry, group.action, group.reason)),
    )
    order, size = _order(replay, names, group), _size(names, group, check)
    return join([rule, _guards(names, evictions, evict_time), order, size, *_costs(names, group, check)])


def _right(replay: CycleReplay, names: AudienceNames, group: DecisionGroup) -> AudienceText | None:
    """By what it may be evicted, if a plugin names something in place of the rule of the action."""
    action = next((each for each in replay.searches() if each.name == group.action), None)
    queue = replay.cluster.pod_groups[names.own].queue
    if action is None or queue is None:
        return None
    context = replay.before_search(action, group.beneficiary)
    VictimQuery(context, action, group.beneficiary)
    right = context.session.chains.victim_right(action, group.beneficiary, queue)
    return None if right is None else AudienceText(right[0], right[0], f"{right[0]} ({right[1]})")


_HOW: Final = {
    False: "The victims were found by a heuristic:",
    True: "No victim can be left out, but",
}
"""How victims were chosen where others would have been fewer, by whether none can be left out."""


def _size(names: AudienceNames, group: DecisionGroup, check: VictimSetCheck | None) -> AudienceText:
    """How many pods the decision disrupts, and whether fewer would have been enough."""
    if check is None:
        return NOTHING
    pods = _disrupted(check.disrupted, sum(evict.relocating for evict in victims_of(group)))
    if check.smaller is None and check.minimality is Minimality.LEAST:
        return for_all(f"{pods} No fewer are possible.")
    if check.smaller is None and check.known.is_shown:
        return for_all(f"{pods} No victim can be left out.")
    if check.smaller is not None and not check.smaller.pods:
        return for_all(f"{pods} The victims were found by a heuristic: earlier decisions release enough.")
    if check.smaller is not None:
        return format_text(
            "{pods} {how} {n} of {others} would have been enough.",
            pods=pods,
            how=_HOW[check.known.is_shown],
            n=format_count(check.smaller.pods, "pod"),
            others=_listed(names, check.smaller.pod_groups),
        )
    untried = f", {check.untried} were not tried" if check.untried else ""
    if not check.tried:
        return for_all(f"{pods} Smaller sets of victims were not tried.")
    sets = format_count(check.tried, "smaller set")
    return for_all(f"{pods} The victims were found by a heuristic; none of {sets} is enough{untried}.")


def _disrupted(pods: int, relocated: int) -> str:
    """Sentence with the number of disrupted pods, and of those that restart on another node."""
    text = f"{format_count(pods, 'pod')} {'is' if pods == 1 else 'are'} disrupted"
    if not relocated:
        return f"{text}."
    which = (
        "it restarts" if pods == 1 else f"{relocated} of them {'restarts' if relocated == 1 else 'restart'}"
    )
    return f"{text}; {which} on {'another node' if relocated == 1 else 'other nodes'}."


def _costs(
    names: AudienceNames, group: DecisionGroup, check: VictimSetCheck | None
) -> Iterator[AudienceText]:
    """What the victim and the whole set cost, and the next best set."""
    known = group.victim_set
    own = [each for each in known.costs if each.pod_group == names.own] if known is not None else []
    for each in own:
        cost, lost = (format_gpu_time(amount // 1000) for amount in each.price)
        yield for_all(f"Its eviction costs {cost}, of which {lost} are lost work.")
    if own and known is not None and len(known.costs) > 1:
        yield for_operators(f"All victims cost {format_gpu_time(known.cost // 1000)}.")
    if known is not None and known.excess_gpu_milli:
        yield for_all(f"{count_gpus(known.excess_gpu_milli)} more than requested are released.")
    if check is not None and check.next_best is not None:
        yield _next_best(names, check.next_best, has_cost=bool(own))


_LOST_BY: Final = {
    VictimMeasure.PRIORITY: "it has a victim of a higher priority",
    VictimMeasure.QUEUES_BELOW_QUOTA: "more queues would lose GPUs below their quota",
    VictimMeasure.COST: "it costs more",
    VictimMeasure.PODS: "it disrupts more pods",
    VictimMeasure.GPUS: "its pods hold more GPUs",
    VictimMeasure.GPU_HOURS: "its pods ran for more GPU hours",
    VictimMeasure.ENDED_PODS: "more pods of it are of pod groups that would be left without their minimum",
    VictimMeasure.OTHER_QUEUES: "it takes more pods of queues that come later in victim order",
    VictimMeasure.NAMES: "it is equal, and comes later by uid",
}
"""Why another set of victims lost (semantics R14.8)."""


def _next_best(names: AudienceNames, other: OtherSet, *, has_cost: bool) -> AudienceText:
    """The next best set of victims, for operators, and the measure that decided."""
    pods = format_count(other.pods, "pod")
    cost = f" for {format_gpu_time(other.cost // 1000)}" if has_cost else ""
    of = f" of {_listed(names, other.pod_groups).operator}" if other.pod_groups else ""
    which, why = f"disrupts {pods}{of}{cost}", _LOST_BY.get(other.lost_by)
    if why is None:
        return for_operators(f"A set of victims that was not looked for {which} and does less harm.")
    return for_operators(f"The next best set of victims {which}, and lost because {why}.")


def _listed(names: AudienceNames, pod_groups: tuple[int, ...]) -> AudienceText:
    if len(pod_groups) == 1:
        return names.pod_group(pod_groups[0])
    number = format_count(len(pod_groups), "pod group")
    named = join_words([names.pod_group(index).operator for index in pod_groups])
    return AudienceText(number, number, named)


def _guards(names: AudienceNames, evictions: list[Evict], evict_time: int) -> AudienceText:
    """Guards that were consulted and allowed the eviction; `evict_time` is that of a notice, else 0."""
    checks = dict.fromkeys(verdict for evict in evictions for verdict in evict.guards)
    parts = [_check(names, verdict, evict_time) for verdict in checks]
    return (
        format_text("Guards that allowed the eviction: {parts}.", parts=join(parts, ", "))
        if parts
        else NOTHING
    )


def _check(names: AudienceNames, verdict: GuardVerdict, evict_time: int) -> AudienceText:
    if verdict.scope and verdict.until is not None and verdict.until <= evict_time:
        what = for_all(f"protection ends {moment(verdict.until)}, within the notice")
    elif verdict.scope:
        what = for_all("minimum only")
    elif verdict.until is not None:
        what = for_all(f"protection ended {moment(verdict.until)}")
    else:
        what = for_all("no protection")
    return format_text(
        "{guard} ({what}, {source})",
        guard=verdict.guard,
        what=what,
        source=names.source(verdict.guard, verdict.source),
    )


def _order(replay: CycleReplay, names: AudienceNames, group: DecisionGroup) -> AudienceText:
    """Position in the order of all candidates."""
    action = next((each for each in replay.searches() if each.name == group.action), None)
    if action is None:
        return NOTHING
    context = replay.before_search(action, group.beneficiary)
    query = VictimQuery(context, action, group.beneficiary)
    found = find_position(context, query, names.own, MAX_NEXT)
    return join([_before(replay, names, found, query), *_after(names, found)])


def _before(
    replay: CycleReplay, names: AudienceNames, found: VictimPosition, query: VictimQuery
) -> AudienceText:
    """Who precedes it, and whether they alone would have been enough, which is tried."""
    if not found.earlier:
        return for_all("It is first in victim order.")
    named = join_words([replay.cluster.pod_groups[index].facts.name for index in found.earlier])
    text = f"In victim order, {len(found.earlier)} precede it"
    if query.disrupted_pods(found.earlier) is None:
        why = "they did not free enough capacity"
    elif is_by_need(replay.end.session):
        why = "they would have been enough, but the set of victims that does least harm was taken"
    else:
        why = "they would have been enough, but the search found this set first"
    return AudienceText(*(f"{text}{part}; {why}." for part in ("", "", f" ({named})")))


def _after(names: AudienceNames, found: VictimPosition) -> Iterator[AudienceText]:
    for number, precedence in enumerate(found.later):
        template = "Then: {other} ({why})." if number else "Next in victim order: {other} ({why})."
        text = format_text(template, other=names.pod_group(precedence.later), why=_why_later(precedence))
        yield text if not number else for_operators(text.operator)


def _why_later(precedence: Precedence) -> str:
    if precedence.criterion is OrderCriterion.QUEUE:
        return "in a later queue"
    if precedence.criterion is OrderCriterion.AGE:
        return "older"
    return _CRITERIA.get(precedence.plugin, f"later by {precedence.plugin}")

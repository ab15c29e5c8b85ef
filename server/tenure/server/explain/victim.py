"""Why are pods of a pod group evicted, and why they?"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tenure.server.explain.answer import Answer, Fact
from tenure.server.explain.names import Names
from tenure.server.explain.text import NOTHING, Text, capital, for_operators, joined, moment, same, say
from tenure.server.explain.underway import leaving
from tenure.server.report.words import count, listed
from tenure.solver.explain.asking import SEARCHES, Asking
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.explain.ranking import Place, Precedence, Rank, place
from tenure.solver.model.decision import DecisionGroup, Evict
from tenure.solver.model.guard import GuardVerdict
from tenure.solver.model.reason import ReasonCode

MOST_NEXT: Final = 3
"""Candidates after it that are named."""

_RULES: Final = {
    ReasonCode.RECLAIMED: "the queue of that one is below its fair share, and the queue of this one above",
    ReasonCode.PREEMPTED: "that one has a higher priority in the same queue",
    ReasonCode.CONSOLIDATED: "moving it makes scattered room usable for that one",
    ReasonCode.REQUEUED: "it ran longer than expected, and that one has a higher priority",
}
_RANKS: Final = {
    "priority": "has a higher priority",
    "elastic": "has fewer pods beyond its minimum",
}
"""What the next candidate has, by the plugin whose order decided."""


def why_victim(inquiry: Inquiry, pod_group: int) -> Answer:
    """For every group of decisions that takes pods of it: the rule, for whom, the guards, and the order."""
    names = Names(inquiry.cluster, pod_group)
    lost = [
        (group, evictions)
        for group in inquiry.decision.groups
        if (evictions := _of(inquiry, group, pod_group))
    ]
    if not lost:
        return Answer(_not_now(inquiry, names))
    text = joined(_told(inquiry, names, group, evictions) for group, evictions in lost)
    facts = [
        Fact(group.reason, _told(inquiry, names, group, evictions).operator, group.action)
        for group, evictions in lost
    ]
    return Answer(text, facts)


def _not_now(inquiry: Inquiry, names: Names) -> Text:
    """It loses nothing by this decision; it may by an earlier one."""
    who = capital(names.pod_group(names.own))
    tasks = inquiry.cluster.tasks
    earlier = Counter(other for other, task in leaving(inquiry) if tasks[task].pod_group == names.own)
    told = [
        say(
            "{who} loses {n} to {other}: that was decided earlier, and is under way.",
            who=who,
            n=count(number, "pod"),
            other=names.pod_group(other),
        )
        for other, number in sorted(earlier.items())
    ]
    return joined(told) if told else say("{who} is not evicted.", who=who)


def _of(inquiry: Inquiry, group: DecisionGroup, pod_group: int) -> list[Evict]:
    return [each for each in group.evictions if inquiry.cluster.tasks[each.task].pod_group == pod_group]


def _told(inquiry: Inquiry, names: Names, group: DecisionGroup, evictions: list[Evict]) -> Text:
    who = capital(names.pod_group(names.own))
    number = count(len(evictions), "pod")
    if group.reason is ReasonCode.STALE_GANG:
        return say("{who} loses {n}: it ran below its minimum for too long.", who=who, n=number)
    moving = sum(evict.moves for evict in evictions)
    moves = f" ({moving} of them move to another node)" if moving else ""
    rule = say(
        "{who} loses {n}{moves} to {other} by {action}: {rule}.",
        who=who,
        n=number,
        moves=moves,
        other=names.pod_group(group.beneficiary),
        action=group.action,
        rule=_RULES.get(group.reason, "the rules of that action allow it"),
    )
    return joined([rule, _guards(names, evictions), _order(inquiry, names, group)])


def _guards(names: Names, evictions: list[Evict]) -> Text:
    """All that were asked and let it pass."""
    checks = dict.fromkeys(verdict for evict in evictions for verdict in evict.guards)
    parts = [_check(names, verdict) for verdict in checks]
    return say("Guards that let it pass: {parts}.", parts=joined(parts, ", ")) if parts else NOTHING


def _check(names: Names, verdict: GuardVerdict) -> Text:
    if verdict.scope:
        what = same("protects its minimum, and what goes is beyond")
    elif verdict.until is not None:
        what = same(f"its protection ended {moment(verdict.until)}")
    else:
        what = same("does not protect it")
    return say(
        "{guard} ({what}, {source})", guard=verdict.guard, what=what, source=names.source(verdict.source)
    )


def _order(inquiry: Inquiry, names: Names, group: DecisionGroup) -> Text:
    """Where it stands among all who might have yielded."""
    if group.action not in SEARCHES:
        return NOTHING
    context = inquiry.before_search(group.action, group.beneficiary)
    asking = Asking(context, group.action, group.beneficiary)
    found = place(context, asking, names.own, MOST_NEXT)
    return joined([_before(inquiry, names, found), *_after(names, found)])


def _before(inquiry: Inquiry, names: Names, found: Place) -> Text:
    if not found.earlier:
        return same("Of those that might yield it comes first.")
    named = listed([inquiry.cluster.pod_groups[index].name for index in found.earlier])
    told = f"Of those that might yield {len(found.earlier)} come before it"
    return Text(
        *(f"{told}{part}; they did not make the room that was needed." for part in ("", "", f" ({named})"))
    )


def _after(names: Names, found: Place) -> Iterator[Text]:
    for number, precedence in enumerate(found.later):
        told = "Next comes {other}, which {why}." if not number else "Then {other}, which {why}."
        text = say(told, other=names.pod_group(precedence.later), why=_why_later(precedence))
        yield text if not number else for_operators(text.operator)


def _why_later(precedence: Precedence) -> str:
    if precedence.rank is Rank.QUEUE:
        return "is in a queue that yields later"
    if precedence.rank is Rank.AGE:
        return "is older"
    return _RANKS.get(precedence.plugin, f"comes later by {precedence.plugin}")

"""Why does a pod group wait, and what would help?"""

from collections import Counter
from collections.abc import Callable, Iterator

from tenure.server.explain.answer import Answer, Fact
from tenure.server.explain.names import Names
from tenure.server.explain.remedy import remedy_message
from tenure.server.explain.text import Text, for_operators, joined, same, say
from tenure.server.explain.underway import leaving
from tenure.server.explain.why import timeless, waits
from tenure.server.report.words import count, listed
from tenure.solver.explain.asking import SEARCHES, Asking
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.explain.remedies import RemedyKind, remedies
from tenure.solver.explain.trial import HELPED
from tenure.solver.framework.stop import never
from tenure.solver.model.decision import Outcome, OutcomeKind, Protection
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.reason import ReasonCode, Rejection


def why_pending(inquiry: Inquiry, pod_group: int, stop: Callable[[], bool] = never) -> Answer:
    """The outcome, who might yield and why nobody does, and the remedies that were tried and work."""
    names, outcome = Names(inquiry.cluster, pod_group), inquiry.outcome(pod_group)
    if outcome is None:
        return Answer(_does_not_wait(inquiry, names))
    reason = outcome.reason
    fact = Fact(
        reason.code, timeless(reason.detail) or outcome.kind.name.lower(), reason.source, reason.until
    )
    if outcome.kind in HELPED:
        return Answer(_has_room(inquiry, names, outcome), [fact])
    asked = [] if outcome.kind is OutcomeKind.REJECTED_INPUT else list(_asked(inquiry, pod_group))
    why = waits(inquiry.cluster, names, pod_group, reason)
    tried = remedies(inquiry, pod_group, stop)
    helps = [remedy_message(inquiry.cluster, names, each) for each in tried]
    ends = [each.until for each in tried if each.kind is RemedyKind.WAIT]
    text = joined(
        [
            say("{who} waits: {why}.", who=_capital(names), why=why),
            for_operators(" ".join(each.message for each in asked)),
            same("" if helps else "None of the changes that were tried would help."),
        ]
    )
    kept = tuple(_protections(inquiry, pod_group))
    return Answer(text, [fact, *asked], kept, _first(reason.until, *ends), helps)


def _does_not_wait(inquiry: Inquiry, names: Names) -> Text:
    tasks = inquiry.cluster.pod_groups[names.own].tasks
    statuses = Counter(inquiry.cluster.tasks[task].placement.status for task in tasks)
    if statuses[TaskStatus.GATED]:
        gated = count(statuses[TaskStatus.GATED], "pod")
        return say(
            "{who} has no pod to schedule: {n} held back by scheduling gates.", who=_capital(names), n=gated
        )
    running = sum(number for status, number in statuses.items() if status.is_allocated)
    return say("{who} does not wait: {n} of it run.", who=_capital(names), n=count(running, "pod"))


def _has_room(inquiry: Inquiry, names: Names, outcome: Outcome) -> Text:
    who, number = _capital(names), count(outcome.bound or outcome.held, "pod")
    if outcome.kind is OutcomeKind.BOUND:
        return say("{who} starts now: there is room for {n}.", who=who, n=number)
    told = "{who} has room for {n} and starts as soon as {others} have left."
    if outcome.kind is OutcomeKind.WAITING_FOR_RELEASE:
        return say(told, who=who, n=number, others="pods that are already terminating")
    return say(told, who=who, n=number, others=_victims(inquiry, names.own))


def _victims(inquiry: Inquiry, pod_group: int) -> Text:
    groups = [group for group in inquiry.decision.groups if group.beneficiary == pod_group]
    asked = [task for beneficiary, task in leaving(inquiry) if beneficiary == pod_group]
    evicted = [evict.task for group in groups for evict in group.evictions]
    tasks = [inquiry.cluster.tasks[task] for task in (*evicted, *asked)]
    lost = Counter(inquiry.cluster.pod_groups[task.pod_group].name for task in tasks)
    named = listed([f"{count(number, 'pod')} of {name}" for name, number in sorted(lost.items())])
    anonymous = f"{count(len(tasks), 'pod')} of others"
    return Text(anonymous, anonymous, named)


def _asked(inquiry: Inquiry, pod_group: int) -> Iterator[Fact]:
    """One fact for every action that searches for victims: why it finds none."""
    for action in (each for each in inquiry.profile.actions if each in SEARCHES):
        asking = Asking(inquiry.before_search(action, pod_group), action, pod_group)
        rejection = asking.entry()
        if rejection is not None:
            told = f"By {action} it may not ask: {timeless(rejection.detail)}."
        else:
            told, rejection = _asked_in_vain(inquiry, action, asking)
        yield Fact(rejection.code, told, action, rejection.until)


def _asked_in_vain(inquiry: Inquiry, action: str, asking: Asking) -> tuple[str, Rejection]:
    found = list(asking.candidates())
    objections = [rejection for _, rejection in found if rejection is not None]
    kinds = Counter(rejection.code for rejection in objections)
    parts = [f"{number} {_label(code)}" for code, number in sorted(kinds.items())]
    if willing := len(found) - len(objections):
        parts.append(f"{willing} might yield, but not enough of them")
    told = f"By {action} it may ask {count(len(found), 'pod group')}: {', '.join(parts)}."
    nobody = Rejection(ReasonCode.NO_SOLUTION, "")
    ends = [rejection for rejection in objections if rejection.until is not None]
    first = min(ends, key=lambda rejection: rejection.until or 0, default=nobody)
    return told if found else f"By {action} there is nobody it may ask.", first


_LABELS = {
    ReasonCode.NON_PREEMPTIBLE: "not preemptible",
    ReasonCode.OPTED_OUT: "opted out",
    ReasonCode.MIN_RUNTIME: "within the minimum runtime",
    ReasonCode.PRIORITY: "of no lower priority",
    ReasonCode.WITHIN_SHARE: "in queues within their share",
}


def _label(code: ReasonCode) -> str:
    return _LABELS.get(code, f"kept by {code.name.lower().replace('_', ' ')}")


def _protections(inquiry: Inquiry, pod_group: int) -> Iterator[Protection]:
    """Protections with an end of those that it may ask."""
    spared: set[int] = set()
    if inquiry.cluster.pod_groups[pod_group].queue is None:
        return
    for action in (each for each in inquiry.profile.actions if each in SEARCHES):
        asking = Asking(inquiry.before_search(action, pod_group), action, pod_group)
        found = asking.candidates()
        spared.update(victim for victim, objection in found if objection and objection.until is not None)
    for protection in inquiry.decision.protections:
        if protection.pod_group in spared and protection.until is not None:
            yield protection


def _capital(names: Names) -> Text:
    return Text(*(f"P{part[1:]}" for part in names.pod_group(names.own)))


def _first(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)

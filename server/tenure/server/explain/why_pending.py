"""Why does a pod group wait, and what would help?"""

from collections import Counter
from collections.abc import Callable, Iterator

from tenure.server.explain.audience_text import (
    AudienceNames,
    AudienceText,
    explain_pending,
    for_all,
    for_operators,
    format_text,
    join,
)
from tenure.server.explain.explain_result import ExplainReason, ExplainResult
from tenure.server.explain.protected_until import find_pending_evictions
from tenure.server.explain.remedy_messages import remedy_message
from tenure.solver.explain.cycle_replay import CycleReplay
from tenure.solver.explain.eligibility import VictimQuery
from tenure.solver.explain.remedies import RemedyKind, find_remedies
from tenure.solver.explain.what_if import HELPFUL_OUTCOMES
from tenure.solver.framework.stop_signal import never
from tenure.solver.model.decision import OutcomeKind, PodGroupOutcome, Protection
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action
from tenure.terms.formatting import format_count, join_words
from tenure.terms.reasons import ReasonCode


def why_pending(replay: CycleReplay, pod_group: int, stop: Callable[[], bool] = never) -> ExplainResult:
    """The outcome, who might yield and why nobody does, and the remedies that were tried and work."""
    names, outcome = AudienceNames(replay.cluster, pod_group), replay.outcome(pod_group)
    if outcome is None:
        return ExplainResult(_not_pending(replay, names))
    reason = outcome.reason
    fact = ExplainReason(
        reason.code,
        reason.detail.rstrip(".") or outcome.kind.name.lower(),
        reason.source,
        reason.until,
    )
    if outcome.kind in HELPFUL_OUTCOMES:
        return ExplainResult(_reserved(replay, names, outcome), [fact])
    asked = (
        [] if outcome.kind is OutcomeKind.INVALID_POD_GROUP else list(_describe_candidates(replay, pod_group))
    )
    why = explain_pending(replay.cluster, names, pod_group, reason)
    tried = find_remedies(replay, pod_group, stop)
    helps = [remedy_message(replay.cluster, names, each) for each in tried]
    ends = [each.until for each in tried if each.kind is RemedyKind.WAIT]
    text = join(
        [
            format_text("{who} is pending because {why}.", who=_capital(names), why=why),
            for_operators(" ".join(each.message for each in asked)),
            for_all("" if helps else "None of the tested changes would let it start."),
        ]
    )
    kept = tuple(_protections(replay, pod_group))
    return ExplainResult(text, [fact, *asked], kept, _first(reason.until, *ends), helps)


def _not_pending(replay: CycleReplay, names: AudienceNames) -> AudienceText:
    tasks = replay.cluster.pod_groups[names.own].tasks
    statuses = Counter(replay.cluster.tasks[task].placement.status for task in tasks)
    if statuses[TaskStatus.GATED]:
        gated = format_count(statuses[TaskStatus.GATED], "pod")
        return format_text(
            "{who} has no pod to schedule: {n} with scheduling gates.", who=_capital(names), n=gated
        )
    running = sum(number for status, number in statuses.items() if status.is_allocated)
    return format_text(
        "{who} is not pending: {n} running.", who=_capital(names), n=format_count(running, "pod")
    )


def _reserved(replay: CycleReplay, names: AudienceNames, outcome: PodGroupOutcome) -> AudienceText:
    who, number = _capital(names), format_count(outcome.bound or outcome.reserved, "pod")
    if outcome.kind is OutcomeKind.BOUND:
        return format_text("{who} is scheduled: {n} bound to free capacity.", who=who, n=number)
    told = "{who} has reserved capacity for {n} and waits for {others}."
    if outcome.kind is OutcomeKind.WAITING_FOR_RELEASE:
        return format_text(told, who=who, n=number, others="terminating pods to release their resources")
    return format_text(
        told,
        who=who,
        n=number,
        others=format_text("{victims} to terminate", victims=_victims(replay, names.own)),
    )


def _victims(replay: CycleReplay, pod_group: int) -> AudienceText:
    groups = [group for group in replay.result.groups if group.beneficiary == pod_group]
    asked = [task for beneficiary, task in find_pending_evictions(replay) if beneficiary == pod_group]
    evicted = [evict.task for group in groups for evict in group.evictions]
    tasks = [replay.cluster.tasks[task] for task in (*evicted, *asked)]
    lost = Counter(replay.cluster.pod_groups[task.pod_group].name for task in tasks)
    named = join_words([f"{format_count(number, 'pod')} of {name}" for name, number in sorted(lost.items())])
    anonymous = f"{format_count(len(tasks), 'pod')} of others"
    return AudienceText(anonymous, anonymous, named)


def _describe_candidates(replay: CycleReplay, pod_group: int) -> Iterator[ExplainReason]:
    """One fact for every action that searches for victims: why it finds none."""
    for action in replay.searches():
        asking = VictimQuery(replay.before_search(action, pod_group), action, pod_group)
        rejection = asking.entry()
        if rejection is not None:
            told = f"{action.name}: not eligible, because {rejection.detail.rstrip('.')}."
        else:
            told, rejection = _describe_unevictable(action, asking)
        yield ExplainReason(rejection.code, told, action.name, rejection.until)


def _describe_unevictable(action: Action, asking: VictimQuery) -> tuple[str, Rejection]:
    found = list(asking.candidates())
    objections = [rejection for _, rejection in found if rejection is not None]
    kinds = Counter(rejection.code for rejection in objections)
    parts = [f"{number} {_label(code)}" for code, number in sorted(kinds.items())]
    if willing := len(found) - len(objections):
        parts.append(f"{willing} evictable, but not enough capacity")
    none = "" if willing else "none evictable "
    told = f"{action.name}: {format_count(len(found), 'candidate')}, {none}({', '.join(parts)})."
    nobody = Rejection(ReasonCode.NO_SOLUTION, "")
    ends = [rejection for rejection in objections if rejection.until is not None]
    first = min(ends, key=lambda rejection: rejection.until or 0, default=nobody)
    return told if found else f"{action.name}: no candidates.", first


_LABELS = {
    ReasonCode.NON_PREEMPTIBLE: "are non-preemptible",
    ReasonCode.OPTED_OUT: "opt out",
    ReasonCode.MIN_RUNTIME: "have not reached their minimum runtime",
    ReasonCode.PRIORITY_NOT_LOWER: "have equal or higher priority",
    ReasonCode.WITHIN_FAIR_SHARE: "are in queues within their fair share",
}


def _label(code: ReasonCode) -> str:
    return _LABELS.get(code, f"are protected by {code.name.lower().replace('_', ' ')}")


def _protections(replay: CycleReplay, pod_group: int) -> Iterator[Protection]:
    """Protections with an end of those that it may ask."""
    spared: set[int] = set()
    if replay.cluster.pod_groups[pod_group].queue is None:
        return
    for action in replay.searches():
        asking = VictimQuery(replay.before_search(action, pod_group), action, pod_group)
        found = asking.candidates()
        spared.update(victim for victim, objection in found if objection and objection.until is not None)
    for protection in replay.result.protections:
        if protection.pod_group in spared and protection.until is not None:
            yield protection


def _capital(names: AudienceNames) -> AudienceText:
    return AudienceText(*(f"P{part[1:]}" for part in names.pod_group(names.own)))


def _first(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)

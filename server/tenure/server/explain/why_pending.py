"""Why is a pod group pending, and which changes would let it start?"""

from collections import Counter
from collections.abc import Callable, Iterator
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
    usual_remedy,
)
from tenure.server.explain.capacity_text import EVICTABLE, describe_capacity, obstacle_name
from tenure.server.explain.explain_result import ExplainReason, ExplainResult
from tenure.server.explain.notices import standing_notices
from tenure.server.explain.planned_start_text import describe_planned_start
from tenure.server.explain.protected_until import find_pending_evictions
from tenure.server.explain.remedy_messages import RESOURCE_KINDS, describe_waiting, remedy_message
from tenure.solver.diagnosis.eligibility import VictimQuery
from tenure.solver.diagnosis.eviction_obstacle import (
    EXPLAINED,
    EvictionObstacle,
    EvictionObstacles,
    FoundObstacle,
)
from tenure.solver.diagnosis.remedies import RemedyKind, find_remedies
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.what_if import HELPFUL_OUTCOMES
from tenure.solver.model.decision import OutcomeKind, PodGroupOutcome
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import CPU, MEMORY
from tenure.solver.model.verdict import Protection
from tenure.solver.plugin_api.action import Action
from tenure.solver.result.notices import victims_of
from tenure.terms.cancellation import never
from tenure.terms.custom_reason import qualified
from tenure.terms.formatting import format_count, join_words
from tenure.terms.reasons import ReasonCode
from tenure.v1 import explain_pb2 as pb
from tenure.v1.decision_pb2 import Reason


def why_pending(replay: CycleReplay, pod_group: int, stop: Callable[[], bool] = never) -> ExplainResult:
    """Outcome, candidates of each evicting action, and remedies that were verified."""
    names, outcome = AudienceNames(replay.cluster, pod_group), replay.outcome(pod_group)
    if outcome is None:
        return ExplainResult(_not_pending(replay, names))
    reason = outcome.reason
    fact = ExplainReason(
        reason.code,
        reason.detail.rstrip(".") or outcome.kind.name.lower(),
        reason.source,
        reason.until,
        reason.custom,
    )
    if outcome.kind in HELPFUL_OUTCOMES:
        return ExplainResult(_reserved(replay, names, outcome), [fact])
    if outcome.kind is OutcomeKind.HELD:
        why = explain_pending(replay.cluster, names, pod_group, reason)
        text = format_text("{who} is pending because {why}.", who=_capital(names), why=why)
        return ExplainResult(join([text, usual_remedy(replay.cluster, names, reason)]), [fact])
    is_out = outcome.kind is OutcomeKind.INVALID_POD_GROUP or reason.code is ReasonCode.NOT_BEFORE
    found_candidates = [] if is_out else list(_describe_candidates(replay, pod_group))
    candidates = [each for each, _ in found_candidates]
    capacity, account = describe_capacity(replay, names, reason.code)
    why = explain_pending(replay.cluster, names, pod_group, reason)
    found = find_remedies(replay, pod_group, stop)
    messages = [remedy_message(replay.cluster, names, each) for each in found.remedies]
    ends = [each.until for each in found.remedies if each.kind is RemedyKind.WAIT]
    text = join(
        [
            format_text("{who} is pending because {why}.", who=_capital(names), why=why),
            describe_planned_start(replay, names, reason.code),
            capacity,
            for_operators(" ".join(each.message for each in candidates)),
            NOTHING if found.waiting is None else describe_waiting(names, reason, found.waiting),
            for_all("" if messages else "None of the tested changes would let it start now."),
            for_all("" if found.is_complete else "Not every change was tested: the deadline was too short."),
            NOTHING if messages else usual_remedy(replay.cluster, names, reason),
        ]
    )
    protections = tuple(_protections(replay, pod_group))
    return ExplainResult(
        text,
        [fact, *candidates],
        protections,
        _first(reason.until, *ends),
        messages,
        gpu_account=account,
        eviction_obstacles=[obstacle for _, obstacle in found_candidates],
    )


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
    if outcome.reason.code is ReasonCode.NOTICE_GIVEN and outcome.reason.until is not None:
        return format_text(
            "{who} has reserved capacity for {n} and waits for {victims}, with notice until {end}.",
            who=who,
            n=number,
            victims=_victims(replay, names.own),
            end=moment(outcome.reason.until),
        )
    text = "{who} has reserved capacity for {n} and waits for {others}."
    if outcome.kind is OutcomeKind.WAITING_FOR_RELEASE:
        return format_text(text, who=who, n=number, others="terminating pods to release their resources")
    return format_text(
        text,
        who=who,
        n=number,
        others=format_text("{victims} to terminate", victims=_victims(replay, names.own)),
    )


def _victims(replay: CycleReplay, pod_group: int) -> AudienceText:
    groups = [group for group in replay.result.groups if group.beneficiary == pod_group]
    in_flight = [task for beneficiary, task in find_pending_evictions(replay) if beneficiary == pod_group]
    evicted = [evict.task for group in groups for evict in victims_of(group)]
    victims = Counter(replay.cluster.tasks[task].pod_group for task in (*evicted, *in_flight))
    for notice, number in standing_notices(replay).items():
        if notice.beneficiary == pod_group:
            victims[notice.victim] += number
    pods = {replay.cluster.pod_groups[victim].facts.name: number for victim, number in victims.items()}
    named = join_words([f"{format_count(number, 'pod')} of {name}" for name, number in sorted(pods.items())])
    anonymous = f"{format_count(victims.total(), 'pod')} of other pod groups"
    return AudienceText(anonymous, anonymous, named)


def _describe_candidates(
    replay: CycleReplay, pod_group: int
) -> Iterator[tuple[ExplainReason, pb.EvictionObstacle]]:
    """For each action that searches for victims, why it evicts none: the reason is made of the obstacle."""
    for action in replay.searches():
        context = replay.before_search(action, pod_group)
        query = VictimQuery(context, action, pod_group)
        rejection = query.entry()
        is_share = rejection is not None and rejection.code is ReasonCode.OVER_FAIR_SHARE
        if rejection is not None and not (is_share and not any(query.candidates())):
            why = rejection.detail.rstrip(".")
            message = pb.EvictionObstacle(
                action=action.name,
                not_eligible=Reason(
                    code=f"REASON_CODE_{rejection.code.name}", message=why, source=rejection.source
                ),
            )
        else:
            obstacles = EvictionObstacles(context, replay.result.queues, EXPLAINED)
            tasks = context.gangs.tasks_to_allocate(pod_group)
            obstacle = obstacles.find(pod_group, tasks, action)
            message, rejection = _count_candidates(action, query, obstacle)
        text = _describe_obstacle(message, relocates=action.relocates_all)
        yield ExplainReason(rejection.code, text, action.name, rejection.until, rejection.custom), message


def _count_candidates(
    action: Action, query: VictimQuery, obstacle: FoundObstacle
) -> tuple[pb.EvictionObstacle, Rejection]:
    """The candidates of an action by what keeps them, and the first of their protections that ends."""
    found = list(query.candidates())
    rejections = [rejection for _, rejection in found if rejection is not None]
    kinds = Counter(rejection.code for rejection in rejections if rejection.custom is None)
    customs = Counter(
        (qualified(each.source, each.custom.code), each.code)
        for each in rejections
        if each.custom is not None
    )
    message = pb.EvictionObstacle(
        action=action.name,
        kind=obstacle_name(obstacle.kind),
        missing=_MISSING.get(obstacle.detail, "RESOURCE_KIND_UNSPECIFIED"),
        candidates=len(found),
        evictable=len(found) - len(rejections),
        rejected=[
            pb.RejectedCandidates(code=f"REASON_CODE_{code.name}", number=number)
            for code, number in sorted(kinds.items())
        ],
    )
    for (custom, code), number in sorted(customs.items()):
        message.rejected.add(code=f"REASON_CODE_{code.name}", custom_code=custom, number=number)
    ends = [rejection for rejection in rejections if rejection.until is not None]
    no_solution = Rejection(ReasonCode.NO_SOLUTION, "")
    return message, min(ends, key=lambda rejection: rejection.until or 0, default=no_solution)


def _describe_obstacle(message: pb.EvictionObstacle, *, relocates: bool) -> str:
    """The sentence of an obstacle."""
    if message.HasField("not_eligible"):
        return f"{message.action}: not eligible, because {message.not_eligible.message}."
    if not message.candidates:
        return f"{message.action}: no candidates."
    parts = [
        f"{each.number} by {each.custom_code}"
        if each.custom_code
        else f"{each.number} {_label(ReasonCode(each.code), each.number)}"
        for each in message.rejected
    ]
    if message.evictable:
        evictable = _MOVABLE if relocates else EVICTABLE[EvictionObstacle(message.kind)]
        parts.append(f"{message.evictable} {evictable}")
    none = "" if message.evictable else ", none evictable"
    return f"{message.action}: {format_count(message.candidates, 'candidate')}{none} ({', '.join(parts)})."


_MISSING: Final = {
    "CPU": f"RESOURCE_KIND_{RESOURCE_KINDS[CPU].name}",
    "memory": f"RESOURCE_KIND_{RESOURCE_KINDS[MEMORY].name}",
}
"""Resources on the wire, by the detail of an obstacle."""
_MOVABLE = "movable, but that does not free enough"
_LABELS = {
    ReasonCode.IN_PROGRESS: ("is moved by this cycle", "are moved by this cycle"),
    ReasonCode.NON_PREEMPTIBLE: ("is non-preemptible", "are non-preemptible"),
    ReasonCode.OPTED_OUT: ("opts out", "opt out"),
    ReasonCode.MIN_RUNTIME: ("has not reached its minimum runtime", "have not reached their minimum runtime"),
    ReasonCode.PRIORITY_NOT_LOWER: ("has equal or higher priority", "have equal or higher priority"),
    ReasonCode.WITHIN_FAIR_SHARE: (
        "is in a queue within its fair share",
        "are in queues within their fair share",
    ),
}


def _label(code: ReasonCode, number: int) -> str:
    if code in _LABELS:
        return _LABELS[code][number > 1]
    return f"{'are' if number > 1 else 'is'} protected by {code.name.lower().replace('_', ' ')}"


def _protections(replay: CycleReplay, pod_group: int) -> Iterator[Protection]:
    """Protections with an end of its candidates."""
    protected: set[int] = set()
    if replay.cluster.pod_groups[pod_group].queue is None:
        return
    for action in replay.searches():
        query = VictimQuery(replay.before_search(action, pod_group), action, pod_group)
        found = query.candidates()
        protected.update(victim for victim, rejection in found if rejection and rejection.until is not None)
    for protection in replay.result.protections:
        if protection.pod_group in protected and protection.until is not None:
            yield protection


def _capital(names: AudienceNames) -> AudienceText:
    return AudienceText(*(f"P{part[1:]}" for part in names.pod_group(names.own)))


def _first(*times: int | None) -> int | None:
    return min((time for time in times if time is not None), default=None)

"""Why is a pod group not evicted for a pending one? Texts are for the owner of the pending one."""

from tenure.server.explain.audience_text import (
    NOTHING,
    AudienceNames,
    AudienceText,
    capital,
    explain_not_evicted,
    explain_pending,
    for_all,
    for_operators,
    format_text,
    join,
    moment,
)
from tenure.server.explain.capacity_text import obstacle_name
from tenure.server.explain.explain_result import ExplainReason, ExplainResult
from tenure.server.explain.notices import standing_notices
from tenure.solver.diagnosis.eligibility import EligibilityStage, Ineligibility, VictimQuery
from tenure.solver.diagnosis.eviction_obstacle import EvictionObstacle, FoundObstacle
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.what_if import HELPFUL_OUTCOMES
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import NominationResult
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.plugin_api.action import Action, Relation
from tenure.solver.result.notices import victims_of
from tenure.v1 import explain_pb2 as pb


def why_not_victim(replay: CycleReplay, victim: int, preemptor: int) -> ExplainResult:
    """The first rejection by the action that applies to the two queues, then those of other actions."""
    names = AudienceNames(replay.cluster, preemptor)
    if (text := _not_applicable(replay, names, victim)) is not None:
        return ExplainResult(text)
    actions = _actions(replay, victim, preemptor)
    objections = {
        action: None
        if _served_before(replay, preemptor, action)
        else _ineligibility(replay, action, victim, preemptor)
        for action in actions
    }
    texts = {
        action: _describe_rejection(replay, names, victim, action, found)
        for action, found in objections.items()
    }
    facts = [
        ExplainReason(
            found.rejection.code,
            texts[action].operator,
            found.rejection.source or action.name,
            found.rejection.until,
            found.rejection.custom,
        )
        for action, found in objections.items()
        if found is not None
    ]
    requeue = _requeue(replay, victim)
    if not actions:
        which = "no other action" if requeue.operator else "no action"
        text = format_text(
            "{who} is not evicted: {which} of the profile can evict it for this preemptor.",
            who=capital(names.pod_group(victim)),
            which=which,
        )
        return ExplainResult(join([requeue, text]))
    obstacles = [
        pb.EvictionObstacle(
            action=action.name, kind=obstacle_name(found.obstacle.kind), candidates=1, evictable=1
        )
        for action, found in objections.items()
        if found is not None and found.obstacle is not None
    ]
    first, *others = actions
    details = [*(for_operators(texts[action].operator) for action in others), requeue]
    found = objections[first]
    end = None if found is None else found.rejection.until
    protections = [each for each in replay.result.protections if each.pod_group == victim]
    text = join([texts[first], *details])
    return ExplainResult(text, facts, protections, end, eviction_obstacles=obstacles)


def _not_applicable(replay: CycleReplay, names: AudienceNames, victim: int) -> AudienceText | None:
    """Text if an assumption of the question does not hold, else None."""
    cluster, waiting, other = replay.cluster, names.pod_group(names.own), names.pod_group(victim)
    if victim == names.own:
        return format_text("{who} is not evicted for itself.", who=capital(waiting))
    groups = (group for group in replay.result.groups if group.beneficiary == names.own)
    victims = {cluster.tasks[evict.task].pod_group for group in groups for evict in victims_of(group)}
    if victim in victims:
        return format_text("{other} is evicted for {who}.", other=capital(other), who=waiting)
    if any(each.victim == victim and each.beneficiary == names.own for each in standing_notices(replay)):
        return format_text("{other} has notice, and is evicted for {who}.", other=capital(other), who=waiting)
    if not any(
        cluster.tasks[t].placement.status.is_active_allocated for t in cluster.pod_groups[victim].tasks
    ):
        return format_text("{other} has no running pod that could be evicted.", other=capital(other))
    outcome = replay.outcome(names.own)
    if outcome is None:
        return format_text("{who} is not pending.", who=capital(waiting))
    if outcome.kind in (OutcomeKind.BOUND, OutcomeKind.WAITING_FOR_RELEASE):
        return format_text("{who} is scheduled without evictions.", who=capital(waiting))
    return None


def _actions(replay: CycleReplay, victim: int, preemptor: int) -> list[Action]:
    """Actions of the profile that could evict the victim; one for exactly these queues comes first."""
    groups = replay.cluster.pod_groups
    queues = groups[preemptor].queue, groups[victim].queue
    found = [action for action in replay.searches() if action.victims_from.covers(*queues)]
    return sorted(found, key=lambda action: action.victims_from is Relation.ANY_QUEUE)


def _ineligibility(replay: CycleReplay, action: Action, victim: int, preemptor: int) -> Ineligibility | None:
    if replay.cluster.pod_groups[preemptor].queue is None:
        invalid = replay.outcome(preemptor)
        assert invalid is not None
        return Ineligibility(EligibilityStage.NOT_ELIGIBLE, invalid.reason)
    return VictimQuery(replay.before_search(action, preemptor), action, preemptor).ineligibility(victim)


def _requeue(replay: CycleReplay, victim: int) -> AudienceText:
    """Why requeue keeps it running, if it is past its expected runtime."""
    found = (each for each in replay.result.nominations if each.pod_group == victim and each.is_candidate)
    nomination = next(found, None)
    if nomination is None or nomination.result is NominationResult.REQUEUED:
        return NOTHING
    why = nomination.detail.rstrip(".") or nomination.result.name.lower().replace("_", " ")
    end = "" if nomination.until is None else f" (until {moment(nomination.until)})"
    return for_operators(f"requeue: it keeps running because {why}{end}.")


def _describe_rejection(
    replay: CycleReplay, names: AudienceNames, victim: int, action: Action, found: Ineligibility | None
) -> AudienceText:
    who, other = names.pod_group(names.own), capital(names.pod_group(victim))
    if (earlier := _served_before(replay, names.own, action)) is not None:
        return format_text(
            "{other} is not evicted by {action}, which ran after {earlier} had found capacity for {who}.",
            other=other,
            action=action.name,
            earlier=earlier,
            who=who,
        )
    if found is None:
        return join(
            [
                format_text(
                    "{other} could be evicted for {who} by {action}, but was not needed.",
                    other=other,
                    who=who,
                    action=action.name,
                ),
                _describe_unused(replay, names),
            ]
        )
    if found.stage is EligibilityStage.NOT_ELIGIBLE:
        why = explain_pending(replay.cluster, names, names.own, found.rejection)
        text = "{other} is not evicted by {action}: {who} cannot evict any pod group because {why}."
        return format_text(text, other=other, action=action.name, who=who, why=why)
    verdict = _verdict(replay, action, names.own, victim, found.rejection)
    why = _obstacle(action, found.obstacle) or explain_not_evicted(
        names, found.rejection, action.name, verdict
    )
    return format_text(
        "{other} is not evicted by {action} because {why}.", other=other, action=action.name, why=why
    )


def _obstacle(action: Action, found: FoundObstacle | None) -> AudienceText | None:
    """Clause: why the preemptor would not start though this victim left; None: capacity is short."""
    if found is None:
        return None
    match found.kind:
        case EvictionObstacle.UNTRIED | EvictionObstacle.AMOUNTS | EvictionObstacle.FRAGMENTS:
            return None
        case _ if action.relocates_all:
            return for_all("relocating it alone would not let the preemptor start")
        case EvictionObstacle.PLACES if found.detail:
            text = "evicting it alone would free enough resources, but not where the preemptor's pods may run"
        case EvictionObstacle.BOUNDS:
            text = "evicting it alone would not suffice: a limit or quota would still be exceeded"
        case EvictionObstacle.SEARCH:
            text = "evicting it alone would free enough resources, but in no way that the rules permit"
        case _:
            text = "evicting it alone would not let the preemptor start"
    return AudienceText(text, text, f"{text} ({found.detail})" if found.detail else text)


def _served_before(replay: CycleReplay, preemptor: int, action: Action) -> str | None:
    """The action that found capacity for the preemptor before this one searched."""
    names = [each.name for each in replay.searches()]
    found = [group.action for group in replay.result.groups if group.beneficiary == preemptor]
    earlier = names[: names.index(action.name)]
    return next((name for name in found if name in earlier), None)


def _verdict(
    replay: CycleReplay, action: Action, preemptor: int, victim: int, rejection: Rejection
) -> GuardVerdict | None:
    """Verdict of the guard that protects the victim, or None."""
    verdicts = replay.end.session.guards.verdicts(action, preemptor, victim)
    return next((v for v in verdicts if (v.guard, v.reason) == (rejection.source, rejection.code)), None)


def _describe_unused(replay: CycleReplay, names: AudienceNames) -> AudienceText:
    """Why a candidate was not needed."""
    outcome = replay.outcome(names.own)
    assert outcome is not None
    if outcome.kind not in HELPFUL_OUTCOMES:
        why = explain_pending(replay.cluster, names, names.own, outcome.reason)
        return format_text(
            "In this cycle, {who} is pending because {why}.", who=names.pod_group(names.own), why=why
        )
    groups = [each for each in replay.result.groups if each.beneficiary == names.own]
    victims = [replay.cluster.tasks[each.task].pod_group for group in groups for each in victims_of(group)]
    if not victims:
        return for_all("No pod had to be evicted.")
    first = names.pod_group(victims[0])
    return format_text("Other victims, such as {first}, freed enough capacity.", first=first)

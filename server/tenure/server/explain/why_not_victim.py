"""Why is a pod group not evicted for another one? The reader is the owner of the one that waits."""

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
from tenure.server.explain.explain_result import ExplainReason, ExplainResult
from tenure.solver.explain.cycle_replay import CycleReplay
from tenure.solver.explain.eligibility import EligibilityStage, Ineligibility, VictimQuery
from tenure.solver.explain.victim_position import find_position
from tenure.solver.explain.what_if import HELPFUL_OUTCOMES
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.plugin_api.action import Action, Relation


def why_not_victim(replay: CycleReplay, victim: int, preemptor: int) -> ExplainResult:
    """The first objection along the chain of the action that would apply, and those of the other actions."""
    names = AudienceNames(replay.cluster, preemptor)
    if (plain := _not_applicable(replay, names, victim)) is not None:
        return ExplainResult(plain)
    actions = _actions(replay, victim, preemptor)
    objections = {action: _ineligibility(replay, action, victim, preemptor) for action in actions}
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
        )
        for action, found in objections.items()
        if found is not None
    ]
    if not actions:
        return ExplainResult(
            format_text(
                "{who} is not evicted: no action of the profile could.", who=capital(names.pod_group(victim))
            )
        )
    first, *others = actions
    beside = [*(for_operators(texts[action].operator) for action in others), _requeue(replay, victim)]
    text = join([texts[first], *beside])
    found = objections[first]
    end = None if found is None else found.rejection.until
    kept = [each for each in replay.result.protections if each.pod_group == victim]
    return ExplainResult(text, facts, kept, end)


def _not_applicable(replay: CycleReplay, names: AudienceNames, victim: int) -> AudienceText | None:
    """An answer when the question rests on something that is not so."""
    cluster, waiting, other = replay.cluster, names.pod_group(names.own), names.pod_group(victim)
    if victim == names.own:
        return format_text("{who} is not evicted for itself.", who=capital(waiting))
    groups = (group for group in replay.result.groups if group.beneficiary == names.own)
    lost = {cluster.tasks[evict.task].pod_group for group in groups for evict in group.evictions}
    if victim in lost:
        return format_text("{other} is evicted for {who}.", other=capital(other), who=waiting)
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
    """Actions of the profile that could evict it, the one that is for these two queues first."""
    groups = replay.cluster.pod_groups
    mine, theirs = groups[preemptor].queue, groups[victim].queue
    found = [action for action in replay.searches() if action.victims_from.covers(mine, theirs)]
    return sorted(found, key=lambda action: action.victims_from is Relation.ANY_QUEUE)


def _ineligibility(replay: CycleReplay, action: Action, victim: int, preemptor: int) -> Ineligibility | None:
    if replay.cluster.pod_groups[preemptor].queue is None:
        invalid = replay.outcome(preemptor)
        assert invalid is not None
        return Ineligibility(EligibilityStage.NOT_ELIGIBLE, invalid.reason)
    return VictimQuery(replay.before_search(action, preemptor), action, preemptor).ineligibility(victim)


def _requeue(replay: CycleReplay, victim: int) -> AudienceText:
    """Why the action requeue lets it run, if its expected runtime is over."""
    found = (each for each in replay.result.nominations if each.pod_group == victim and each.is_candidate)
    nomination = next(found, None)
    if nomination is None:
        return NOTHING
    why = nomination.detail.rstrip(".") or nomination.result.name.lower().replace("_", " ")
    end = "" if nomination.until is None else f" (until {moment(nomination.until)})"
    return for_operators(f"requeue: it keeps running because {why}{end}.")


def _describe_rejection(
    replay: CycleReplay, names: AudienceNames, victim: int, action: Action, found: Ineligibility | None
) -> AudienceText:
    who, other = names.pod_group(names.own), capital(names.pod_group(victim))
    if found is None:
        told = "{other} could be evicted for {who} by {action}, but was not needed."
        return join(
            [
                format_text(
                    "{other} could be evicted for {who} by {action}, but was not needed.",
                    other=other,
                    who=who,
                    action=action.name,
                ),
                _describe_unused(replay, names, victim, action),
            ]
        )
    if found.stage is EligibilityStage.NOT_ELIGIBLE:
        why = explain_pending(replay.cluster, names, names.own, found.rejection)
        told = "{other} is not evicted by {action}: {who} cannot evict any pod group because {why}."
        return format_text(told, other=other, action=action.name, who=who, why=why)
    verdict = _verdict(replay, action, names.own, victim, found.rejection)
    why = explain_not_evicted(names, found.rejection, action.name, verdict)
    return format_text(
        "{other} is not evicted by {action} because {why}.", other=other, action=action.name, why=why
    )


def _verdict(
    replay: CycleReplay, action: Action, preemptor: int, victim: int, rejection: Rejection
) -> GuardVerdict | None:
    """What the guard said that objects; None when no guard does."""
    verdicts = replay.end.session.guards.verdicts(action, preemptor, victim)
    return next((v for v in verdicts if (v.guard, v.code) == (rejection.source, rejection.code)), None)


def _describe_unused(replay: CycleReplay, names: AudienceNames, victim: int, action: Action) -> AudienceText:
    """Why somebody who might yield did not have to."""
    outcome = replay.outcome(names.own)
    assert outcome is not None
    if outcome.kind not in HELPFUL_OUTCOMES:
        why = explain_pending(replay.cluster, names, names.own, outcome.reason)
        return format_text(
            "In this cycle, {who} is pending because {why}.", who=names.pod_group(names.own), why=why
        )
    context = replay.before_search(action, names.own)
    found = find_position(context, VictimQuery(context, action, names.own), victim, 0)
    if not found.earlier:
        return for_all("Earlier candidates freed enough capacity.")
    first = names.pod_group(found.earlier[0])
    return format_text("Earlier candidates, such as {first}, freed enough capacity.", first=first)

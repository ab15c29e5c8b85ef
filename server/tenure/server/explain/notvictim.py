"""Why is a pod group not evicted for another one? The reader is the owner of the one that waits."""

from tenure.server.explain.answer import Answer, Fact
from tenure.server.explain.names import Names
from tenure.server.explain.text import NOTHING, Text, capital, for_operators, joined, moment, same, say
from tenure.server.explain.why import stays, timeless, waits
from tenure.solver.explain.asking import Asking, Objection, Step
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.explain.ranking import place
from tenure.solver.explain.trial import HELPED
from tenure.solver.model.decision import OutcomeKind
from tenure.solver.model.guard import GuardVerdict
from tenure.solver.model.reason import Rejection


def why_not_victim(inquiry: Inquiry, victim: int, preemptor: int) -> Answer:
    """The first objection along the chain of the action that would apply, and those of the other actions."""
    names = Names(inquiry.cluster, preemptor)
    if (plain := _no_question(inquiry, names, victim)) is not None:
        return Answer(plain)
    actions = _actions(inquiry, victim, preemptor)
    objections = {action: _objection(inquiry, action, victim, preemptor) for action in actions}
    texts = {action: _told(inquiry, names, victim, action, found) for action, found in objections.items()}
    facts = [
        Fact(
            found.rejection.code,
            texts[action].operator,
            found.rejection.source or action,
            found.rejection.until,
        )
        for action, found in objections.items()
        if found is not None
    ]
    if not actions:
        return Answer(
            say("{who} is not evicted: no action of the profile could.", who=capital(names.pod_group(victim)))
        )
    first, *others = actions
    beside = [*(for_operators(texts[action].operator) for action in others), _requeue(inquiry, victim)]
    text = joined([texts[first], *beside])
    found = objections[first]
    end = None if found is None else found.rejection.until
    kept = [each for each in inquiry.decision.protections if each.pod_group == victim]
    return Answer(text, facts, kept, end)


def _no_question(inquiry: Inquiry, names: Names, victim: int) -> Text | None:
    """An answer when the question rests on something that is not so."""
    cluster, waiting, other = inquiry.cluster, names.pod_group(names.own), names.pod_group(victim)
    if victim == names.own:
        return say("{who} does not make room for itself.", who=capital(waiting))
    groups = (group for group in inquiry.decision.groups if group.beneficiary == names.own)
    lost = {cluster.tasks[evict.task].pod_group for group in groups for evict in group.evictions}
    if victim in lost:
        return say("{other} is evicted for {who}.", other=capital(other), who=waiting)
    if not any(
        cluster.tasks[t].placement.status.is_active_allocated for t in cluster.pod_groups[victim].tasks
    ):
        return say("Nothing of {other} runs that could be evicted.", other=other)
    outcome = inquiry.outcome(names.own)
    if outcome is None:
        return say("{who} does not wait for room.", who=capital(waiting))
    if outcome.kind in (OutcomeKind.BOUND, OutcomeKind.WAITING_FOR_RELEASE):
        return say("{who} finds room without evicting anybody.", who=capital(waiting))
    return None


def _actions(inquiry: Inquiry, victim: int, preemptor: int) -> list[str]:
    """Actions of the profile that could evict it, the one that is for these two queues first."""
    groups = inquiry.cluster.pod_groups
    rule = "preempt" if groups[victim].queue == groups[preemptor].queue else "reclaim"
    return [action for action in (rule, "consolidation") if action in inquiry.profile.actions]


def _objection(inquiry: Inquiry, action: str, victim: int, preemptor: int) -> Objection | None:
    if inquiry.cluster.pod_groups[preemptor].queue is None:
        invalid = inquiry.outcome(preemptor)
        assert invalid is not None
        return Objection(Step.MAY_NOT_ASK, invalid.reason)
    return Asking(inquiry.before_search(action, preemptor), action, preemptor).objection(victim)


def _requeue(inquiry: Inquiry, victim: int) -> Text:
    """Why the action requeue lets it run, if its expected runtime is over."""
    found = (each for each in inquiry.decision.nominations if each.pod_group == victim and each.is_candidate)
    nomination = next(found, None)
    if nomination is None:
        return NOTHING
    why = timeless(nomination.detail) or nomination.result.name.lower().replace("_", " ")
    end = "" if nomination.until is None else f" (until {moment(nomination.until)})"
    return for_operators(f"By requeue it keeps running: {why}{end}.")


def _told(inquiry: Inquiry, names: Names, victim: int, action: str, found: Objection | None) -> Text:
    who, other = names.pod_group(names.own), capital(names.pod_group(victim))
    if found is None:
        return joined(
            [
                say("{other} might yield to {who} by {action}.", other=other, who=who, action=action),
                _passed_over(inquiry, names, victim, action),
            ]
        )
    if found.step is Step.MAY_NOT_ASK:
        why = waits(inquiry.cluster, names, names.own, found.rejection)
        told = "{other} is not evicted by {action}: {who} may not ask anybody, for {why}."
        return say(told, other=other, action=action, who=who, why=why)
    verdict = _verdict(inquiry, action, names.own, victim, found.rejection)
    why = stays(names, found.rejection, action, verdict)
    return say("{other} is not evicted by {action}: {why}.", other=other, action=action, why=why)


def _verdict(
    inquiry: Inquiry, action: str, preemptor: int, victim: int, rejection: Rejection
) -> GuardVerdict | None:
    """What the guard said that objects; None when no guard does."""
    verdicts = inquiry.end.session.guards.verdicts(action, preemptor, victim)
    return next((v for v in verdicts if (v.guard, v.code) == (rejection.source, rejection.code)), None)


def _passed_over(inquiry: Inquiry, names: Names, victim: int, action: str) -> Text:
    """Why somebody who might yield did not have to."""
    outcome = inquiry.outcome(names.own)
    assert outcome is not None
    if outcome.kind not in HELPED:
        why = waits(inquiry.cluster, names, names.own, outcome.reason)
        return say("It was not asked in this cycle: {why}.", why=why)
    context = inquiry.before_search(action, names.own)
    found = place(context, Asking(context, action, names.own), victim, 0)
    if not found.earlier:
        return same("Others made the room before it was needed.")
    first = names.pod_group(found.earlier[0])
    return say("It is not needed: others come first, such as {first}, and make the room.", first=first)

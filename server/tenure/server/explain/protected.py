"""Until when is a pod group protected, by whom, and from whom?"""

from tenure.server.explain.answer import Answer
from tenure.server.explain.names import Names
from tenure.server.explain.text import Text, capital, joined, moment, same, say
from tenure.server.report.words import listed
from tenure.solver.explain.inquiry import Inquiry
from tenure.solver.model.decision import Protection
from tenure.solver.model.guard import EVICTING_ACTIONS, Scope


def protected_until(inquiry: Inquiry, pod_group: int) -> Answer:
    """What the guards say of a running pod group; an exception of a guard follows what it is taken from."""
    cluster, names = inquiry.cluster, Names(inquiry.cluster, pod_group)
    who = capital(names.pod_group(pod_group))
    if not any(
        cluster.tasks[task].placement.status.is_allocated for task in cluster.pod_groups[pod_group].tasks
    ):
        return Answer(
            say("Nothing of {who} runs, so there is nothing to protect.", who=names.pod_group(pod_group))
        )
    found = [each for each in inquiry.decision.protections if each.pod_group == pod_group]
    if not any(protection.scope for protection in found):
        told = (
            "{who} is not protected: it may be evicted at once, if the rules of queues and priorities say so."
        )
        return Answer(say(told, who=who))
    ends = [protection.until for protection in found if protection.scope and protection.until is not None]
    sentences = (_sentence(names, protection) for protection in found)
    return Answer(
        joined([say("{who} is protected.", who=who), *sentences]), (), found, min(ends, default=None)
    )


def _sentence(names: Names, protection: Protection) -> Text:
    whom = _from_whom(names, protection)
    by = say("{guard} ({source})", guard=protection.guard, source=names.source(protection.source))
    if protection.scope is Scope.NOTHING:
        return say("Not from {whom}, says {by}.", whom=whom, by=by)
    part = "its minimum" if protection.scope is Scope.CORE else "all of it"
    end = "as long as it runs" if protection.until is None else f"until {moment(protection.until)}"
    told = "From {whom}: {part}, {end}, by {by}."
    return say(told, whom=whom, part=part, end=end, by=by)


def _from_whom(names: Names, protection: Protection) -> Text:
    is_all = set(protection.actions) >= set(EVICTING_ACTIONS)
    actions = same("" if is_all else f" (by {listed(list(protection.actions))})")
    return joined([_against(names, protection), actions], "")


def _against(names: Names, protection: Protection) -> Text:
    """Everybody, a queue with all below it, or one pod group."""
    if protection.against_pod_group is not None:
        return names.pod_group(protection.against_pod_group)
    if not protection.against:
        return same("everybody")
    return say("whoever is in {queue}", queue=names.queue_named(protection.against))

"""What counts of a running pod group whose owner changed what protects it (semantics 8.4).

Resolution takes the lesser part everywhere, because that follows from one row alone. Whether the quotas of
its queue cover more is found for each cycle, by `solver.grants`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tenure.solver.model.facts import PodGroupFacts
from tenure.solver.model.grant import NO_GRANT, Grant
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.requeue import ParsedValue
from tenure.solver.model.workload import PodGroup, PodSet, SubGroupSet, Task, min_pods
from tenure.terms.preemptibility import PROTECTION, Preemptibility, effective_preemptibility


def with_grant(group: PodGroup, tasks: PersistentVector[Task]) -> PodGroup:
    """The pod group with what counts of what it requests, where its tasks are now."""
    requested = group.facts if group.requested is None else group.requested
    whole = with_facts(group, requested)
    if not any(tasks[task].placement.is_active_allocated for task in group.tasks):
        return whole
    minimum = min_pods(whole.root)
    if requested_grant(requested, minimum) == requested.grant:
        return whole  # as nearly always
    facts = facts_in_force(requested, minimum)
    if facts is requested and not is_changed(requested, minimum):
        return whole
    return replace(with_facts(whole, facts), requested=requested)


def in_granted_queue(facts: PodGroupFacts, leaves: Mapping[str, int], tasks: Iterable[Task]) -> PodGroupFacts:
    """Facts of a pod group with a grant. While pods of it are on nodes, no queue at all takes it out of the
    queue of its grant: other queues could not reclaim what it has.
    """
    assert facts.grant is not None
    if facts.queue_name in leaves or facts.grant.queue not in leaves:
        return facts
    if not any(task.placement.is_active_allocated for task in tasks):
        return facts
    return replace(facts, queue_name=facts.grant.queue)


def with_facts(group: PodGroup, facts: PodGroupFacts) -> PodGroup:
    """The pod group with other facts, which change its tree only by the minimum of one without subgroups."""
    if facts is group.facts:
        return group if group.requested is None else replace(group, requested=None)
    if facts.min_member == group.facts.min_member:
        return replace(group, facts=facts, requested=None)
    (one,) = group.pod_sets
    minimum = 1 if facts.min_member is None else facts.min_member
    pod_sets = (PodSet(one.index, one.name, minimum, one.tasks, one.topology),)
    root = SubGroupSet(group.root.name, pod_sets, group.root.min_sub_groups, group.root.topology)
    return replace(group, facts=facts, root=root, pod_sets=pod_sets, requested=None)


def requested_grant(facts: PodGroupFacts, minimum: int) -> Grant:
    """The grant of a pod group that starts as it is. `minimum`: smallest number of pods that satisfies it."""
    mode = effective_preemptibility(facts.preemptibility, facts.priority)
    runtime = facts.requeue.expected_runtime.value
    return Grant(facts.queue_name, mode, facts.opt_out_actions, minimum, runtime)


def renewed_grant(facts: PodGroupFacts, minimum: int, is_covered: bool) -> Grant:
    """The grant from now on: what is requested if quotas cover that, else the lesser of both.

    The expected runtime stays, for it counts from the start; if the start is not known, the first one counts.
    """
    given, wanted = _given(facts, minimum), requested_grant(facts, minimum)
    if facts.grant is not None and facts.grant.queue:
        wanted = wanted._replace(expected_runtime=facts.grant.expected_runtime)
    if is_covered:
        return wanted
    mode = min(given.preemptibility, wanted.preemptibility, key=PROTECTION.__getitem__)
    least = wanted.min_pods if _is_firm(given) else min(given.min_pods, wanted.min_pods)
    kept = wanted.opt_out_actions & given.opt_out_actions
    return Grant(wanted.queue, mode, kept, least, wanted.expected_runtime)


def is_changed(facts: PodGroupFacts, minimum: int) -> bool:
    """Whether what protects a running pod group with a grant is not what it was given."""
    return renewed_grant(facts, minimum, is_covered=True) != facts.grant


def facts_in_force(facts: PodGroupFacts, minimum: int) -> PodGroupFacts:
    """Facts of a running pod group with a grant: what is requested, as far as it was given.

    The same object if all is in force.
    """
    given, wanted = _given(facts, minimum), requested_grant(facts, minimum)
    left = renewed_grant(facts, minimum, is_covered=False)
    runtime = _runtime_in_force(wanted.expected_runtime, given.expected_runtime)
    changed = facts
    if runtime != wanted.expected_runtime:
        requeue = facts.requeue._replace(expected_runtime=ParsedValue(runtime))
        changed = replace(changed, requeue=requeue)
    if not wants_more(left, wanted):
        return changed
    mode, least = left.preemptibility, facts.min_member
    if minimum > left.min_pods and facts.sub_groups:
        mode = Preemptibility.PREEMPTIBLE  # which pods a smaller minimum of a tree would be is not known
    elif minimum > left.min_pods:
        least = left.min_pods
    return replace(changed, preemptibility=mode, min_member=least, opt_out_actions=left.opt_out_actions)


def wants_more(given: Grant, wanted: Grant) -> bool:
    """Whether a grant protects from more than another one, so that quotas must cover it."""
    if PROTECTION[given.preemptibility] < PROTECTION[wanted.preemptibility]:
        return True
    if not wanted.opt_out_actions <= given.opt_out_actions:
        return True
    return wanted.min_pods > given.min_pods and not _is_firm(given)


def _is_firm(grant: Grant) -> bool:
    return grant.preemptibility is Preemptibility.NON_PREEMPTIBLE


def _given(facts: PodGroupFacts, minimum: int) -> Grant:
    """Its grant, as far as it counts in its queue. The minimum does in all queues, or the first one known."""
    given = facts.grant
    if given is None or not given.queue:
        return NO_GRANT._replace(min_pods=minimum)
    return given if given.queue == facts.queue_name else NO_GRANT._replace(min_pods=given.min_pods)


def _runtime_in_force(wanted: int | None, given: int | None) -> int | None:
    """The expected runtime: an earlier end counts, a later one does not."""
    if given is None or wanted is None:
        return wanted if given is None else given
    return min(wanted, given)

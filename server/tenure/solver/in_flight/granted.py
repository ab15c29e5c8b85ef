"""What running pod groups were given resources under: changes that quotas cover, and what is to be stored.

begin: what quotas cover of changes counts in this cycle
end: a patch for each grant that is another one from now on
"""

from typing import Final

from tenure.solver.actions.cycle_context import CycleContext, in_cycle
from tenure.solver.actions.cycle_start import CycleStart, at_start
from tenure.solver.grants import next_grant, review_grants, with_covered
from tenure.solver.model.decision import Patch, PatchKind
from tenure.solver.plugin_api.step import Step
from tenure.solver.resolution.slot_map import SlotChange

NAME: Final = "grants"
"""Step, and action of the decision groups with its patches. No profile names it."""


def put_in_force(start: CycleStart) -> None:
    """What quotas cover of changes counts in this cycle (semantics R8.41)."""
    if not start.cluster.changed_grants:
        return
    covered = review_grants(start.cluster, start.fair_share_actions).covered
    if covered:
        tasks = [task for index in covered for task in start.cluster.pod_groups[index].tasks]
        change = SlotChange(frozenset(covered), frozenset(tasks))
        start.change(with_covered(start.cluster, covered), change)


def patch_grants(context: CycleContext) -> None:
    """A patch for each pod group that still runs and has another grant from now on (semantics R8.42)."""
    session, active = context.session, context.session.ledger.active_allocated
    for index in session.cluster.changed_grants:
        group = session.cluster.pod_groups[index]
        later = next_grant(group)
        if later is not None and any(active[pod_set.index] for pod_set in group.pod_sets):
            session.add_standalone_patch(NAME, Patch(index, PatchKind.GRANT, grant=later))


GRANTS: Final = Step(NAME, begin=at_start(put_in_force), end=in_cycle(patch_grants))

"""Guards: protection of pod groups from eviction.

A guard returns a verdict for an action, a preemptor and a victim. What follows is computed here, for all
guards and evicting actions alike. The strictest scope wins, the first of several in profile order:

- ALL: the pod group is not a victim.
- CORE: it loses at most its surplus, at every level of its subgroups. Without surplus it is not a victim.
- NOTHING: it may be evicted. The eviction names the guard anyway.
"""

from collections.abc import Sequence

from tenure.solver.framework.chains import Chains
from tenure.solver.framework.guard_verdicts import GuardSummary, SharedVerdicts, without_ended
from tenure.solver.model.persistent_vector import PersistentVector
from tenure.solver.model.placement import Placement
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.scenario import Scenario


class Guards(SharedVerdicts):
    """What follows from the verdicts of all guards, in profile order."""

    def __init__(
        self, pod_groups: PersistentVector[PodGroup], chains: Chains, placements: Sequence[Placement]
    ) -> None:
        super().__init__(pod_groups, chains)
        self._placements = placements
        self._named: dict[tuple[int, str], tuple[GuardVerdict, GuardVerdict]] = {}
        """Verdicts without and with the name of their guard, by identity and name."""

    def verdicts(self, action: Action, preemptor: int, victim: int) -> tuple[GuardVerdict, ...]:
        """Verdicts of all guards that apply to the action, with the names of the guards."""
        found = self.summary(action, preemptor, victim).verdicts
        named = zip(found, self._sharing, strict=True)
        return tuple([self._with_name(each, guard.name) for each, guard in named if each is not None])

    def _with_name(self, verdict: GuardVerdict, name: str) -> GuardVerdict:
        """The verdict with the name of its guard. Guards return one object for many victims."""
        known = self._named.get((id(verdict), name))
        if known is None:
            scope, source, until, detail, reason, _, custom = verdict
            known = verdict, GuardVerdict(scope, source, until, detail, reason, name, custom)
            self._named[id(verdict), name] = known
        return known[1]

    def summary(self, action: Action, preemptor: int, victim: int) -> GuardSummary:
        """Verdicts of all guards about the victim, and what follows."""
        cached = self._preemptor(action, preemptor)
        found = cached.summaries.get(victim)
        if found is None:
            if cached.has_own:
                verdicts = [
                    self._verdict(place, guard, action, cached, victim)
                    for place, guard in enumerate(self._chains.guards)
                ]
            else:
                verdicts = [guard.guard(action, preemptor, victim) for guard in self._chains.guards]
            found = self.summarize(victim, verdicts)
            cached.summaries[victim] = found
        return found

    def allows_victim(self, action: Action, preemptor: int, victim: int) -> Rejection | None:
        """Why the victim must not lose any task: the strictest verdict."""
        return self.summary(action, preemptor, victim).rejection

    def keeps_core(self, action: Action, preemptor: int, victim: int) -> bool:
        """Whether the victim must keep its minimum."""
        return self.summary(action, preemptor, victim).keeps_core

    def summary_at(self, action: Action, preemptor: int, victim: int, time: int | None) -> GuardSummary:
        """Summary without the protections that end by a time, in nanoseconds: what would follow then."""
        now = self.summary(action, preemptor, victim)
        return now if time is None else now.at(self._pod_groups[victim], time, self._sharing)

    def endings(self, action: Action, preemptor: int, victim: int) -> list[Rejection]:
        """Protections of the victim that end, one for each guard."""
        return self.summary(action, preemptor, victim).endings(self._sharing)

    def is_pair_core(self, action: Action, preemptor: int, victim: int) -> bool:
        """Whether the victim must keep its core because of such a verdict."""
        cached = self._keys_of(preemptor)
        if not cached.has_own:
            return False
        strictest = self.summary(action, preemptor, victim).strictest
        return strictest >= 0 and cached.keys[strictest] is None

    def delays(self, action: Action, preemptor: int, victim: int) -> bool:
        """Whether the guards that are shared for the preemptor protect the victim until a time."""
        cached = self._preemptor(action, preemptor)
        if not cached.has_own:
            rejection = self.summary(action, preemptor, victim).rejection
        else:
            verdicts = [
                None if cached.keys[place] is None else self._verdict(place, guard, action, cached, victim)
                for place, guard in enumerate(self._chains.guards)
            ]
            rejection = self.summarize(victim, verdicts).rejection
        return rejection is not None and rejection.until is not None

    def allows_scenario(
        self, action: Action, scenario: Scenario, time: int | None = None, is_final: bool = False
    ) -> Rejection | None:
        """Rejection of a scenario in which a victim loses a protected minimum (semantics R7.40).

        With a time, protections that end by then do not count; `is_final`: only those. Every listed task
        counts as lost, even a relocated one, and a terminating task does not count as left (stricter than
        semantics R7.41).
        """
        for victim, tasks in scenario.victims().items():
            summary = self.summary_at(action, scenario.preemptor, victim, time)
            if is_final:  # no notice is left in which a protection could end
                ended = without_ended(self.summary(action, scenario.preemptor, victim).verdicts, time or 0)
                summary = GuardSummary(self._pod_groups[victim], ended, self._sharing)
            if not summary.keeps_core:
                continue
            if summary.protects_all or self._breaks_minimum(self._pod_groups[victim], tasks):
                return summary.objection(self._sharing)
        return None

    def _breaks_minimum(self, group: PodGroup, tasks: Sequence[int]) -> bool:
        """Whether the pod group meets its minimum with these tasks and not without them.

        A pod group that does not meet it anyway may lose tasks of pod sets that stay above their own minimum.
        """
        listed, left, before = set(tasks), {}, {}
        for pod_set in group.pod_sets:
            stays = [t for t in pod_set.tasks if t not in listed]
            left[pod_set.index] = sum(self._placements[t].status.is_active_allocated for t in stays)
            before[pod_set.index] = left[pod_set.index] + len(pod_set.tasks) - len(stays)
        if group.root.is_met(before):
            return not group.root.is_met(left)
        losing = [s for s in group.pod_sets if left[s.index] < before[s.index]]
        return any(not pod_set.is_met(left) for pod_set in losing)

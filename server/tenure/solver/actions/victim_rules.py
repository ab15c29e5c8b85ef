"""Which pod groups may be victims of a preemptor: by the action's rule, then plugins, then guards."""

from collections.abc import Hashable, Iterator, Sequence
from typing import final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action, ActionRule, Relation
from tenure.solver.search.queue_tree import QueueTreeEntry
from tenure.solver.search.search import VictimPolicy
from tenure.solver.search.victim_entries import CandidateRequest, VictimChecker


class VictimRules:
    """What one action requires of victims."""

    def __init__(self, context: CycleContext, action: Action, rule: ActionRule | None) -> None:
        """`rule` is what the action itself requires, if anything."""
        self.action = action
        self.source = context.components.candidates
        self._lists = context.pod_groups
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._guards = context.session.guards
        self._rule = rule
        self._victim_queues: dict[int | None, Sequence[int]] = {}
        """Leaf queues to take from, by queue of the preemptor."""

    def victim_queues(self, pod_group: int) -> Sequence[int]:
        """Leaf queues whose pod groups may be evicted for it."""
        own_queue = self._groups[pod_group].queue
        found = self._victim_queues.get(own_queue)
        if found is None:
            found = self._victim_queues[own_queue] = self._related_queues(own_queue)
        return found

    def _related_queues(self, own_queue: int | None) -> Sequence[int]:
        relation, leaves = self.action.victims_from, self._lists.leaf_queues()
        if relation is Relation.ANY_QUEUE:
            return leaves
        if relation is Relation.OTHER_QUEUES:
            return [queue for queue in leaves if queue != own_queue]
        return [] if own_queue is None or relation is Relation.NONE else [own_queue]

    def has_victims(self, pod_group: int) -> bool:
        """Whether these queues have possible victims."""
        return any(map(self._lists.has_victims, self.victim_queues(pod_group)))

    def rejection(self, pod_group: int, victim: int, time: int | None = None) -> Rejection | None:
        """Why a pod group may not be a victim for this preemptor, apart from its queue.

        With a time, protections that end by then do not count.
        """
        return self.ruled_out(pod_group, victim) or self.protection(pod_group, victim, time)

    def protection(self, pod_group: int, victim: int, time: int | None) -> Rejection | None:
        """Why plugins or guards do not allow it as a victim."""
        chains = self._session.chains
        if chains.victim_filters:
            rejection = chains.allows_victim(self.action, pod_group, victim)
            if rejection is not None and not rejection.ends_by(time):
                return rejection
        return self._guards.summary_at(self.action, pod_group, victim, time).rejection

    def ruled_out(self, pod_group: int, victim: int) -> Rejection | None:
        """Why the action itself does not take a pod group, whatever plugins and guards say."""
        if self._rule is None:
            return None
        return self._rule.allows_victim(self._groups[pod_group], self._groups[victim])

    def full_rejection(self, pod_group: int, victim: int) -> Rejection | None:
        """Why a pod group may not be a victim: by the action's rule, its queue, then all other rules."""
        rejection = self.ruled_out(pod_group, victim)
        queue = self._groups[victim].queue
        if rejection is None and queue is not None:
            rejection = self.queue_rejection(pod_group, queue)
        return rejection or self.rejection(pod_group, victim)

    def check_queue(self, queue: int, checker: VictimChecker) -> None:
        """Check every possible victim of a leaf queue."""
        for victim in self._lists.victim_groups(queue):
            self._session.stop.check()
            checker.rejection(victim)

    def allows_queue(self, pod_group: int, queue: int) -> bool:
        """Whether pod groups of a leaf queue may be victims for this preemptor."""
        return not self._session.chains.rejects_victim_queue(self.action, pod_group, queue)

    def queue_rejection(self, pod_group: int, queue: int) -> Rejection | None:
        """Why no pod group of a leaf queue may be a victim for this preemptor."""
        return self._session.chains.allows_victim_queue(self.action, pod_group, queue)

    def is_pair_finding(self, pod_group: int, rejection: Rejection) -> bool:
        """Whether a rejection says nothing about other preemptors."""
        return self._guards.is_pair_finding(pod_group, rejection.source)

    def is_pair_core(self, pod_group: int, victim: int) -> bool:
        """Whether a victim must keep its minimum from this preemptor only, as far as is known."""
        return self._guards.is_pair_core(self.action, pod_group, victim)

    def keeps_core(self, pod_group: int, victim: int, time: int | None = None) -> bool:
        """Whether a victim must keep its core, now or by protections that do not end by a time."""
        return self._guards.summary_at(self.action, pod_group, victim, time).keeps_core

    def endings(self, pod_group: int, victim: int) -> list[Rejection]:
        """Protections of a victim that end."""
        return self._guards.endings(self.action, pod_group, victim)

    def rule_key(self, pod_group: int) -> Hashable | None:
        """Preemptors with equal keys have equal victims by the action's rule; None: never share results."""
        return 0 if self._rule is None else self._rule.victim_cache_key(self._groups[pod_group])


@final
class VictimSelector(VictimPolicy, VictimChecker):
    """The victims of one preemptor; plugins and guards are asked once about each pod group."""

    def __init__(self, rules: VictimRules, pod_group: int, time: int | None = None) -> None:
        """With a time, in nanoseconds, protections that end by then do not count."""
        self._rules = rules
        self._time = time
        self.rule_key = rules.rule_key(pod_group)
        if time is not None and self.rule_key is not None:
            self.rule_key = (time, self.rule_key)
        self._request = CandidateRequest(rules.action, pod_group, self.rule_key)
        self._rejections: dict[int, Rejection | None] = {}
        self.protected: dict[int, Rejection] = {}
        """Pod groups that a guard protects for a time."""
        self.has_pair_findings = False
        """Whether a guard that is called for each pair protects a victim: other preemptors may evict it."""

    def allows_queue(self, queue: int) -> bool:
        """Whether any pod group of a leaf queue may be a victim."""
        return self._rules.allows_queue(self._request.preemptor, queue)

    def candidates(self, queue: int) -> Iterator[QueueTreeEntry]:
        """Candidates of a leaf queue with their allocated resources, worst first."""
        return self._rules.source.in_order(queue, self._request, self)

    def rejection(self, victim: int) -> Rejection | None:
        """Why a pod group may not be a victim. What the action's rule says is not kept: it is cheap."""
        if victim in self._rejections:
            return self._rejections[victim]
        preemptor = self._request.preemptor
        rejection = self._rules.ruled_out(preemptor, victim)
        if rejection is None:
            rejection = self._rules.protection(preemptor, victim, self._time)
        elif rejection.until is None:
            return rejection
        self._rejections[victim] = rejection
        if rejection is not None:
            if self._rules.is_pair_finding(self._request.preemptor, rejection):
                self.has_pair_findings = True
            if rejection.until is not None:
                self.note_protection(victim, rejection)
        return rejection

    def keeps_core(self, victim: int) -> bool:
        """Whether a victim must keep its core."""
        if self._rules.is_pair_core(self._request.preemptor, victim):
            self.has_pair_findings = True
        return self._rules.keeps_core(self._request.preemptor, victim, self._time)

    def check_all(self, queues: Sequence[int]) -> None:
        """Find the protections of all candidates that end: that is when a retry may succeed."""
        for queue in queues:
            if self.allows_queue(queue) and self._rules.source.may_expire(queue, self._request):
                self._rules.check_queue(queue, self)

    def add_wake_time(self, times: list[int]) -> None:
        """Add the first end of a protection that was met, if any."""
        if self.protected:
            ends = [each.until for each in self.protected.values() if each.until is not None]
            times.extend([min(ends)] if ends else [])

    def endings(self) -> dict[int, Rejection]:
        """The first protection that was met by its end, of whole pod groups and of cores."""
        found: dict[int, Rejection] = {}
        for victim, rejection in self._rejections.items():
            protection = self.protected.get(victim)
            if protection is None and (rejection is not None or not self.keeps_core(victim)):
                continue
            own = () if protection is None else (protection,)
            for each in (*own, *self._rules.endings(self._request.preemptor, victim)):
                if each.until is not None:
                    found.setdefault(each.until, each)
        return found

    def note_protection(self, victim: int, rejection: Rejection) -> None:
        """Note that it is protected for a time."""
        self.protected.setdefault(victim, rejection)


def find_endings(rules: VictimRules, pod_group: int) -> dict[int, Rejection]:
    """Protections with an end of all candidates, by that end."""
    victims = VictimSelector(rules, pod_group)
    victims.check_all(rules.victim_queues(pod_group))
    return victims.endings()

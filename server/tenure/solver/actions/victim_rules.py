"""Who may yield to a pod group that searches: the action's rule, then plugins, then guards."""

from collections.abc import Hashable, Iterator

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.protection_expiry import ProtectionExpiries
from tenure.solver.model.rejection import Rejection
from tenure.solver.plugin_api.action import Action, ActionRule
from tenure.solver.search.candidates import CandidateStream
from tenure.solver.search.queue_tree import QueueTreeEntry


class VictimRules:
    """What one action asks of victims."""

    def __init__(self, context: CycleContext, action: Action, rule: ActionRule | None) -> None:
        """`rule` is what the action itself requires, if anything."""
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._guards = context.session.guards
        self._pod_group_index = context.pod_group_index
        self._victim_entries = context.solver.victim_entries
        self._action = action
        self._rule = rule
        self.protection_expiries = ProtectionExpiries(context, action)
        self._known: dict[tuple[int, bool, Hashable], CandidateStream] = {}
        """Candidates by queue, and by kind of those that meet the same ones."""

    def rejection(self, pod_group: int, victim: int) -> Rejection | None:
        """Why a pod group may not be a victim of this one, its queue apart."""
        if self._rule is not None:
            rejection = self._rule.allows_victim(self._groups[pod_group], self._groups[victim])
            if rejection is not None:
                return rejection
        chains = self._session.chains
        if chains.allows_victim:
            rejection = chains.first_rejection(chains.allows_victim, self._action, pod_group, victim)
            if rejection is not None:
                return rejection
        return self._guards.allows_victim(self._action, pod_group, victim)

    def full_rejection(self, pod_group: int, victim: int) -> Rejection | None:
        """The same; the action's rule comes first, and then what is said of its queue."""
        rejection = None
        if self._rule is not None:
            rejection = self._rule.allows_victim(self._groups[pod_group], self._groups[victim])
        queue = self._groups[victim].queue
        if rejection is None and queue is not None:
            rejection = self.queue_rejection(pod_group, queue)
        return rejection or self.rejection(pod_group, victim)

    def queue_rejection(self, pod_group: int, queue: int) -> Rejection | None:
        """Why nobody of a leaf queue may be a victim of this one."""
        chains = self._session.chains
        for allows in chains.allows_victim_queue:
            rejection = allows(self._action, pod_group, queue)
            if rejection is not None:
                return chains.with_source(rejection, allows)
        return None

    def keeps_core(self, pod_group: int, victim: int) -> bool:
        """Whether a victim must keep its minimum."""
        return self._guards.keeps_core(self._action, pod_group, victim)

    def candidates(self, pod_group: int, queue: int) -> CandidateStream:
        """Candidates of a queue: those that matter to the search or to its reasons."""
        is_for_reasons = self.protection_expiries.may_protect_spent(pod_group, queue)
        kind = self._cache_key_of(pod_group)
        key, version = (queue, is_for_reasons, kind), self._pod_group_index.version(queue)
        drawn = None if kind is None else self._known.get(key)
        if drawn is None or drawn.version != version:
            victims = (
                self._pod_group_index.victims(queue)
                if is_for_reasons
                else self._pod_group_index.evictable_victims(queue)
            )
            drawn = CandidateStream(version, victims, self._victim_entries)
            if kind is not None:
                self._known[key] = drawn
        return drawn

    def _cache_key_of(self, pod_group: int) -> Hashable | None:
        """Preemptors of a kind meet the same candidates; None: this one stands alone."""
        if self._session.chains.allows_victim:
            return None
        own, guarded = self.rule_key(pod_group), self._guards.cache_key(pod_group)
        return None if own is None or guarded is None else (own, guarded)

    def rule_key(self, pod_group: int) -> Hashable | None:
        """Preemptors with equal keys meet the same rule of the action; None: never share results."""
        return 0 if self._rule is None else self._rule.victim_cache_key(self._groups[pod_group])


class VictimSelector:
    """Who may yield to one pod group, each asked about once."""

    __slots__ = ("_pod_group", "_rejections", "_rules", "protected")

    def __init__(self, rules: VictimRules, pod_group: int) -> None:
        self._rules = rules
        self._pod_group = pod_group
        self._rejections: dict[int, Rejection | None] = {}
        self.protected: dict[int, Rejection] = {}
        """Those whom a guard protects for a time."""

    def allows_queue(self, queue: int) -> bool:
        """Whether any pod group of a leaf queue may be a victim."""
        return self._rules.queue_rejection(self._pod_group, queue) is None

    def candidates(self, queue: int) -> Iterator[QueueTreeEntry]:
        """What possible victims of a leaf queue hold, worst first."""
        return self._rules.candidates(self._pod_group, queue).in_order(self)

    def rejection(self, victim: int) -> Rejection | None:
        """Why a pod group may not be a victim."""
        if victim in self._rejections:
            return self._rejections[victim]
        rejection = self._rejections[victim] = self._rules.rejection(self._pod_group, victim)
        if rejection is not None and rejection.until is not None:
            self.note_protection(victim, rejection)
        return rejection

    def keeps_core(self, victim: int) -> bool:
        """Whether a victim must keep its minimum."""
        return self._rules.keeps_core(self._pod_group, victim)

    def note_protection(self, victim: int, rejection: Rejection) -> None:
        """It is protected for a time."""
        self.protected.setdefault(victim, rejection)

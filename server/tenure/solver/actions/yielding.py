"""Who may yield to a pod group that searches: the action's rule, then plugins, then guards."""

from collections.abc import Callable, Hashable, Iterator

from tenure.solver.actions.context import Context
from tenure.solver.actions.delays import Delays
from tenure.solver.model.reason import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.candidates import Drawn
from tenure.solver.search.queuetree import Entry

Spares = Callable[[PodGroup, PodGroup], Rejection | None]
Kind = Callable[[PodGroup], Hashable | None]


def any_kind(group: PodGroup) -> Hashable | None:
    """The rule says the same to everybody."""
    return 0


class Rules:
    """What one action asks of victims."""

    def __init__(self, context: Context, action: str, spares: Spares | None, kind: Kind) -> None:
        """`spares` is the action's own rule about a pod group and a victim, if it has any. It says the same
        to pod groups of a `kind`; None stands alone.
        """
        self._session = context.session
        self._groups = context.session.cluster.pod_groups
        self._guards = context.session.guards
        self._lists = context.lists
        self._holdings = context.solver.holdings
        self._action = action
        self._spares = spares
        self.delays = Delays(context, action)
        self._kind = kind
        self._known: dict[tuple[int, bool, Hashable], Drawn] = {}
        """Candidates by queue, and by kind of those that meet the same ones."""

    def objection(self, pod_group: int, victim: int) -> Rejection | None:
        """Why a pod group may not be a victim of this one, its queue apart."""
        if self._spares is not None:
            rejection = self._spares(self._groups[pod_group], self._groups[victim])
            if rejection is not None:
                return rejection
        chains = self._session.chains
        if chains.allows_victim:
            rejection = chains.first_rejection(chains.allows_victim, self._action, pod_group, victim)
            if rejection is not None:
                return rejection
        return self._guards.allows_victim(self._action, pod_group, victim)

    def full_objection(self, pod_group: int, victim: int) -> Rejection | None:
        """The same; the action's rule comes first, and then what is said of its queue."""
        rejection = None
        if self._spares is not None:
            rejection = self._spares(self._groups[pod_group], self._groups[victim])
        queue = self._groups[victim].queue
        if rejection is None and queue is not None:
            rejection = self.queue_objection(pod_group, queue)
        return rejection or self.objection(pod_group, victim)

    def queue_objection(self, pod_group: int, queue: int) -> Rejection | None:
        """Why nobody of a leaf queue may be a victim of this one."""
        chains = self._session.chains
        for allows in chains.allows_victim_queue:
            rejection = allows(self._action, pod_group, queue)
            if rejection is not None:
                return chains.stamped(rejection, allows)
        return None

    def keeps_core(self, pod_group: int, victim: int) -> bool:
        """Whether a victim must keep its minimum."""
        return self._guards.keeps_core(self._action, pod_group, victim)

    def drawn(self, pod_group: int, queue: int) -> Drawn:
        """Candidates of a queue: those that matter to the search or to its reasons."""
        is_for_reasons = self.delays.among_spent(pod_group, queue)
        kind = self._kind_of(pod_group)
        key, version = (queue, is_for_reasons, kind), self._lists.version(queue)
        drawn = None if kind is None else self._known.get(key)
        if drawn is None or drawn.version != version:
            victims = self._lists.victims(queue) if is_for_reasons else self._lists.takeable(queue)
            drawn = Drawn(version, victims, self._holdings)
            if kind is not None:
                self._known[key] = drawn
        return drawn

    def _kind_of(self, pod_group: int) -> Hashable | None:
        """Preemptors of a kind meet the same candidates; None: this one stands alone."""
        if self._session.chains.allows_victim:
            return None
        own, guarded = self._kind(self._groups[pod_group]), self._guards.kind(pod_group)
        return None if own is None or guarded is None else (own, guarded)


class Victims:
    """Who may yield to one pod group, each asked about once."""

    __slots__ = ("_judged", "_pod_group", "_rules", "protected")

    def __init__(self, rules: Rules, pod_group: int) -> None:
        self._rules = rules
        self._pod_group = pod_group
        self._judged: dict[int, Rejection | None] = {}
        self.protected: dict[int, Rejection] = {}
        """Those whom a guard protects for a time."""

    def allows_queue(self, queue: int) -> bool:
        """Whether any pod group of a leaf queue may be a victim."""
        return self._rules.queue_objection(self._pod_group, queue) is None

    def candidates(self, queue: int) -> Iterator[Entry]:
        """What possible victims of a leaf queue hold, worst first."""
        return self._rules.drawn(self._pod_group, queue).in_order(self)

    def objection(self, victim: int) -> Rejection | None:
        """Why a pod group may not be a victim."""
        if victim in self._judged:
            return self._judged[victim]
        rejection = self._judged[victim] = self._rules.objection(self._pod_group, victim)
        if rejection is not None and rejection.until is not None:
            self.note(victim, rejection)
        return rejection

    def keeps_core(self, victim: int) -> bool:
        """Whether a victim must keep its minimum."""
        return self._rules.keeps_core(self._pod_group, victim)

    def note(self, victim: int, rejection: Rejection) -> None:
        """It is protected for a time."""
        self.protected.setdefault(victim, rejection)

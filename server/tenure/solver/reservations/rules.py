"""Who may use reserved capacity beside times and amounts, and who waits because of it (R17.8 c, R17.11)."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final, final

from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.framework.session import Session
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import NO_VICTIM_FACTS
from tenure.solver.model.inherited_settings import notice_period
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.resources import CPU, GPU, MEMORY, Share
from tenure.solver.model.verdict import ProtectionScope
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.reservations.node_reservations import NodeReservations, Owner
from tenure.solver.reservations.plugin import ReservationRules

_SHARED: Final = (CPU, MEMORY, GPU)
_BUILT_IN: Final = "tenure.solver.plugins."
"""Where modules of built-in guards are."""


@final
class SessionRules(ReservationRules):
    """Answers by the state of a session, which may be within a statement."""

    def __init__(self, session: Session, lends: bool) -> None:
        self._services = session.services
        self.lends = lends
        self._groups = session.cluster.pod_groups
        self._used: dict[int, tuple[int, QueueStatus]] = {}
        """Status of a queue, with its version in the ledger."""
        self._protected: dict[Hashable, int | None] = {}
        guards = map(session.chains.unwrapped, session.chains.guards)
        self._has_kinds = all(type(each).__module__.startswith(_BUILT_IN) for each in guards)
        """Whether all guards are known to read nothing of pod groups that wait but what kinds have."""

    @property
    def _session(self) -> Session:
        """The session while it is open: its plugins refer to these rules."""
        return self._services.open_session

    def precedes(self, pod_group: int, tasks: Sequence[int], owner: Owner, nodes: NodeReservations) -> bool:
        """In the same leaf by the order of pod groups; in another one by fair shares."""
        own_queue, owner_queue = self._groups[pod_group].queue, self._groups[owner.index].queue
        if own_queue is None or owner_queue is None:
            return False
        if own_queue == owner_queue:
            return self._session.pod_group_key(pod_group) < self._session.pod_group_key(owner.index)
        if self._session.chains.admits(RECLAIM, pod_group, tasks) is not None:
            return False
        status = self._status(owner_queue)
        held = self.idle_holds(owner, nodes)
        pairs = zip(status.allocated_after, held, status.fair_share, strict=True)
        return any(fair >= 0 and used + more > fair for used, more, fair in pairs)

    def idle_holds(self, owner: Owner, nodes: NodeReservations) -> Share:
        """What is free now on the nodes of a reservation, up to what it reserves (semantics R17.4)."""
        totals = [0, 0, 0]
        for node in {place.node for place in owner.places}:
            info = self._session.ledger.node_infos[node]
            for entry in nodes.by_node.get(node, ()):
                if entry.owner.index == owner.index:
                    for slot in _SHARED:
                        totals[slot] += max(0, min(entry.reserved[slot], info.idle[slot]))
        return (totals[CPU], totals[MEMORY], totals[GPU])

    def protected_until(self, pod_group: int, owner: int) -> int | None:
        """The latest end of what guards would say of it if it started now, without its notice."""
        if self._notice(self._groups[pod_group]):
            return None
        kind = self.guarded_kind(pod_group)
        if kind is None:
            return self._protected_until(pod_group, owner)
        if (owner, kind) not in self._protected:
            self._protected[owner, kind] = self._protected_until(pod_group, owner)
        return self._protected[owner, kind]

    def guarded_kind(self, pod_group: int) -> Hashable | None:
        """Its queue and its facts that guards know, if it neither ran nor was looked at before."""
        group = self._groups[pod_group]
        facts = group.facts
        if facts.victim is not NO_VICTIM_FACTS or pod_group in self._session.groups_with_history:
            return None
        if not self._has_kinds:
            return None
        limits = (facts.eviction_count, facts.total_eviction_wait, facts.evictions_without_progress)
        kind = (group.queue, facts.priority, int(facts.preemptibility), facts.opt_out_actions, limits)
        return (*kind, facts.requeue, facts.last_eviction, facts.namespace, self._notice(group))

    def _notice(self, group: PodGroup) -> int:
        """Time between its eviction and its end."""
        options = self._session.options
        if not options.max_notice:
            return 0
        return notice_period(group, self._session.cluster.queues, options.default_notice)[0]

    def _protected_until(self, pod_group: int, owner: int) -> int | None:
        session = self._session
        action = action_for(session, owner, pod_group)
        context = self._as_if_started(pod_group)
        latest = 0
        for guard in session.chains.guards:
            name = session.chains.name(guard)
            arguments = next((each.arguments for each in session.profile.plugins if each.name == name), {})
            plugin = session.registry.plugins[name](context, arguments)
            verdict = plugin.guard(action, owner, pod_group) if hasattr(plugin, "guard") else None
            if verdict is None or verdict.scope is ProtectionScope.NOTHING:
                continue
            if verdict.until is None:
                return None
            latest = max(latest, verdict.until)
        return latest

    def _as_if_started(self, pod_group: int) -> PluginContext:
        """What plugins receive in a cluster in which the pod group has just started."""
        session, group = self._session, self._groups[pod_group]
        groups = session.cluster.pod_groups.next_version()
        facts = replace(group.facts, last_start=session.cluster.now)
        groups.put(pod_group, replace(group, facts=facts))
        cluster: Cluster = replace(session.cluster, pod_groups=groups)
        return session.plugin_context(cluster)

    def _status(self, queue: int) -> QueueStatus:
        versions, known = self._session.ledger.queue_versions, self._used.get(queue)
        if known is None or known[0] != versions[queue]:
            for each, status in enumerate(self._session.chains.queue_status()):
                self._used[each] = versions[each], status
            return self._used[queue][1]
        return known[1]


def action_for(session: Session, owner: int, victim: int) -> Action:
    """The action whose protections apply between two pod groups: within a queue, or between queues."""
    groups = session.cluster.pod_groups
    return PREEMPT if groups[owner].queue == groups[victim].queue else RECLAIM

"""What decides beside times and amounts who may use reserved capacity (semantics R17.8 c, R17.11)."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Final, final

from tenure.solver.actions.preempt import PREEMPT
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.framework.session import Session, SessionServices
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.facts import NO_VICTIM_FACTS
from tenure.solver.model.inherited_settings import notice_period
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.resources import CPU, GPU, MEMORY, Share
from tenure.solver.model.verdict import ProtectionScope
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugins.reservation.node_reservations import NodeReservations, Owner
from tenure.solver.plugins.reservation.plugin import Referee

_SHARED: Final = (CPU, MEMORY, GPU)


@final
class SessionReferee(Referee):
    """Answers by the state of a session, which may be within a statement."""

    def __init__(self, session: Session, profile: Profile) -> None:
        self._session, self._profile = session, profile
        self._groups = session.cluster.pod_groups
        self._used: dict[int, tuple[int, QueueStatus]] = {}
        """Status of a queue, with its version in the ledger."""
        self._protected: dict[Hashable, int | None] = {}

    def precedes(self, pod_group: int, task: int, owner: Owner, nodes: NodeReservations) -> bool:
        """In the same leaf by the order of pod groups; in another one by fair shares."""
        mine, theirs = self._groups[pod_group].queue, self._groups[owner.index].queue
        if mine is None or theirs is None:
            return False
        if mine == theirs:
            return self._session.pod_group_key(pod_group) < self._session.pod_group_key(owner.index)
        if self._session.chains.admits(RECLAIM, pod_group, [task]) is not None:
            return False
        status = self._status(theirs)
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
        session, group = self._session, self._groups[pod_group]
        facts = group.facts
        if session.options.max_notice:
            notice, _ = notice_period(group, session.cluster.queues, session.options.default_notice)
            if notice:
                return None
        is_like_others = facts.victim is NO_VICTIM_FACTS and pod_group not in session.groups_with_history
        if not is_like_others:
            return self._ask_guards(pod_group, owner)
        limits = (facts.eviction_count, facts.total_eviction_wait, facts.evictions_without_progress)
        kind = (owner, group.queue, facts.priority, facts.preemptibility, facts.opt_out_actions, limits)
        key = (*kind, facts.requeue, facts.last_eviction, facts.namespace)
        if key not in self._protected:
            self._protected[key] = self._ask_guards(pod_group, owner)
        return self._protected[key]

    def _ask_guards(self, pod_group: int, owner: int) -> int | None:
        session = self._session
        action = action_for(session, owner, pod_group)
        context = self._as_if_started(pod_group)
        latest = 0
        for guard in session.chains.guards:
            name = session.chains.name(guard)
            arguments = next((each.arguments for each in self._profile.plugins if each.name == name), {})
            asked = session.registry.plugins[name](context, arguments)
            verdict = asked.guard(action, owner, pod_group) if hasattr(asked, "guard") else None
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
        return PluginContext(
            cluster,
            session.ledger,
            session.options,
            session.registry.guarded,
            session.eviction_history,
            session.groups_with_history,
            SessionServices(session),
        )

    def _status(self, queue: int) -> QueueStatus:
        version, known = self._session.ledger.queue_versions[queue], self._used.get(queue)
        if known is None or known[0] != version:
            statuses = self._session.chains.queue_status()
            known = self._used[queue] = version, statuses[queue]
        return known[1]


def action_for(session: Session, owner: int, victim: int) -> Action:
    """The action whose protections apply between two pod groups: within a queue, or between queues."""
    groups = session.cluster.pod_groups
    return PREEMPT if groups[owner].queue == groups[victim].queue else RECLAIM

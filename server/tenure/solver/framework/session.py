"""A session: one cycle's cluster, ledger, chains and findings."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenure.solver.framework.chains import Chains
from tenure.solver.framework.core import Cores
from tenure.solver.framework.derived_data import DerivedData
from tenure.solver.framework.guards import Guards
from tenure.solver.framework.ledger import LEDGER, Ledger
from tenure.solver.framework.order import Order
from tenure.solver.framework.pod_group_phases import PHASES, PodGroupPhases
from tenure.solver.framework.statement import Move, Statement
from tenure.solver.framework.stop_signal import StopSignal, never
from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import InFlightGroupStatus, Patch, QueueStatus, Requeue, SearchCounters
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.verdict import GuardVerdict
from tenure.solver.model.workload import Counts, Task, add_shares
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.derived import Derived, Value, WarmStart
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.reasons import ReasonCode, dominance


class Commit:
    """Moves that were kept: one group of the decision."""

    def __init__(
        self,
        action: Action,
        beneficiary: int,
        reason: ReasonCode,
        moves: tuple[Move, ...],
        requeue: Requeue | None,
        in_flight: str,
        guards: Mapping[int, tuple[GuardVerdict, ...]],
    ) -> None:
        """`in_flight`: id of the group in flight whose promises it keeps; `guards`: what the guards said of
        each pod group that loses tasks, when it was decided.
        """
        self.action = action
        self.beneficiary = beneficiary
        self.reason = reason
        self.moves = moves
        self.requeue = requeue
        self.in_flight = in_flight
        self.guards = guards


@dataclass(slots=True)
class Session:
    """Everything one cycle knows. Actions change it through statements only."""

    cluster: Cluster
    registry: Registry
    options: CycleOptions
    ledger: Ledger
    chains: Chains
    guards: Guards
    order: Order
    cores: Cores
    phases: PodGroupPhases
    derived_data: DerivedData
    counters: SearchCounters = field(default_factory=SearchCounters)
    commits: list[Commit] = field(default_factory=list)
    patches: list[tuple[int, Patch]] = field(default_factory=list)
    """Patches with the index of the commit they belong to."""
    standalone_patches: list[tuple[str, Patch]] = field(default_factory=list)
    """Patches that come with no move, with the name of what wrote them."""
    nominations: list[Nomination] = field(default_factory=list)
    """What became of the pod groups that are expected to end, by uid."""
    rejections: dict[int, Rejection] = field(default_factory=dict)
    """The dominant finding about each pod group that got no room."""
    plugins: dict[str, Any] = field(default_factory=dict)
    changed_pod_groups: set[int] = field(default_factory=set)
    """Pod groups whose moves were committed since the pod group lists looked last."""
    allocated_this_cycle: set[int] = field(default_factory=set)
    """Pod groups that were given free room in this cycle, or room that is about to be free."""
    wake_times: list[int] = field(default_factory=list)
    """Times at which a delay or grace period ends and another decision may follow."""
    blocked: dict[int, Rejection] = field(default_factory=dict)
    """Pending tasks that cannot be placed whatever is evicted, and why (semantics R5.90)."""
    eviction_history: dict[tuple[int, int], EvictionRecord] = field(default_factory=dict)
    """What is remembered of evictions, by victim and preemptor, those of this cycle included."""
    groups_with_history: set[int] = field(default_factory=set)
    """Pod groups that have a part in what is remembered, as victims or as preemptors."""
    pending_results: Mapping[int, Sequence[EvictionRecord]] = field(default_factory=dict)
    """Evictions of which it is open what came of them, by preemptor."""
    in_flight: tuple[InFlightGroupStatus, ...] = ()
    """What became of the groups in flight."""
    reserved_tasks: frozenset[int] = frozenset()
    """Tasks to which groups in flight give room: nobody takes it from them in this cycle."""
    stop: StopSignal = field(default_factory=StopSignal)
    """Whether the cycle is to end before it is done; the loops of the search check it."""

    @classmethod
    def open(
        cls,
        cluster: Cluster,
        profile: Profile,
        registry: Registry,
        stop: Callable[[], bool] = never,
        warm_start: WarmStart | None = None,
    ) -> "Session":
        """Construct the plugins in profile order and let them listen to the ledger.

        With a warm start, derived data of earlier sessions is updated instead of built.
        """
        derived_data, chains = DerivedData(profile, warm_start), Chains()
        ledger = Ledger(cluster) if cluster.claims else derived_data.get(LEDGER, cluster)
        guards = Guards(cluster.pod_groups, chains, ledger.placements)
        order = Order(cluster.tasks, chains)
        cores = Cores(cluster.pod_groups, ledger, order, registry.fair_share_names)
        phases = derived_data.get(PHASES, cluster)
        session = cls(
            cluster=cluster,
            registry=registry,
            options=profile.options,
            ledger=ledger,
            chains=chains,
            guards=guards,
            order=order,
            cores=cores,
            phases=phases,
            derived_data=derived_data,
            stop=StopSignal(stop),
        )
        session.eviction_history = {
            (memory.victim, memory.preemptor): memory for memory in cluster.eviction_history
        }
        session.groups_with_history = {group for pair in session.eviction_history for group in pair}
        session.pending_results = _by_preemptor(cluster.eviction_history)
        made = [(one.name, registry.plugins[one.name](session, one.arguments)) for one in profile.plugins]
        session.plugins.update(made)
        chains.fill(made)
        session.ledger.listeners = session.chains.on_move
        session.blocked = session._blocked_tasks()
        return session

    def close(self) -> None:
        """Let go of the plugins, which hold the session, and leave to the next one what it can begin with."""
        self.ledger.listeners = ()
        if self.stop.is_set:
            self.derived_data.drop()  # a search that was stopped may have left anything behind
        is_kept = not self.stop.is_set and self.derived_data.leave(
            self._moves(), len(self.cluster.pod_groups)
        )
        if not is_kept:
            self.ledger.close()
        self.commits.clear()
        self.patches.clear()
        self.rejections.clear()
        self.plugins.clear()
        self.chains.clear()

    def derived(self, spec: Derived["Session", Value]) -> Value:
        """Data that is derived from the session, as it is now."""
        return self.derived_data.get(spec, self)

    @property
    def expire_time(self) -> int:
        """When what is not done of this cycle's groups is to be left."""
        return self.cluster.now + self.options.decision_group_timeout

    def statement(self) -> Statement:
        """A new, empty statement."""
        return Statement(self.ledger)

    def commit(
        self,
        statement: Statement,
        action: Action,
        beneficiary: int,
        reason: ReasonCode,
        requeue: Requeue | None = None,
        in_flight: str = "",
    ) -> None:
        """Keep the statement's moves as one group of the decision."""
        statement.commit()
        tasks, said = self.ledger.tasks, {}
        for task in statement.evicted:
            loser = tasks[task].pod_group
            if loser not in said:
                said[loser] = self.guards.verdicts(action, beneficiary, loser)
        moves = tuple(statement.moves)
        self.commits.append(Commit(action, beneficiary, reason, moves, requeue, in_flight, said))
        if reason in (ReasonCode.ALLOCATED, ReasonCode.PIPELINED):
            self.allocated_this_cycle.add(beneficiary)
        for move in statement.moves:
            self.changed_pod_groups.add(tasks[move.task].pod_group)

    def add_patch(self, patch: Patch) -> None:
        """Write into a field of a pod group, together with the latest commit."""
        self.patches.append((len(self.commits) - 1, patch))

    def add_standalone_patch(self, action: str, patch: Patch) -> None:
        """Write into a field of a pod group, without any move."""
        self.standalone_patches.append((action, patch))

    def reject(self, pod_group: int, rejection: Rejection) -> None:
        """Note why the pod group got no room; of several findings the one that people can act on stays."""
        known = self.rejections.get(pod_group)
        if known is None or dominance(rejection.code) <= dominance(known.code):
            self.rejections[pod_group] = rejection

    def collect_nominations(self, action: Action) -> list[Nomination]:
        """What the nominators say: one entry per pod group, in the order in which they are first named.

        Whoever is put forward by any of them is a candidate, nominated by all who did so, in the order of
        the profile (semantics R12.6, R12.64, R12.65).
        """
        found: dict[int, Nomination] = {}
        for nominate in self.chains.nominate:
            name = self.chains.names[nominate]
            for nomination in nominate(action):
                nomination.nominated_by = (name,)
                earlier = found.get(nomination.pod_group)
                if earlier is None or nomination.is_candidate > earlier.is_candidate:
                    found[nomination.pod_group] = nomination
                elif nomination.is_candidate == earlier.is_candidate:
                    earlier.nominated_by += (name,)
                    earlier.overrun = max(earlier.overrun, nomination.overrun)
        return list(found.values())

    def pod_set_tasks(self, task: Task) -> Sequence[int]:
        """Tasks of its pod set, itself included."""
        pod_sets = self.cluster.pod_groups[task.pod_group].pod_sets
        return next((pod_set.tasks for pod_set in pod_sets if pod_set.index == task.pod_set), ())

    def demand(self, tasks: Collection[int]) -> Share:
        """What tasks ask of their queue before they are placed."""
        return self._sum(tasks, self.ledger.unplaced_shares)

    def least_demand(self, tasks: Collection[int]) -> Share:
        """The same on the largest GPUs, which limits and quotas are held against (semantics R1.18 b)."""
        return self._sum(tasks, self.ledger.least_shares)

    def _sum(self, tasks: Collection[int], shares: Sequence[Share]) -> Share:
        """`shares` are by shape."""
        facts, total = self.cluster.tasks, NO_SHARE
        for task in tasks:
            share = shares[facts[task].shape.index]
            if len(tasks) == 1:
                total = share
                break
            total = add_shares(total, share)
        return add_shares(total, self._claimed(tasks)) if self.cluster.claims else total

    def _claimed(self, tasks: Collection[int]) -> Share:
        """What tasks ask for through device claims that nobody uses yet: once, however many share them."""
        return (0, 0, self.ledger.claims.new_gpu_milli(self.cluster.tasks[task].shape for task in tasks))

    def _blocked_tasks(self) -> dict[int, Rejection]:
        tasks = self.cluster.tasks
        found = [(index, tasks[index].blocked_reason, "") for index in sorted(self.phases.blocked)]
        for method in self.chains.blocked_tasks:
            found.extend((task, why, self.chains.names[method]) for task, why in method())
        blocked: dict[int, Rejection] = {}
        for index, why, source in found:
            task = self.cluster.tasks[index]
            if task.placement.status is TaskStatus.PENDING:
                detail = f"pod {task.name} cannot be placed: {why}"
                blocked.setdefault(index, Rejection(ReasonCode.BLOCKED, detail, source=source))
        return blocked

    def moved_pod_groups(self) -> set[int]:
        """Pod groups of which tasks were moved in this cycle."""
        tasks = self.ledger.tasks
        return {tasks[move.task].pod_group for commit in self.commits for move in commit.moves}

    def _moves(self) -> SlotChange:
        """Pod groups and tasks that are elsewhere than when the cycle began."""
        tasks = {move.task for commit in self.commits for move in commit.moves}
        return SlotChange(frozenset(self.moved_pod_groups()), frozenset(tasks))

    def all_have_trait(self, methods: Iterable[Callable[..., Any]], attribute: str) -> bool:
        """Whether the plugins behind all these methods vouch for it by this attribute of their class."""
        givers = [self.plugins[self.chains.names[method]] for method in methods]
        return all(getattr(giver, attribute, False) for giver in givers)

    def pod_group_key(self, pod_group: int, active: Counts | None = None) -> tuple[int, ...]:
        """Sort key of a pod group within its queue, unique; `active` overrides the ledger's counts."""
        counts = self.ledger.active_allocated if active is None else active
        keys: list[int] = []
        for key in self.chains.pod_group_key:
            keys.append(key(pod_group, counts))
        keys.append(self.cluster.pod_groups[pod_group].rank)
        return tuple(keys)

    def queue_status(self) -> tuple[QueueStatus, ...]:
        """Shares and use of every queue, from the first plugin that keeps them."""
        return tuple(self.chains.queue_status[0]()) if self.chains.queue_status else ()


def _by_preemptor(records: Sequence[EvictionRecord]) -> dict[int, list[EvictionRecord]]:
    found: dict[int, list[EvictionRecord]] = {}
    for memory in records:
        if memory.result_pending:
            found.setdefault(memory.preemptor, []).append(memory)
    return found

"""A session: the state of one cycle, from the cluster to the commits."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from tenure.solver.framework.budgeted_tasks import BUDGETED_TASKS
from tenure.solver.framework.chains import Chains, Wrapper
from tenure.solver.framework.commit import Commit
from tenure.solver.framework.core import Cores, Order
from tenure.solver.framework.derived_data import DerivedData
from tenure.solver.framework.disruptions import Disruptions
from tenure.solver.framework.eviction_result import EvictionResults, pending_by_preemptor
from tenure.solver.framework.guards import Guards
from tenure.solver.framework.in_flight import NoticeState
from tenure.solver.framework.ledger import LEDGER, Ledger
from tenure.solver.framework.pod_group_phases import PHASES, PodGroupPhases
from tenure.solver.framework.statement import Statement
from tenure.solver.framework.stop_signal import CommitLimitReached, StopSignal
from tenure.solver.model.caller_state import EvictionRecord, PlannedStart
from tenure.solver.model.carried import CarriedChange, Row, RowKind
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import InFlightGroupStatus, Patch, Requeue, SearchCounters
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.requeue import Nomination
from tenure.solver.model.resources import Share
from tenure.solver.model.workload import Counts
from tenure.solver.plugin_api.action import Action
from tenure.solver.plugin_api.context import PluginContext, PluginServices
from tenure.solver.plugin_api.derived import Derived, Value, WarmStart
from tenure.solver.plugin_api.profile import CycleOptions, Profile
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.resolution.slot_map import SlotChange
from tenure.terms.cancellation import check_of, never
from tenure.terms.reasons import ReasonCode


@dataclass(slots=True)
class Session:
    """Everything about one cycle. Actions change it through statements only."""

    cluster: Cluster
    profile: Profile
    registry: Registry
    ledger: Ledger
    chains: Chains
    guards: Guards
    order: Order
    cores: Cores
    phases: PodGroupPhases
    derived_data: DerivedData
    eviction_results: EvictionResults
    disruptions: Disruptions
    services: "SessionServices"
    options: CycleOptions
    counters: SearchCounters = field(default_factory=SearchCounters)
    commits: list[Commit] = field(default_factory=list)
    patches: list[tuple[int, Patch]] = field(default_factory=list)
    """Patches with the index of the commit they belong to."""
    standalone_patches: list[tuple[str, Patch]] = field(default_factory=list)
    """Patches without a move, with the name of their source."""
    nominations: list[Nomination] = field(default_factory=list)
    """Results of requeue nomination, by uid."""
    without_expected_runtime: int = 0
    """Number of running pod groups that no nominator evaluated."""
    rejections: dict[int, Rejection] = field(default_factory=dict)
    """The dominant rejection of each pod group that was not placed."""
    commit_count: int = 0
    """Increases with every commit, and when one is undone: what was found before may not hold any more."""
    changed_pod_groups: set[int] = field(default_factory=set)
    """Pod groups with commits since the pod group index was last updated."""
    allocated_this_cycle: set[int] = field(default_factory=set)
    """Pod groups that received capacity in this cycle that was free or is being released."""
    searches: list[Action] = field(default_factory=list)
    """Actions of this cycle that searched for victims of pending pod groups, in their order."""
    wake_times: list[int] = field(default_factory=list)
    """Times at which a delay or grace period ends, so that another cycle may decide differently."""
    blocked: dict[int, Rejection] = field(default_factory=dict)
    """Pending tasks that cannot be placed whatever is evicted, and why (semantics R5.90)."""
    eviction_history: dict[tuple[int, int], EvictionRecord] = field(default_factory=dict)
    """Eviction records by victim and preemptor, including evictions of this cycle."""
    groups_with_history: set[int] = field(default_factory=set)
    """Victims and preemptors of all records."""
    pending_results: Mapping[int, Sequence[EvictionRecord]] = field(default_factory=dict)
    """Records without a result, by preemptor."""
    in_flight: tuple[InFlightGroupStatus, ...] = ()
    notices: NoticeState = field(default_factory=NoticeState)
    reserved_tasks: frozenset[int] = frozenset()  # by in-flight groups; this cycle does not evict them
    carried: list[CarriedChange] = field(default_factory=list)
    """What the caller is to store."""
    planned_starts: tuple[PlannedStart, ...] | None = None
    """After the cycle; None: none are planned."""
    reserved_idle: int = 0
    """What nothing uses of reserved capacity, in thousandths of a GPU."""
    commit_limit: int = -1
    """Number of commits after which the cycle ends before the next one; -1: none."""
    stop: StopSignal = field(default_factory=StopSignal)  # the loops of the search check it

    @classmethod
    def open(
        cls,
        cluster: Cluster,
        profile: Profile,
        registry: Registry,
        stop: Callable[[], bool] = never,
        warm_start: WarmStart | None = None,
        wrap: Wrapper | None = None,
    ) -> "Session":
        """Construct the plugins in profile order, and register them as listeners of the ledger.

        `wrap` is that of `Chains`. With a warm start, derived data of earlier sessions is updated instead of
        built. If `stop` has a method `check`, it is called between the steps; what it raises passes through.
        """
        check = check_of(stop)
        check()
        derived_data, signal = DerivedData(profile, warm_start), StopSignal(stop)
        ledger = Ledger(cluster) if cluster.claims else derived_data.get(LEDGER, cluster)
        check()
        phases, budgeted = derived_data.get(PHASES, ledger), derived_data.get(BUDGETED_TASKS, cluster)
        history = {(each.victim, each.preemptor): each for each in cluster.eviction_history}
        with_history = {group for pair in history for group in pair}
        services = SessionServices(ledger, derived_data, signal)
        context = PluginContext(
            cluster, ledger, profile.options, registry.guarded, history, with_history, services
        )
        plugins: list[tuple[str, object]] = []
        for one in profile.plugins:
            check()
            plugins.append((one.name, registry.plugins[one.name](context, one.arguments)))
        chains = Chains(plugins, wrap)
        check()
        order = Order(cluster.tasks, chains)
        commits, counters = list[Commit](), SearchCounters()
        session = cls(
            cluster=cluster,
            profile=profile,
            registry=registry,
            ledger=ledger,
            chains=chains,
            guards=Guards(cluster.pod_groups, chains, ledger.placements),
            order=order,
            cores=Cores(cluster.pod_groups, ledger, order, registry.guarded.fair_share_names),
            phases=phases,
            derived_data=derived_data,
            eviction_results=EvictionResults(cluster),
            disruptions=Disruptions(cluster, budgeted, ledger, profile.options, commits, counters),
            services=services,
            options=profile.options,
            counters=counters,
            commits=commits,
            eviction_history=history,
            groups_with_history=with_history,
            pending_results=pending_by_preemptor(cluster.eviction_history),
            stop=signal,
        )
        services.session = session
        session.ledger.listeners = (*chains.move_listeners, *session.disruptions.listeners)
        session.blocked = session._blocked_tasks()
        return session

    def plugin_context(self, cluster: Cluster | None = None) -> PluginContext:
        """What plugins receive; with a cluster, as if it were the one that is decided on."""
        return PluginContext(
            cluster or self.cluster,
            self.ledger,
            self.options,
            self.registry.guarded,
            self.eviction_history,
            self.groups_with_history,
            self.services,
        )

    def close(self) -> None:
        """Release the session, which plugins refer to, and leave derived data for the next one."""
        self.ledger.listeners = ()
        if self.stop.is_set:
            self.derived_data.drop()  # a stopped search may leave it in any state
        if self.stop.is_set or not self.derived_data.leave(self._moves(), len(self.cluster.pod_groups)):
            self.ledger.close()
        self.commits.clear()
        self.patches.clear()
        self.rejections.clear()
        self.services.session = None

    def carry(self, kind: RowKind[Row], rows: Iterable[Row]) -> None:
        """Let the caller store these rows in place of those with the same keys."""
        if changed := tuple(rows):
            self.carried.append(CarriedChange(kind, changed))

    def carry_all(self, kind: RowKind[Row], rows: Iterable[Row]) -> None:
        """Let the caller store these rows, and delete all others of the kind."""
        before, after = kind.by_key(self.cluster.carried.rows(kind)), kind.by_key(rows)
        changed = tuple([row for key, row in after.items() if before.get(key) != row])
        deleted = tuple(sorted(before.keys() - after.keys(), reverse=True))
        if changed or deleted:
            self.carried.append(CarriedChange(kind, changed, deleted))

    def derived(self, spec: Derived["Session", Value]) -> Value:
        """Data that is derived from the session, as it is now."""
        return self.derived_data.get(spec, self)

    @property
    def expire_time(self) -> int:
        """Time from which decisions of this cycle must not be applied."""
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
        requeues: tuple[Requeue, ...] = (),
        in_flight: str = "",
    ) -> None:
        """Keep the moves of the statement as one decision group.

        Raises CommitLimitReached if the cycle is to end before this commit: then the moves are undone.
        """
        if len(self.commits) == self.commit_limit:
            statement.rollback(0)
            raise CommitLimitReached
        statement.commit()
        tasks, moves = self.ledger.tasks, tuple(statement.moves)
        losers = {tasks[task].pod_group: None for task in statement.evicted}
        verdicts = {loser: self.guards.verdicts(action, beneficiary, loser) for loser in losers}
        self.commit_count += 1
        overridden = self.disruptions.end_commit()
        self.commits.append(
            Commit(action, beneficiary, reason, moves, requeues, in_flight, verdicts, overridden)
        )
        if reason in (ReasonCode.ALLOCATED, ReasonCode.PIPELINED):
            self.allocated_this_cycle.add(beneficiary)
        for move in moves:
            self.changed_pod_groups.add(tasks[move.task].pod_group)

    def add_patch(self, patch: Patch) -> None:
        """Add a patch of a pod group to the latest commit."""
        self.patches.append((len(self.commits) - 1, patch))

    def add_standalone_patch(self, action: str, patch: Patch) -> None:
        """Add a patch of a pod group without a move."""
        self.standalone_patches.append((action, patch))

    def reject(self, pod_group: int, rejection: Rejection) -> None:
        """Note why the pod group was not placed; of several rejections the dominant one is kept."""
        known = self.rejections.get(pod_group)
        if known is None or rejection.dominates(known):
            self.rejections[pod_group] = rejection

    def settled(self, record: EvictionRecord) -> EvictionRecord:
        """The record with the result of its eviction, as far as it is known."""
        return self.eviction_results.settle(self.reserved_tasks, self.allocated_this_cycle, record)

    def _blocked_tasks(self) -> dict[int, Rejection]:
        tasks = self.cluster.tasks
        found = [(index, tasks[index].facts.blocked_reason, "") for index in sorted(self.phases.blocked)]
        found.extend(self.chains.blocked_tasks())
        blocked: dict[int, Rejection] = {}
        for index, why, source in found:
            task = self.cluster.tasks[index]
            if task.placement.status is TaskStatus.PENDING:
                detail = f"pod {task.facts.name} cannot be placed: {why}"
                rejection = Rejection(ReasonCode.BLOCKED, detail, source=source, for_owner=not source)
                blocked.setdefault(index, rejection)
        return blocked

    def moved_pod_groups(self) -> set[int]:
        """Pod groups with committed moves."""
        tasks = self.ledger.tasks
        return {tasks[move.task].pod_group for commit in self.commits for move in commit.moves}

    def _moves(self) -> SlotChange:
        """Pod groups and tasks with committed moves, and pod groups whose moves were just undone."""
        tasks = {move.task for commit in self.commits for move in commit.moves}
        return SlotChange(frozenset(self.moved_pod_groups() | self.changed_pod_groups), frozenset(tasks))

    def pod_group_key(self, pod_group: int, active: Counts | None = None) -> tuple[int, ...]:
        """Unique sort key of a pod group in its queue; `active` replaces the counts of the ledger."""
        counts = self.ledger.active_allocated if active is None else active
        return self.chains.pod_group_key(pod_group, counts, self.cluster.pod_groups[pod_group].rank)


@final
class SessionServices(PluginServices):
    """What plugins receive from a session. The one way from them to the session, which ends with it.

    While plugins are constructed there is no session yet: only derived data and requests are available.
    """

    def __init__(self, ledger: Ledger, derived_data: DerivedData, stop: StopSignal) -> None:
        self._ledger, self._derived_data, self._stop = ledger, derived_data, stop
        self.is_continued = derived_data.is_kept
        self.session: Session | None = None
        """None before it is open, and once it is closed."""

    @property
    def open_session(self) -> Session:
        """The session, while it is open."""
        assert self.session is not None
        return self.session

    def settled(self, record: EvictionRecord) -> EvictionRecord:
        """The record with its result."""
        return self.open_session.settled(record)

    def demand(self, tasks: Collection[int]) -> Share:
        """Requests of tasks."""
        return self._ledger.demand(tasks)

    def core(self, pod_group: int) -> frozenset[int]:
        """Core of a pod group."""
        return self.open_session.cores.current(pod_group)

    def core_shift(self, pod_group: int, tasks: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Change of a core."""
        return self.open_session.cores.shift(pod_group, tasks)

    def derived(self, spec: Derived[PluginContext, Value], context: PluginContext) -> Value:
        """The value as it is now."""
        return self._derived_data.get(spec, context)

    def check_stop(self) -> None:
        """End the cycle when it must end."""
        self._stop.check()

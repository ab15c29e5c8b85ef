"""Who or what has the capacity that a waiting pod group could use (semantics R13.40-R13.45).

After all actions, every pod group that no bound and no time keeps waiting is checked, in this order; for the
first reason, also who waits for a protection:

    NO_CAPACITY        it fits beside those before it on what pods of this cycle's evictions release
    RESERVED           it fits if reservations are lifted
    QUEUE_ORDER        it would have fitted at the beginning of the cycle; capacity went to others first
    TOPOLOGY           it fits without its topology constraints
    FRAGMENTED         enough GPUs are free, but on too many nodes
    OVER_FAIR_SHARE    fair shares are the one obstacle, and its queue would exceed its own
    WITHIN_FAIR_SHARE  fair shares are the one obstacle, and the other queues are within theirs
    NO_CAPACITY        else, with what is missing even if everything were evicted that may be

A check places the pod group on a changed state and undoes everything, so no decision depends on it. Pod
groups of a queue with equal priority and pods share the result; the number of checks is limited.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.odd_gpu import OddGpus
from tenure.solver.actions.reclaim import RECLAIM
from tenure.solver.diagnosis.eviction_obstacle import EvictionObstacle, EvictionObstacles, FoundObstacle
from tenure.solver.diagnosis.free_gpus import FreeSum, FreeSums
from tenure.solver.diagnosis.kept_capacity import explain_kept, kept_key
from tenure.solver.diagnosis.misplaced import find_relation, has_topology
from tenure.solver.diagnosis.other_pod_groups import Newcomers, name_pod_groups
from tenure.solver.diagnosis.reason_probes import UNCHECKED, UNCHECKED_SHARE
from tenure.solver.diagnosis.released_capacity import RELEASED, SEARCHED, find_released
from tenure.solver.framework.session import Session
from tenure.solver.framework.statement import Move
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.caller_state import PLANNED_STARTS
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import GPU
from tenure.solver.model.workload import PodGroup
from tenure.solver.search.placer import Placer
from tenure.solver.search.search import WITHIN_FAIR_SHARE
from tenure.terms.formatting import count_gpus, format_gpus
from tenure.terms.reasons import ReasonCode

MAX_CHECKS: Final = 64
"""Kinds of pod groups that are placed on changed states; for the others, free capacity is reported."""
LOSING: Final = Rejection(
    ReasonCode.NO_CAPACITY,
    "pods of it are evicted in this cycle, and the rest is too few to start",
    source="search",
)
_ONCE_GONE: Final = "it fits once terminating pods are gone, but another pod group may come first"
MAX_MOVES: Final = 2_000
"""Placements of a cycle that are undone to look at its beginning; after more, the order is not checked."""


def check_capacity(context: CycleContext, waiting: Sequence[int], queues: Sequence[QueueStatus]) -> None:
    """Replace what searches said of pod groups without capacity. A stop leaves the rest as it is.

    `queues` has the fair share and the usage of every queue after the cycle.
    """
    session = context.session
    placed = {commit.beneficiary for commit in session.commits}
    released = find_released(context, waiting, placed)
    if released:
        newcomers = Newcomers(context)
        session.rejections.update({each: newcomers.add_to(RELEASED, each) for each in released})
    session.rejections.update(dict.fromkeys(_losing(session, waiting), LOSING))
    found: list[tuple[int, _Kind]] = []
    checks: _CapacityChecks | None = None
    for pod_group in waiting:
        rejection = session.rejections.get(pod_group)
        is_open = rejection is not None and rejection.code in SEARCHED and pod_group not in placed
        if rejection is None or not is_open or session.stop.is_set:
            continue
        checks = checks or _CapacityChecks(context, queues, released)
        if tasks := context.gangs.tasks_to_allocate(pod_group):
            found.append((pod_group, checks.kind_of(pod_group, tasks, rejection)))
    if checks is not None:
        with suppress(CycleStopped):
            checks.run()
    session.rejections.update({each: kind.reason for each, kind in found if kind.reason is not None})


def _losing(session: Session, waiting: Sequence[int]) -> Iterator[int]:
    """Pod groups that have too few pods to schedule because this cycle evicts some of them."""
    cluster = session.cluster
    for pod_group in waiting:
        rejection = session.rejections.get(pod_group)
        if rejection is None or rejection.code is not ReasonCode.NOT_READY:
            continue
        alive, is_losing = Counter[int](), False
        for task in cluster.pod_groups[pod_group].tasks:
            before, pod_set = cluster.tasks[task].placement, cluster.tasks[task].pod_set
            leaves = session.ledger.placements[task].status is TaskStatus.RELEASING
            is_losing |= leaves and before.status.is_allocated
            if pod_set is not None and (before.is_active_allocated or before.status is TaskStatus.PENDING):
                alive[pod_set] += 1
        if is_losing and cluster.pod_groups[pod_group].root.is_met(alive):
            yield pod_group


@final
class _CapacityChecks:
    """The checks of one cycle."""

    def __init__(self, context: CycleContext, status: Sequence[QueueStatus], released: Sequence[int]) -> None:
        """`released` are pod groups that take what evictions release beyond their purpose."""
        self._released = released
        self._context, self._reclaims = context, RECLAIM.name in context.session.profile.actions
        self._session, self._cluster = context.session, context.session.cluster
        self._has_planned = bool(self._cluster.carried.rows(PLANNED_STARTS) or self._session.planned_starts)
        self._is_varied = bool(self._cluster.topologies) or self._has_planned
        self._nodes = context.components.node_order.all_nodes
        self._kinds: dict[Hashable, _Kind] = {}
        self._recent: list[_Kind | None] = [None] * (len(self._cluster.queues) + 1)
        """The last kind by queue: the next pod group is often of the same, and a key is slow."""
        self._free = FreeSums(self._session, context.components.allowed_nodes)
        self._odd_gpus = OddGpus(self._session, status)
        self._evictions = EvictionObstacles(context, status)
        self._using = {each.queue for each in status if each.allocated_after[GPU]}
        """Queues with GPUs."""
        self._over = {each.queue for each in status if each.allocated_after[GPU] > each.fair_share[GPU] >= 0}
        """Queues with more GPUs than their fair share."""
        start = len([commit for commit in self._session.commits if commit.in_flight])
        later = self._session.commits[start:]
        self._moves = [move for commit in later for move in commit.all_moves()]
        """Of this cycle, without fulfilled reservations."""
        first = [commit.beneficiary for commit in later if not commit.action.is_guarded]
        self._first = list(dict.fromkeys(first))
        """Pod groups that took free capacity."""
        self._held = [move for commit in self._session.commits[:start] for move in commit.moves]

    def kind_of(self, pod_group: int, tasks: list[int], rejection: Rejection) -> "_Kind":
        """The kind of a pod group that was rejected."""
        group, facts = self._cluster.pod_groups[pod_group], self._cluster.tasks
        shapes = [facts[task].shape.index for task in tasks]
        place, guards = -1 if group.queue is None else group.queue, self._guards_of(pod_group)
        recent = self._recent[place]
        if recent is None or self._is_varied or not recent.has(group, rejection, shapes, guards):
            key = self._class_of(group, rejection, shapes), guards
            recent = self._kinds.get(key)
            if recent is None:
                recent = self._kinds[key] = _Kind(group, tasks, rejection, shapes, guards)
            self._recent[place] = recent
        return recent

    def run(self) -> None:
        """Give every kind its reason. Earlier states are restored once, for all kinds together."""
        first = list(self._kinds.values())[:MAX_CHECKS]
        if held := self._reservations():
            with self._undone(held):
                for kind in [each for each in first if self._fits(each.group.index, each.tasks)]:
                    kind.reason = self._reserved(kind.group.index, held)
        explain_kept(self._context, first, self._fits)
        if self._first and len(self._moves) <= MAX_MOVES:
            with self._undone(self._moves):
                for kind in first:
                    if kind.reason is None and self._fits(kind.group.index, kind.tasks):
                        kind.reason = self._order(kind.group.index, kind.tasks)
                explain_kept(self._context, first, self._fits)
        self._check_terminating([kind for kind in first if kind.reason is None])
        for place, kind in enumerate(self._kinds.values()):
            if kind.reason is None and place < MAX_CHECKS:
                kind.reason = self._topology(kind.group.index, kind.tasks)
            if kind.reason is None:
                kind.reason = self._free_capacity(kind.group.index, kind.tasks, kind.rejection)
            if self._released and kind.reason.code is ReasonCode.NO_CAPACITY and place < MAX_CHECKS:
                kind.reason = self._released_first(kind.group.index, kind.tasks) or kind.reason

    def _check_terminating(self, kinds: Sequence["_Kind"]) -> None:
        """Give those their reason that only terminating pods keep from where they may run."""
        leaving = self._terminating() if kinds else []
        if not 0 < len(leaving) <= MAX_MOVES:
            return
        related = [(kind, find_relation(self._context, kind.tasks)) for kind in kinds]
        with self._undone(leaving):
            for kind, relation in related:
                if relation and self._fits(kind.group.index, kind.tasks):
                    detail = f"{relation}; {_ONCE_GONE}"
                    kind.reason = Rejection(ReasonCode.NO_CAPACITY, detail, source="release")

    def _terminating(self) -> list[Move]:
        """What has to be undone so that terminating pods are gone, and run that wait for them."""
        gone, found, waiting = Placement(TaskStatus.SUCCEEDED), list[Move](), list[Move]()
        for task, placement in enumerate(self._session.ledger.placements):
            if placement.status is TaskStatus.RELEASING:
                found.append(Move(task, gone, placement))
            elif placement.status is TaskStatus.PIPELINED:
                runs = Placement(
                    TaskStatus.BINDING, placement.node, placement.gpu_groups, None, placement.zones
                )
                waiting.append(Move(task, runs, placement))
        return [*waiting, *found] if found else []

    def _released_first(self, pod_group: int, tasks: list[int]) -> Rejection | None:
        """The reason of what would fit on what evictions release, if others did not come first."""
        if self._context.placer.capacity(pod_group, tasks) is not None or not self._fits(pod_group, tasks):
            return None
        who = name_pod_groups(self._session, pod_group, self._released)
        return RELEASED._replace(detail=f"{RELEASED.detail}, but it goes first to {who}")

    def _free_capacity(self, pod_group: int, tasks: list[int], rejection: Rejection) -> Rejection:
        """The reason by what is free on the nodes, and by what stops evictions."""
        gpus = self._free.of(pod_group, tasks)
        if gpus is not None and gpus.free >= self._demand(tasks) and gpus.fitting < len(tasks):
            return _fragmented(gpus, self._per_pod(tasks))
        found = self._evictions.find(pod_group, tasks)
        unchecked = _unchecked(rejection)
        if found.by_share is not None and UNCHECKED not in unchecked:
            return self._odd_gpus.add_to(found.by_share, pod_group, tasks)
        if rejection.code is ReasonCode.OVER_FAIR_SHARE:
            return self._odd_gpus.add_to(rejection, pod_group, tasks)
        if found.kind is EvictionObstacle.UNTRIED:
            if not unchecked and self._are_others_within_share(pod_group, gpus, tasks):
                return self._odd_gpus.add_to(WITHIN_FAIR_SHARE, pod_group, tasks)
        else:
            unchecked = [text for text in unchecked if text != UNCHECKED_SHARE]
        is_small = gpus is not None and gpus.fitting < len(tasks)
        relation = "" if is_small else find_relation(self._context, tasks)
        return self._no_capacity(tasks, gpus, unchecked, relation, found)

    def _fits(self, pod_group: int, tasks: list[int], placer: Placer | None = None) -> bool:
        """Whether the next tasks fit on free and terminating capacity; leaves no trace."""
        with self._session.statement() as trial:
            placer = placer or self._context.placer
            return placer.place(trial, pod_group, tasks, self._nodes) is None

    @contextmanager
    def _undone(self, moves: Sequence[Move]) -> Iterator[None]:
        """Undo committed moves for the block."""
        ledger, undone = self._session.ledger, list[Move]()
        try:
            for move in reversed(moves):
                ledger.apply(move.task, move.after, move.before)
                undone.append(move)
            yield
        finally:
            for move in reversed(undone):
                ledger.apply(move.task, move.before, move.after)

    def _reservations(self) -> list[Move]:
        """Reservations of in-flight groups that this cycle did not change."""
        placements = self._session.ledger.placements
        return [
            move
            for move in self._held
            if move.after.status is TaskStatus.PIPELINED and placements[move.task] is move.after
        ]

    def _reserved(self, pod_group: int, held: Sequence[Move]) -> Rejection:
        holders = {self._cluster.tasks[move.task].pod_group for move in held}
        groups = {status.group for status in self._session.in_flight if status.reservations}
        until = min((self._cluster.in_flight[group].expire_time for group in groups), default=None)
        who = name_pod_groups(self._session, pod_group, sorted(holders))
        detail = f"it would fit, but capacity is reserved for {who}"
        return Rejection(ReasonCode.RESERVED, detail, until, "search")

    def _order(self, pod_group: int, tasks: list[int]) -> Rejection:
        groups, first = self._cluster.pod_groups, self._first
        if self._per_pod(tasks):
            first = [each for each in first if any(self._per_pod([task]) for task in groups[each].tasks)]
        who = name_pod_groups(self._session, pod_group, first or self._first)
        detail = f"it would have fitted, but free capacity went first to {who}"
        return Rejection(ReasonCode.QUEUE_ORDER, detail, source="search")

    def _topology(self, pod_group: int, tasks: list[int]) -> Rejection | None:
        if not has_topology(self._cluster.pod_groups[pod_group].root):
            return None
        with self._session.statement() as trial:
            is_free = self._context.placer.place_anywhere(trial, tasks, self._nodes)
        if not is_free or self._context.placer.capacity(pod_group, tasks) is not None:
            return None
        detail = "it would fit on the free nodes, but not within its topology constraint"
        return Rejection(ReasonCode.TOPOLOGY, detail, source="search")

    def _are_others_within_share(self, pod_group: int, gpus: FreeSum | None, tasks: list[int]) -> bool:
        """Whether other queues have the GPUs, and none exceeds its fair share: reclaim finds no victim."""
        if not self._reclaims or gpus is None or gpus.total < self._demand(tasks):
            return False
        own = self._cluster.pod_groups[pod_group].queue
        path = () if own is None else self._cluster.queues[own].path
        return self._over.issubset(path) and not self._using.issubset(path)

    def _no_capacity(
        self,
        tasks: list[int],
        gpus: FreeSum | None,
        unchecked: list[str],
        relation: str,
        found: FoundObstacle,
    ) -> Rejection:
        is_small = gpus is not None and gpus.fitting < len(tasks)
        if relation:
            detail = relation
        elif is_small and gpus is not None:
            free = f"{format_gpus(gpus.free)} of {format_gpus(gpus.total)}"
            detail = f"it needs {count_gpus(self._demand(tasks))}; {free} on nodes that it may use are free"
        elif found.kind is EvictionObstacle.AMOUNTS and found.detail:
            which = "that it may use" if gpus is None else "with enough free GPUs"
            detail = f"the nodes {which} have too little free {found.detail}"
        elif gpus is None:
            detail = "no node that it may use has enough free resources"
        else:
            detail = "the nodes with enough free GPUs do not meet its other requirements"
        if self._session.searches:
            detail += _by_evictions(found, relation)
        chains = self._session.chains
        source = chains.name(chains.placement_filters[0]) if relation else "search"
        is_of_others = found.kind is EvictionObstacle.SEARCH and bool(found.detail)  # it names a queue
        is_own = not relation and not found.is_relation and not is_of_others
        return Rejection(
            ReasonCode.NO_CAPACITY, "; ".join([detail, *unchecked]), source=source, for_owner=is_own
        )

    def _per_pod(self, tasks: list[int]) -> int:
        return self._session.ledger.request_share(self._cluster.tasks[tasks[0]].shape)[GPU]

    def _demand(self, tasks: list[int]) -> int:
        return len(tasks) * self._per_pod(tasks)

    def _guards_of(self, pod_group: int) -> int:
        """Equal for pod groups that meet the same protections of victims; negative: for none beside it."""
        if not self._session.searches:
            return 0
        key = self._session.guards.cache_key(pod_group)
        return ~pod_group if key is None else key

    def _class_of(self, group: PodGroup, rejection: Rejection, shapes: list[int]) -> Hashable:
        single = group.index if self._cluster.topologies and has_topology(group.root) else -1
        is_over = rejection.code is ReasonCode.OVER_FAIR_SHARE
        why = rejection.detail if is_over else "; ".join(_unchecked(rejection))
        kept = kept_key(self._session, group) if self._has_planned else None
        return group.queue, group.facts.priority, group.is_preemptible, is_over, why, *shapes, single, kept


@final
class _Kind:
    """Pod groups that wait for the same reason, by the first of them."""

    def __init__(
        self, group: PodGroup, tasks: list[int], rejection: Rejection, shapes: list[int], guards: int
    ) -> None:
        self.group = group
        self.tasks = tasks
        self.rejection = rejection
        self._shapes = shapes
        self._guards = guards
        self.reason: Rejection | None = None

    def has(self, group: PodGroup, rejection: Rejection, shapes: list[int], guards: int) -> bool:
        """Whether another pod group of the queue is of this kind."""
        own_group, detail = self.group, self.rejection.detail
        is_equal = (
            own_group.facts.priority == group.facts.priority
            and own_group.is_preemptible == group.is_preemptible
        )
        return is_equal and self._guards == guards and detail == rejection.detail and self._shapes == shapes


def _by_evictions(found: FoundObstacle, relation: str) -> str:
    """Why evictions do not help, as the end of a detail."""
    if found.is_kept_by_share:
        return ", and what permitted evictions would free is not enough, because of fair shares"
    match found.kind:
        case EvictionObstacle.FRAGMENTS:
            return ", and what permitted evictions would free is on too many nodes"
        case EvictionObstacle.BOUNDS:
            return f", and with all permitted evictions {found.detail}"
        case EvictionObstacle.PLACES if relation:
            return ", and permitted evictions do not change that"
        case EvictionObstacle.PLACES:
            return f", and with all permitted evictions {found.detail or 'its pods find no places'}"
        case EvictionObstacle.SEARCH if found.detail:
            return f", and so many evictions are not permitted: {found.detail}"
        case EvictionObstacle.SEARCH:
            return ", and the search found no evictions that it may make"
        case EvictionObstacle.AMOUNTS if found.detail:
            return f", and no permitted evictions would free enough {found.detail}"
    return ", and no permitted evictions would free enough"


def _unchecked(rejection: Rejection) -> list[str]:
    """What was not checked, of what a rejection says."""
    return [text for text in (UNCHECKED, UNCHECKED_SHARE) if rejection.detail.endswith(text)]


def _fragmented(gpus: FreeSum, per_pod: int) -> Rejection:
    free, largest = count_gpus(gpus.free), format_gpus(gpus.largest)
    detail = (
        f"{free} are free on nodes that it may use, at most {largest} on one node; "
        f"each of its pods needs {format_gpus(per_pod)}"
    )
    return Rejection(ReasonCode.FRAGMENTED, detail, source="search")

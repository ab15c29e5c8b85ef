"""What stops evictions for a waiting pod group: amounts, fair shares, or where its pods may run (R13.50).

What the evicting actions may take, or what fair shares alone keep, is evicted at once in a trial that is
undone. What does not fit then never fits by evictions; what fits then is not short of capacity, so a rule is
in the way. Where fair shares keep pods of other queues, as many leave as are needed to say so. The numbers of
looks and of evicted pods are limited.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum
from typing import Final, NamedTuple, final

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.actions.eviction_action import EvictionAction
from tenure.solver.diagnosis.misplaced import explain_misplaced
from tenure.solver.framework.statement import Statement
from tenure.solver.model.queue import QueueStatus
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import CPU, GPU, MEMORY, NO_SHARE, MutableVector, Share
from tenure.solver.model.workload import add_shares
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.action import Action, Relation
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.fits import NO_BOUND, count_fits
from tenure.solver.search.node_order import bits
from tenure.solver.search.pod_group_lists import reverse
from tenure.solver.search.search import WITHIN_FAIR_SHARE
from tenure.solver.search.victim_batches import one_victim, victim_batches
from tenure.solver.search.victim_entries import RemainingTasks
from tenure.terms.formatting import format_amount, format_gpus
from tenure.terms.reasons import ReasonCode

MAX_EVICTED: Final = 1_000
"""Pods that one trial evicts; with more, the obstacle is not known."""
FIRST_EVICTED: Final = 8
"""Pods that leave before it is first checked whether this is enough; then twice as many."""
MAX_LOOKS: Final = 4_000
"""Pod groups that the trials of a cycle look at and pods that they evict; after more, nothing is tried."""
MAX_DROPPED: Final = 32
"""For at most so many pods, a trial for each shows whether it could stay."""
EXPLAINED: Final = 10
"""Times these numbers, where a single pod group is explained."""
_SHARES: Final = (ReasonCode.OVER_FAIR_SHARE, ReasonCode.WITHIN_FAIR_SHARE)


class EvictionObstacle(IntEnum):
    """Why evictions do not let a pod group start; numbers as on the wire."""

    UNTRIED = 0
    AMOUNTS = 1
    """Even without everything that may be evicted, no capacity for it is left."""
    FRAGMENTS = 2
    """Then enough GPUs would be free, but on too many nodes."""
    FAIR_SHARES = 3
    """Fair shares keep what it needs."""
    PLACES = 4
    """There would be enough, but not where its pods may run beside other pods, or in its topology."""
    SEARCH = 5
    """Nothing of this: the search found no set of evictions that it may make. The detail says so if fair
    shares permit each of them, but not enough of them together.
    """
    BOUNDS = 6
    """A limit or quota of its queues would be exceeded then as well."""


class FoundObstacle(NamedTuple):
    """What a trial found."""

    kind: EvictionObstacle
    detail: str = ""
    """What is missing in the trial: a resource, or a relation; which bound is exceeded."""
    is_relation: bool = False
    """Whether it is a relation that is missing, which a plugin describes."""
    by_share: Rejection | None = None
    """How fair shares keep the pod group waiting, if they do."""
    is_kept_by_share: bool = False
    """Whether it would fit if fair shares did not keep pods that an action may take otherwise."""


@final
class _Takable:
    """Tasks that one action may take for a pod group, and those that only fair shares keep."""

    def __init__(self) -> None:
        self.permitted = list[int]()
        self.kept = list[int]()

    def tasks(self) -> list[int]:
        """All of them."""
        return [*self.permitted, *self.kept]


UNTRIED: Final = FoundObstacle(EvictionObstacle.UNTRIED)


@final
class EvictionObstacles:
    """The obstacles of one cycle, after its decisions."""

    def __init__(self, context: CycleContext, status: Sequence[QueueStatus], effort: int = 1) -> None:
        """`status` has the fair share and the usage of every queue after the cycle; `effort` multiplies the
        limits.
        """
        self._context, self._session, self._status = context, context.session, status
        self._most = effort * MAX_EVICTED
        self._groups = context.session.cluster.pod_groups
        self._left = effort * MAX_LOOKS
        self._numbers: dict[tuple[str, int | None], int] = {}
        self._by_node: dict[tuple[str, int | None], list[int]] = {}
        """Candidates by action and queue of the preemptor."""
        self._over = [
            {each.queue for each in status if each.allocated_after[r] > each.fair_share[r] >= 0}
            for r in range(len(NO_SHARE))
        ]
        """Queues above their fair share, by resource."""
        self._actions = [
            EvictionAction(context, action)
            for action in self._session.searches
            if action.victims_from in (Relation.SAME_QUEUE, Relation.OTHER_QUEUES)
            and not action.relocates_all
        ]

    def find(self, pod_group: int, tasks: list[int], action: Action | None = None) -> FoundObstacle:
        """The obstacle of its next tasks, by one action or by all of them; leaves no trace."""
        with self._uncounted():
            return self._find(pod_group, tasks, action)

    def find_beside(self, pod_group: int, tasks: list[int], leaving: Sequence[int]) -> FoundObstacle:
        """The obstacle if exactly these tasks leave, which a search found not to be enough; no trace."""
        with self._uncounted(), self._session.statement() as trial:
            self._evict(trial, leaving)
            if self._fits(pod_group, tasks):
                return FoundObstacle(EvictionObstacle.SEARCH)
            return self._missing(pod_group, tasks)

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        """A trial is no work of the search."""
        counters, before = self._session.counters, replace(self._session.counters)
        try:
            yield
        finally:
            counters.placement_attempts = before.placement_attempts
            counters.victims_considered = before.victims_considered

    def _find(self, pod_group: int, tasks: list[int], action: Action | None) -> FoundObstacle:
        searches = [each for each in self._actions if action is None or each.action is action]
        by_share = self._share_rejection(pod_group, tasks)
        whole = [each for each in searches if by_share is None or not _is_of_others(each)]
        if sum([self._candidates(each, pod_group) for each in whole]) > min(self._left, self._most):
            return UNTRIED
        takable = list[_Takable]()
        for search in searches:
            found = _Takable()
            takable.append(found)
            if search in whole:
                for _ in self._look(search, pod_group, tasks, self._victims(search, pod_group), found):
                    pass
            elif self._is_kept_by_share(search, pod_group, tasks, found):
                return FoundObstacle(EvictionObstacle.FAIR_SHARES, by_share=by_share)
        if self._left < 0 or sum([len(each.tasks()) for each in takable]) > self._most:
            return UNTRIED
        missing = self._missing_beside_all(pod_group, tasks, takable)
        if missing is not None and missing.kind not in (EvictionObstacle.PLACES, EvictionObstacle.BOUNDS):
            return missing
        is_kept = False
        for search, each in zip(searches, takable, strict=True):
            if each.permitted and self._fits_beside(pod_group, tasks, each.permitted):
                shares = self._shares_of_enough(search, pod_group, tasks, each.permitted)
                return FoundObstacle(EvictionObstacle.SEARCH, shares)
            is_kept = is_kept or (bool(each.kept) and self._fits_beside(pod_group, tasks, each.tasks()))
        if missing is not None and not is_kept:
            return missing
        # No action alone frees enough, or other queues exceed their shares, but not by enough.
        return FoundObstacle(EvictionObstacle.AMOUNTS, is_kept_by_share=is_kept)

    def _is_kept_by_share(
        self, search: EvictionAction, pod_group: int, tasks: list[int], found: _Takable
    ) -> bool:
        """Whether it fits once some of those leave that shares keep; they are taken node by node."""
        ordered, least = self._victims_by_node(search, pod_group), FIRST_EVICTED
        for number in self._look(search, pod_group, tasks, ordered, found):
            if number >= least:
                if self._fits_beside(pod_group, tasks, found.tasks()):
                    return True
                least = 2 * number
        return bool(found.tasks()) and self._fits_beside(pod_group, tasks, found.tasks())

    def _shares_of_enough(
        self, search: EvictionAction, pod_group: int, tasks: list[int], permitted: Sequence[int]
    ) -> str:
        """Why fair shares keep so many of these tasks together that it does not fit, though each may be taken
        alone; "": they do not, or that is not known.
        """
        if not _is_of_others(search):
            return ""
        by_group: dict[int, list[int]] = {}
        for task in self._needed_of(pod_group, tasks, permitted):
            by_group.setdefault(self._session.cluster.tasks[task].pod_group, []).append(task)
        batches = tuple([Batch(group, tuple(taken)) for group, taken in by_group.items()])
        self._session.chains.on_search_start(pod_group, tasks)
        with self._session.statement() as trial:
            self._evict(trial, [task for taken in by_group.values() for task in taken])
            scenario = Scenario(pod_group, tuple(tasks), (), batches)
            rejection = self._session.chains.allows_scenario(search.action, scenario)
        return rejection.detail if rejection is not None and rejection.code in _SHARES else ""

    def _needed_of(self, pod_group: int, tasks: list[int], permitted: Sequence[int]) -> Sequence[int]:
        """Tasks that have to leave so that the pod group fits, in this order: none of them could stay.

        All of them if they are many. Not counted as looks of later pod groups.
        """
        left, enough, known = self._left, 1, len(permitted)
        while enough < known:
            middle = (enough + known) // 2
            if self._fits_beside(pod_group, tasks, permitted[:middle]):
                known = middle
            else:
                enough = middle + 1
        needed = list(permitted[:enough])
        for task in list(needed) if enough <= MAX_DROPPED else ():
            rest = [other for other in needed if other != task]
            if rest and self._fits_beside(pod_group, tasks, rest):
                needed = rest
        self._left = left - len(permitted)
        return needed

    def _missing_beside_all(
        self, pod_group: int, tasks: list[int], takable: Sequence[_Takable]
    ) -> FoundObstacle | None:
        """What is missing although all leave that any action may take, or that only shares keep; or None."""
        with self._session.statement() as trial:
            self._evict(trial, [task for each in takable for task in each.tasks()])
            return None if self._fits(pod_group, tasks) else self._missing(pod_group, tasks)

    def _fits_beside(self, pod_group: int, tasks: list[int], leaving: Sequence[int]) -> bool:
        """Whether it fits once these tasks leave."""
        with self._session.statement() as trial:
            self._evict(trial, leaving)
            return self._fits(pod_group, tasks)

    def _evict(self, trial: Statement, tasks: Sequence[int]) -> None:
        self._left -= len(tasks)
        for task in dict.fromkeys(tasks):
            self._session.stop.check()
            if task not in trial.evicted:
                trial.evict(task)

    def _missing(self, pod_group: int, tasks: Sequence[int]) -> FoundObstacle:
        """What is missing as the ledger is now, in a trial."""
        shapes = {s.index: s for s in [self._session.cluster.tasks[task].shape for task in tasks]}
        for shape in shapes.values():
            wanted = sum(self._session.cluster.tasks[task].shape is shape for task in tasks)
            nodes = [*bits(self._context.components.allowed_nodes.of(shape))]
            if sum([count_fits(self._session.ledger, shape, node, ()) for node in nodes]) >= wanted:
                continue
            infos = [self._session.ledger.node_infos[node] for node in nodes]
            free = [info.soon() for info in infos]
            short = _short_resource(shape, free, wanted)
            if short:
                return FoundObstacle(EvictionObstacle.AMOUNTS, short)
            gpus = sum([info.idle_gpu_milli() + info.releasing_gpu_milli() for info in infos])
            per_pod = self._session.ledger.request_share(shape)[GPU]
            is_enough = gpus >= wanted * per_pod > 0
            return FoundObstacle(EvictionObstacle.FRAGMENTS if is_enough else EvictionObstacle.AMOUNTS)
        if (bound := self._context.placer.capacity(pod_group, tasks)) is not None:
            return FoundObstacle(EvictionObstacle.BOUNDS, bound.detail)
        detail = explain_misplaced(self._context, pod_group, tasks)
        return FoundObstacle(EvictionObstacle.PLACES, detail, bool(detail))

    def _share_rejection(self, pod_group: int, tasks: list[int]) -> Rejection | None:
        """How fair shares may keep it waiting: others are within theirs, or its queue would exceed its own.

        None: neither.
        """
        queue, demand = self._groups[pod_group].queue, self._session.ledger.demand(tasks)
        path = () if queue is None else tuple(reversed(self._session.cluster.queues[queue].path))
        if not any(demand[r] and self._over[r].difference(path) for r in (GPU, CPU, MEMORY)):
            return WITHIN_FAIR_SHARE
        for each in path:
            status = self._status[each]
            after = add_shares(status.allocated_after, demand)
            over = [r for r in (GPU, CPU, MEMORY) if demand[r] and after[r] > status.fair_share[r] >= 0]
            if over:
                name = self._session.cluster.queues[each].facts.name
                detail = f"queue {name} would exceed its fair share, so no pods of other queues are evicted "
                detail += f"for it: it would have {_amounts(after, status.fair_share, over[0])}"
                return Rejection(ReasonCode.OVER_FAIR_SHARE, detail, source="proportion", for_owner=True)
        return None

    def _look(
        self,
        search: EvictionAction,
        pod_group: int,
        tasks: list[int],
        victims: Iterable[int],
        found: _Takable,
    ) -> Iterator[int]:
        """Note which tasks the action may take; the number of noted ones after each pod group."""
        entry = search.may_start(pod_group) or self._session.chains.admits(search.action, pod_group, tasks)
        if entry is not None and entry.code not in _SHARES:
            return
        self._session.chains.on_search_start(pod_group, tasks)
        self._session.disruptions.begin(search.action, pod_group)
        for victim in victims:
            self._session.stop.check()
            self._left -= 1
            if self._left < 0 or len(found.permitted) + len(found.kept) > self._most:
                break
            rejection = search.rules.full_rejection(pod_group, victim) or entry
            if rejection is not None and rejection.code in _SHARES:
                other = search.rules.ruled_out(pod_group, victim) or search.rules.rejection(pod_group, victim)
                rejection = other or rejection
            if rejection is None:
                found.permitted += takable_tasks(self._context, search, pod_group, victim)
            elif rejection.code in _SHARES:
                found.kept += takable_tasks(self._context, search, pod_group, victim)
            yield len(found.permitted) + len(found.kept)

    def _candidates(self, search: EvictionAction, pod_group: int) -> int:
        """Number of pod groups in the queues that the action takes from."""
        key = search.action.name, self._groups[pod_group].queue
        if key not in self._numbers:
            lists, queues = self._context.pod_groups, search.rules.victim_queues(pod_group)
            self._numbers[key] = sum([len(lists.victim_groups(queue)) for queue in queues])
        return self._numbers[key]

    def _victims(self, search: EvictionAction, pod_group: int) -> Iterator[int]:
        for queue in search.rules.victim_queues(pod_group):
            for _, victim in self._context.pod_groups.evictable_victims(queue):
                if victim != pod_group:
                    yield victim

    def _victims_by_node(self, search: EvictionAction, pod_group: int) -> list[int]:
        """Victims for pod groups of its queue, by the first node of their tasks."""
        key = search.action.name, self._groups[pod_group].queue
        if key not in self._by_node:
            placements, groups = self._session.ledger.placements, self._groups
            found = [
                (min([placements[task].node for task in groups[victim].tasks]), place, victim)
                for place, victim in enumerate(self._victims(search, pod_group))
            ]
            self._by_node[key] = [victim for _, _, victim in sorted(found)]
        return self._by_node[key]

    def _fits(self, pod_group: int, tasks: list[int]) -> bool:
        with self._session.statement() as trial:
            nodes = self._context.components.node_order.all_nodes
            return self._context.placer.place(trial, pod_group, tasks, nodes) is None


def _is_of_others(search: EvictionAction) -> bool:
    return search.action.victims_from is Relation.OTHER_QUEUES


def takable_tasks(context: CycleContext, search: EvictionAction, pod_group: int, victim: int) -> list[int]:
    """Tasks of a pod group that a search may take for another one, whatever fair shares say."""
    session, keeps_core = context.session, search.rules.keeps_core(pod_group, victim)
    if not session.disruptions.is_active:
        key = reverse(session.pod_group_key(victim))
        held: RemainingTasks = context.components.victim_entries.entry(key, victim, keeps_core).item
        core = held.core or frozenset()
        return [task for tasks in held.remaining.values() for task in tasks if task not in core]
    batches = victim_batches(
        session,
        context.gangs,
        one_victim(session, victim),
        search.rules.victim_queues(pod_group),
        lambda _: True,
        lambda _: keeps_core,
    )
    found = list[int]()
    while (batch := batches.pop()) is not None:
        found += batch.tasks
    return found


def _short_resource(shape: TaskShape, free: Sequence[MutableVector], wanted: int) -> str:
    """The one resource that is short: CPU or memory. Empty: GPUs are, or several resources."""
    for name, slot in (("CPU", CPU), ("memory", MEMORY)):
        if shape.request[slot] and not shape.shares_devices:
            request = [*shape.request]
            request[slot] = 0
            others = MutableVector(tuple(request))
            if sum([max(0, each.times(others, NO_BOUND)) for each in free]) >= wanted:
                return name
    return ""


def _amounts(after: Share, share: Share, resource: int) -> str:
    """`5 of 4 GPUs`, `12 of 8 CPU cores`, `9.5 of 8 GiB of memory`."""
    if resource == GPU:
        return f"{format_gpus(after[GPU])} of {format_gpus(share[GPU])} GPUs"
    unit, name = (1000, "CPU cores") if resource == CPU else (2**30, "GiB of memory")
    return f"{format_amount(after[resource], unit)} of {format_amount(share[resource], unit)} {name}"

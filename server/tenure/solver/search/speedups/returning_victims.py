"""Saves, with `reclaim_bound`: simulating evictions of pod groups that take their places again before the
preemptor is placed.
Sound: the preemptor waits for the pod groups ahead of it in its queue. While one of them would be last among
sibling queues, the victims of a sibling are placed first. If the preemptor then finds a node, each victim
that fits wherever it does has found one before, because only such placements take capacity until then.
So nothing is taken from these victims for good. For victims with one task, in queues whose keys grow
(`Traits.queue_keys_grow`), among tasks that take whole GPUs.
In a simulation whose victims all precede the preemptor, the last one needs no placement: if all are whole
gangs, those before it are placed, and the nodes that it left have capacity for all its tasks, it is placed
too, because equal tasks cannot take each other's places. Then as many GPUs are free as without victims.
Switch: `reclaim_bound`. Plain: the simulation.
Compared by: tests/solver/search/speedups/test_returning_victims.py and test_last_victim.py, and the check
`differential`.
"""

from collections.abc import Sequence
from typing import Any, Final, final

from tenure.solver.framework.session import Session
from tenure.solver.model.resources import GPU, NO_SHARE, WHOLE_GPU, Share
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.scenario import Scenario
from tenure.solver.plugin_api.traits import traits_of
from tenure.solver.search.fits import NO_BOUND
from tenure.solver.search.node_order import bit_set
from tenure.solver.search.pod_group_lists import ALONE, Key
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.speedups.fit_counts import requests_whole_gpus

_MAX_LOOKED_AT: Final = 64
"""Pod groups of a queue, or their kinds, up to which those ahead of another one are looked at."""


class ReturningVictims:
    """Victims that get their capacity back before one preemptor is placed."""

    def __init__(
        self, session: Session, components: SearchComponents, preemptor: int, tasks: Sequence[int]
    ) -> None:
        self._session = session
        self._components = components
        self._preemptor = preemptor
        self._shape = session.cluster.tasks[tasks[0]].shape
        self._groups = session.cluster.pod_groups
        self._queue = self._groups[preemptor].queue
        self._demand = session.ledger.demand(tasks)[GPU]
        self._last: tuple[Any, ...] | None = None
        """Key of its queue with the pod group ahead of it that goes last; empty: it is the first."""
        self._known: dict[int, int | None] = {}
        self._returns: dict[int, bool] = {}
        self._alike: dict[int, bool] = {}
        """Whether a shape fits wherever the preemptor does, by index."""

    @property
    def is_first(self) -> bool:
        """Whether no pod group is ahead of the preemptor in its queue, so that no victim is ahead of it."""
        if self._last is None:
            self._last = self._find_last()
        return not self._last

    def most_taken_from(self, queue: int) -> int | None:
        """Upper bound of the GPUs that a leaf queue loses for good, in thousandths; None: unknown."""
        waiting = self._waiting(queue)
        if waiting is None:
            return None
        victims = self._components.pod_groups.victim_groups(queue)
        return waiting if all(map(self._takes_its_place, victims)) else None

    def takes_nothing_of(self, pod_group: int) -> bool:
        """Whether a victim certainly gets a place again."""
        queue = self._groups[pod_group].queue
        return queue is not None and self.has_returning(queue) and self._takes_its_place(pod_group)

    def has_returning(self, queue: int) -> bool:
        """Whether all victims of a leaf queue that fit wherever the preemptor does have places again."""
        return self._waiting(queue) == 0

    def _waiting(self, queue: int) -> int | None:
        """Upper bound of the GPUs of victims that wait when the preemptor is placed; None: unknown."""
        if queue not in self._known:
            self._known[queue] = self._find_waiting(queue) if self._is_sibling(queue) else None
        return self._known[queue]

    def _is_sibling(self, queue: int) -> bool:
        queues, own = self._session.cluster.queues, self._queue
        return own is not None and own != queue and queues[own].parent == queues[queue].parent

    def _find_waiting(self, queue: int) -> int | None:
        if self.is_first or not self._is_ahead(queue, NO_SHARE, self._demand):
            return None
        last: Key = ()
        smallest, largest = NO_BOUND, 0
        for victim in self._components.pod_groups.victim_groups(queue):
            key = self._key_after_eviction(victim)
            if not key:
                return None
            if key > last:
                last = key
            size = self._session.ledger.demand(self._groups[victim].tasks)[GPU]
            smallest, largest = min(smallest, size), max(largest, size)
        ahead = self._ahead(queue, last)
        if ahead is None:
            return None
        request = NO_SHARE
        for other in ahead:
            request = _most(request, self._components.gangs.request(other))
        # The first that waits is a victim, which the others wait beside, or a pod group ahead of all of them.
        beside, behind = self._late(queue, NO_SHARE), self._late(queue, request) if ahead else 0
        if beside is None or behind is None:
            return None
        most = max(beside + largest - 1 if beside else 0, behind - 1)
        return most if most >= smallest else 0

    def _late(self, queue: int, request: Share) -> int | None:
        """The fewest GPUs without which the queue, with such a request, is ahead of the preemptor's."""
        low, high = -1, self._demand // WHOLE_GPU + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_ahead(queue, request, middle * WHOLE_GPU):
                high = middle
            else:
                low = middle
        return high * WHOLE_GPU if high * WHOLE_GPU <= self._demand else None

    def _is_ahead(self, queue: int, request: Share, missing: int) -> bool:
        """Whether a queue is ahead of that of the preemptor while it lacks so many GPUs of its victims."""
        assert self._last is not None
        key = self._session.chains.queue_key(queue, request, (0, 0, missing))
        return bool((key, self._session.cluster.queues[queue].rank) < self._last)

    def _find_last(self) -> tuple[Any, ...]:
        """Key of the preemptor's queue with the pod group ahead of it that goes last; empty: it is first."""
        queue = self._queue
        assert queue is not None
        best = next(self._components.pod_groups.pending(queue), None)
        if best is None or best[1] == self._preemptor:
            return ()
        ahead = self._ahead(queue, self._session.pod_group_key(self._preemptor)) or ()
        chains, rank = self._session.chains, self._session.cluster.queues[queue].rank
        keys = [chains.queue_key(queue, self._components.gangs.request(each), NO_SHARE) for each in ahead]
        return (max(keys), rank) if keys else ()

    def _key_after_eviction(self, pod_group: int) -> Key:
        """Key of a gang without its tasks; empty: it may lose a part of them, or waits for others."""
        group = self._groups[pod_group]
        pod_set = group.pod_sets[0]
        is_whole = group.is_plain and pod_set.min_available >= len(group.tasks)
        if not is_whole or self._session.ledger.pending[pod_group]:
            return ()
        return self._components.pod_groups.key_after_eviction(pod_group)

    def _ahead(self, queue: int, key: Key) -> list[int] | None:
        """The first of each kind of the pending pod groups before a key; None: there are too many."""
        lists, found = self._components.pod_groups, list[int]()
        kinds = lists.kinds(queue)
        for kind in (ALONE,) if kinds is None else sorted(kinds):
            of_kind = lists.pending(queue) if kinds is None else lists.of_kind(queue, kind)
            for other, pod_group in of_kind:
                if other >= key:
                    break
                found.append(pod_group)
                if len(found) > _MAX_LOOKED_AT:
                    return None
                if kind != ALONE:
                    break
        return found

    def _takes_its_place(self, pod_group: int) -> bool:
        known = self._returns.get(pod_group)
        if known is None:
            known = self._returns[pod_group] = self._is_no_harder(pod_group)
        return known

    def _is_no_harder(self, pod_group: int) -> bool:
        """Whether it has one task, which fits wherever the preemptor does, and its queue permits it."""
        session, group = self._session, self._groups[pod_group]
        if len(group.tasks) != 1 or not group.is_plain:
            return False
        shape = session.cluster.tasks[group.tasks[0]].shape
        if shape.index not in self._alike:
            self._alike[shape.index] = shape is self._shape or self._fits_alike(shape)
        if not self._alike[shape.index]:
            return False
        demand = session.ledger.least_demand(group.tasks)  # beside itself, which is more than it needs
        return session.chains.has_capacity(pod_group, group.tasks, demand) is None

    def _fits_alike(self, shape: TaskShape) -> bool:
        allowed = self._components.allowed_nodes
        is_smaller = all(a <= b for a, b in zip(shape.request, self._shape.request, strict=True))
        return is_smaller and not allowed.of(self._shape) & ~allowed.of(shape)


@final
class LastVictim:
    """Whether the victims of a scenario take all again before the preemptor is placed."""

    def __init__(self, session: Session, components: SearchComponents, free: int) -> None:
        """`free` is an upper bound of the free GPUs without victims, in thousandths."""
        self._session = session
        self._components = components
        self._free = free

    def blocks(self, scenario: Scenario, last: int) -> bool:
        """Whether the preemptor certainly finds no place after this victim, which is placed next."""
        ledger, victims = self._session.ledger, scenario.victims()
        if ledger.demand(scenario.pending)[GPU] <= self._free or not all(
            map(self._is_whole, victims.items())
        ):
            return False
        tasks, facts = victims[last], self._session.cluster.tasks
        shape = facts[tasks[0]].shape
        if any(facts[task].shape is not shape for task in tasks):
            return False
        places = {ledger.placements[task].node for task in tasks}
        request, most = shape.request_vector, len(tasks)
        if bit_set(places) & ~self._components.allowed_nodes.of(shape):
            return False
        if sum([ledger.node_infos[node].soon().times(request, most) for node in places]) < most:
            return False
        return self._session.chains.has_capacity(last, tasks, ledger.least_demand(tasks)) is None

    def _is_whole(self, victim: tuple[int, list[int]]) -> bool:
        """Whether it is placed with all its tasks, or with none."""
        pod_group, tasks = victim
        group = self._session.cluster.pod_groups[pod_group]
        return group.is_plain and group.pod_sets[0].min_available >= len(group.tasks) == len(tasks)


def can_predict_returns(session: Session) -> bool:
    """Whether the order of queues and the fits of tasks are simple enough."""
    chains, cluster = session.chains, session.cluster
    return (
        chains.gates_by_request
        and all(traits_of(order).queue_keys_grow for order in chains.queue_orders)
        and not (cluster.claims or session.blocked)
        and not (chains.placement_filters or chains.numa_zone_selectors)
        and all(map(requests_whole_gpus, cluster.shapes))
    )


def _most(share: Share, other: Share) -> Share:
    return (max(share[0], other[0]), max(share[1], other[1]), max(share[2], other[2]))

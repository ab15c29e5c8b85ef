"""Remedies that let a pod group start, each verified on a copy of the cluster.

Ordered from the smallest to the largest change: time, the pod group itself, its queues, the cluster.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import IntEnum
from typing import Final, NamedTuple

from tenure.solver.actions.cycle_context import CycleContext
from tenure.solver.diagnosis import what_if
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.waiting import Waiting, wait
from tenure.solver.diagnosis.what_if import TrialResult, WhatIfTrials
from tenure.solver.framework.stop_signal import CycleStopped
from tenure.solver.model.placement import NOWHERE, TaskStatus
from tenure.solver.model.resources import CPU, GPU, MEMORY, UNLIMITED, Share
from tenure.solver.model.workload_parts import Preemptibility
from tenure.terms.cancellation import never

UNITS: Final = {CPU: 1000, MEMORY: 2**30, GPU: 100}
"""Steps in which quotas and limits are raised: a core, a GiB, a tenth of a GPU."""
MAX_PRIORITIES: Final = 32
"""Priorities that are tried; of more, some are left out, evenly."""


class RemedyKind(IntEnum):
    """Kinds of remedies, the smallest change first; numbers as on the wire."""

    WAIT = 1
    REDUCE_MINIMUM = 2
    RAISE_PRIORITY = 3
    MAKE_PREEMPTIBLE = 4
    RAISE_QUOTA = 5
    RAISE_LIMIT = 6
    ADD_NODES = 7


class Remedy(NamedTuple):
    """A verified remedy. Only the fields of its kind are used."""

    kind: RemedyKind
    result: TrialResult
    number: int = 0
    """New minimum, new priority, amount of the resource to add, or number of nodes to add."""
    until: int | None = None
    """Nanoseconds since the Unix epoch; None with WAIT: until the pods that terminate are gone."""
    queues: tuple[int, ...] = ()
    """Queues whose bound is raised by the number, from the leaf up."""
    resource: int = GPU
    node: int = NOWHERE
    """Node that the new nodes are copies of."""


class FoundRemedies(NamedTuple):
    """Remedies for a pending pod group."""

    remedies: list[Remedy]
    """The smallest change first."""
    waiting: Waiting | None
    """What happens if only time passes; None: stopped before that was known."""
    is_complete: bool
    """Whether every kind was tested: the search was not stopped."""


def find_remedies(replay: CycleReplay, pod_group: int, stop: Callable[[], bool] = never) -> FoundRemedies:
    """Remedies for a pending pod group; those found before a stop."""
    found: list[Remedy] = []
    search, is_complete = _Search(replay, pod_group, stop), False
    with suppress(CycleStopped):
        for remedy in search.all():
            found.append(remedy)
        is_complete = True
    return FoundRemedies(found, search.waiting, is_complete)


class _Search:
    """Searches one remedy per kind."""

    def __init__(self, replay: CycleReplay, pod_group: int, stop: Callable[[], bool]) -> None:
        self._replay = replay
        self._cluster = replay.cluster
        self._group = replay.cluster.pod_groups[pod_group]
        self._context: CycleContext = replay.end
        self._tasks = replay.end.gangs.tasks_to_allocate(pod_group)
        self.waiting: Waiting | None = None
        self._trials = WhatIfTrials(replay.profile, replay.registry, self._group, stop, replay.result)

    def all(self) -> Iterator[Remedy]:
        """All remedies, in the order of the kinds."""
        yield from self._wait()
        if self._group.index in self._context.session.phases.held:
            return  # until then, nothing else helps
        yield from self._reduce_minimum()
        yield from self._raise_priority()
        yield from self._make_preemptible()
        yield from self._larger(RemedyKind.RAISE_QUOTA, "quota")
        yield from self._larger(RemedyKind.RAISE_LIMIT, "limit")
        yield from self._add_nodes()

    def _wait(self) -> Iterator[Remedy]:
        """Time at which it receives the capacity on which it runs, with all decisions until then applied."""
        self.waiting = found = wait(self._trials, self._cluster, self._replay.result, self._group.index)
        self._trials.is_patient = found.result is None and found.is_complete
        if found.result is not None:
            yield Remedy(RemedyKind.WAIT, found.result, until=found.until)
        elif what_if.has_terminating(self._cluster):
            result = self._trials.verify(what_if.without_terminating(self._cluster))
            if result is not None:
                yield Remedy(RemedyKind.WAIT, result)

    def _reduce_minimum(self) -> Iterator[Remedy]:
        """Largest smaller minimum, if it has no subgroups and does not run with its minimum yet."""
        part, held = (
            what_if.single_pod_set(self._group),
            self._context.session.ledger.active_allocated,
        )
        if part is None or held[part.index] >= part.min_available:
            return
        most = part.min_available
        found = self._trials.smallest(
            most - 1, lambda less: what_if.with_minimum(self._cluster, self._group.index, most - less)
        )
        if found is not None:
            yield Remedy(RemedyKind.REDUCE_MINIMUM, found[1], most - found[0])

    def _raise_priority(self) -> Iterator[Remedy]:
        """Lowest higher priority: that of another pod group, which may be younger, or just above it.

        A higher one may be worse, since it can make it non-preemptible: so they are tried one by one.
        """
        own = self._group.facts
        others = {g.facts.priority for g in self._cluster.pod_groups if g.facts.uid not in ("", own.uid)}
        numbers = {each + more for each in others for more in (0, 1)}
        higher = sorted(number for number in numbers if number > own.priority)
        found = self._trials.first(
            (number, what_if.with_facts(self._cluster, self._group.index, priority=number))
            for number in _spread(higher, MAX_PRIORITIES)
        )
        if found is not None:
            yield Remedy(RemedyKind.RAISE_PRIORITY, found[1], found[0])

    def _make_preemptible(self) -> Iterator[Remedy]:
        """Remove all protection of its own, if it has any."""
        if self._group.is_preemptible and not self._group.facts.opt_out_actions:
            return
        changed = what_if.with_facts(
            self._cluster,
            self._group.index,
            preemptibility=Preemptibility.PREEMPTIBLE,
            opt_out_actions=frozenset(),
        )
        if (verdict := self._trials.verify(changed)) is not None:
            yield Remedy(RemedyKind.MAKE_PREEMPTIBLE, verdict)

    def _larger(self, kind: RemedyKind, bound: str) -> Iterator[Remedy]:
        """Smallest raise for one resource: of its queue or one ancestor, else of all of them."""
        demand = self._context.session.ledger.demand(self._tasks)
        path = () if self._group.queue is None else self._cluster.queues[self._group.queue].path
        found: list[Remedy] = []
        for resource in (each for each in UNITS if demand[each]):
            bounded = [q for q in reversed(path) if self._most(kind, self._bound(bound, q), resource) > 0]
            single = [self._raised(kind, bound, (queue,), resource) for queue in bounded]
            if not any(single) and len(bounded) > 1:
                single = [self._raised(kind, bound, tuple(bounded), resource)]
            found.extend(remedy for remedy in single if remedy is not None)
        if found:
            yield min(found, key=lambda remedy: remedy.number // UNITS[remedy.resource])

    def _bound(self, bound: str, queue: int) -> Share:
        share: Share = getattr(self._cluster.queues[queue].facts, bound)
        return share

    def _most(self, kind: RemedyKind, share: Share, resource: int) -> int:
        """Units by which a bound is raised at most; 0: it is unlimited, or already as large.

        A quota is raised to what the cluster has, a limit to what the pod group needs beside all of it.
        """
        if share[resource] == UNLIMITED:
            return 0
        total = sum([node.allocatable[resource] for node in self._cluster.nodes])
        if kind is RemedyKind.RAISE_QUOTA:
            return max(0, (total - share[resource]) // UNITS[resource])
        return -(-(total + self._context.session.ledger.demand(self._tasks)[resource]) // UNITS[resource])

    def _raised(self, kind: RemedyKind, bound: str, queues: tuple[int, ...], resource: int) -> Remedy | None:
        """Smallest sufficient number of units, if there is one."""
        unit = UNITS[resource]
        found = self._trials.smallest(
            min([self._most(kind, self._bound(bound, queue), resource) for queue in queues]),
            lambda n: what_if.with_larger_bounds(self._cluster, bound, queues, resource, n * unit),
        )
        if found is None:
            return None
        return Remedy(kind, found[1], found[0] * unit, queues=queues, resource=resource)

    def _add_nodes(self) -> Iterator[Remedy]:
        """More of the smallest node that fits any of its pods; at most one per pending pod."""
        like = self._smallest_node()
        if like is None:
            return
        statuses = (task.placement.status for task in self._cluster.tasks)
        most = sum(status is TaskStatus.PENDING for status in statuses)
        found = self._trials.smallest(most, lambda n: what_if.with_nodes(self._cluster, like, n))
        if found is not None:
            yield Remedy(RemedyKind.ADD_NODES, found[1], found[0], node=like)

    def _smallest_node(self) -> int | None:
        shapes = {
            self._cluster.tasks[task].shape.index: self._cluster.tasks[task].shape for task in self._tasks
        }
        fitting = [
            node
            for node in self._cluster.nodes
            if not node.unready
            and all(
                self._context.components.allowed_nodes.of(shape) >> node.index & 1
                for shape in shapes.values()
            )
            and all(
                requested <= offered
                for shape in shapes.values()
                for requested, offered in zip(shape.request, node.allocatable, strict=True)
            )
        ]
        if not fitting:
            return None
        size = min((n.allocatable[GPU], n.allocatable[CPU], n.allocatable[MEMORY], n.index) for n in fitting)
        return size[-1]


def _spread(numbers: list[int], most: int) -> list[int]:
    """At most so many of these numbers, the last one among them."""
    if len(numbers) <= most:
        return numbers
    return [numbers[(each + 1) * len(numbers) // most - 1] for each in range(most)]

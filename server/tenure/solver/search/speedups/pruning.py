"""Saves: simulating scenarios, and whole attempts, that cannot succeed.
Sound: if the pending tasks do not fit although victims compete for nothing, the simulation fails
(`freed_fits`); if the GPUs that may be reclaimed do not suffice, validators reject it (`reclaim_bound`). More
victims never reduce either, so a met condition stays met, and the first sufficient prefix of an order can be
looked up.
Switch: `pruning` (fits) and `reclaim_bound`. Plain: the simulation.
Compared by: tests/solver/search/speedups/test_switches.py, and the check `differential`.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.framework.stop_signal import StopSignal
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload_parts import TaskShape
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.attempts import Attempt
from tenure.solver.search.search import NO_SOLUTION, WITHIN_FAIR_SHARE, Search, VictimPolicy
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.speedup import FitCheck, NecessaryCondition, Speedup
from tenure.solver.search.speedups.fit_counts import FitCounts, requests_whole_gpus
from tenure.solver.search.speedups.freed_fits import FitTally, FreedFits, SearchFits, Victims
from tenure.solver.search.speedups.node_index import NodeIndex
from tenure.solver.search.speedups.reclaim_bound import ReclaimBound, ReclaimTally, is_inexact
from tenure.solver.search.speedups.returning_victims import LastVictim, ReturningVictims, can_predict_returns
from tenure.solver.search.victim_sequence import VictimSequence

RECLAIMABLE: Final = -1
"""In place of a shape: the reclaimable GPUs."""
LOOK_AHEAD: Final = 1024
"""Number of batches after which a search without a promising scenario checks whether one can exist."""


class AttemptNeeds:
    """Needs of the pending tasks of one attempt beyond free capacity, and the victims' contribution."""

    def __init__(self, fits: SearchFits, bound: ReclaimBound | None, pending: Sequence[int]) -> None:
        self.shortfalls = fits.missing_fits(pending)
        """Shapes that do not fit now, with the number of missing fits."""
        self._fits = fits
        self._freed_fits: dict[int, FreedFits] = {}
        """Additional fits of these shapes, created on demand."""
        self.gpus = 0 if bound is None else bound.missing(pending)
        self._reclaimed = None if bound is None else ReclaimTally(bound)

    def add(self, batches: Iterable[Batch]) -> None:
        """Add batches to the victims."""
        for batch in batches:
            for shape, _ in self.shortfalls:
                self.freed_fits(shape).add(batch.tasks)
            if self._reclaimed is not None:
                self._reclaimed.add(batch)

    def are_met(self) -> bool:
        """Whether the victims could meet the needs."""
        for shape, missing in self.shortfalls:
            if not self._freed_fits or self._freed_fits[shape.index].total() < missing:
                return False
        return self._reclaimed is None or self._reclaimed.reclaimed >= self.gpus

    def are_met_with(self, batches: Sequence[Batch]) -> bool:
        """Whether the victims and these could meet the needs."""
        if self._reclaimed is not None and self._reclaimed.reclaimed_with(batches) < self.gpus:
            return False
        tasks = [task for batch in batches for task in batch.tasks]
        return all(self.freed_fits(shape).total_with(tasks) >= missing for shape, missing in self.shortfalls)

    def freed_fits(self, shape: TaskShape) -> FreedFits:
        """Additional fits of the shape from the victims so far."""
        gains = self._freed_fits.get(shape.index)
        if gains is None:
            gains = self._freed_fits[shape.index] = self._fits.freed_fits(shape)
        return gains


class PrefixBounds:
    """Totals of all prefixes of a victim sequence; computed once for all attempts of a search."""

    def __init__(
        self, sequence: VictimSequence, fits: SearchFits, bound: ReclaimBound | None, tasks: Sequence[int]
    ) -> None:
        self._sequence = sequence
        self._fits = fits
        self._freed_fits = {shape.index: fits.freed_fits(shape) for shape, _ in fits.missing_fits(tasks)}
        self._totals: dict[int, list[int]] = {shape: [] for shape in self._freed_fits}
        self._reclaimed = None if bound is None else ReclaimTally(bound)
        self._reclaimable: list[int] = []

    def first_sufficient(self, needs: AttemptNeeds) -> int | None:
        """Number of batches that could meet the needs; None if all of them could not."""
        count = 0
        for shape, missing in needs.shortfalls:
            found = self._first(self._totals[shape.index], missing, shape.index)
            if found is None:
                return None
            count = max(count, found)
        if self._reclaimed is None:
            return count
        taken = self._first(self._reclaimable, needs.gpus, RECLAIMABLE)
        return None if taken is None else max(count, taken)

    def can_meet(self, needs: AttemptNeeds, nodes: Collection[int]) -> bool:
        """Whether the nodes could have enough fits, whichever tasks are evicted; a quick check."""
        for shape, missing in needs.shortfalls:
            gains, most, totals = (
                needs.freed_fits(shape),
                self._freed_fits[shape.index],
                self._totals[shape.index],
            )
            for number in range(len(totals), len(self._sequence.batches)):
                totals.append(self._total_with(shape.index, number))
            more = 0
            for node in nodes:
                more += max(0, most.on(node) - gains.on(node))
            if gains.total() + more < missing:
                return False
        return True

    def _first(self, totals: list[int], needed: int, what: int) -> int | None:
        """First sufficient prefix; the totals are extended as needed."""
        if needed <= 0:
            return 0
        while not totals or totals[-1] < needed:
            number = len(totals)
            if number == LOOK_AHEAD and not self._fits.is_possible():
                return None
            if not self._sequence.reaches(number):
                return None
            totals.append(self._total_with(what, number))
        return bisect_left(totals, needed) + 1

    def _total_with(self, what: int, number: int) -> int:
        """Total fits of a shape, or reclaimable GPUs, with the batch of this number."""
        batch = self._sequence.batches[number]
        if what == RECLAIMABLE:
            assert self._reclaimed is not None
            self._reclaimed.add(batch)
            return self._reclaimed.reclaimed
        self._freed_fits[what].add(batch.tasks)
        return self._freed_fits[what].total()


class CapacityBound(NecessaryCondition):
    """Necessary conditions of one search: fits, reclaimable GPUs, or both."""

    def __init__(
        self,
        fits: SearchFits,
        bound: ReclaimBound | None,
        tasks: Sequence[int],
        last_victim: LastVictim | None,
        *,
        counts_whole_gpus: bool,
    ) -> None:
        """`counts_whole_gpus`: all GPU requests are for whole devices: fit counts imply capacity (R5.30)."""
        self._fits = fits
        self._last_victim = last_victim
        self._bound = bound
        self._tasks = tasks
        self._counts_whole_gpus = counts_whole_gpus
        self._prefixes: PrefixBounds | None = None
        """Of the order of the search."""
        self._current: PrefixBounds | None = None
        """Those, if the current attempt has that order."""
        self._needs: AttemptNeeds | None = None
        """Of the current attempt."""

    def first_prefix(self, attempt: Attempt) -> int | None:
        """Batches up to the first one with which the needs may be met.

        If a prefix contains all recorded victims, its totals are used without recording them.
        """
        needs = self._needs = self._needs_of(attempt)
        self._current = None
        if attempt.is_main_order:
            if self._prefixes is None:
                self._prefixes = PrefixBounds(attempt.sequence, self._fits, self._bound, self._tasks)
            self._current = self._prefixes
        if needs.are_met():
            return 0
        count = None if self._current is None else self._current.first_sufficient(needs)
        if self._current is not None and count is None:
            return None
        if count is None or count <= max(attempt.skips, default=-1) + 1:
            return self._search_ahead(attempt)
        return count

    def rules_out(self, potential: Sequence[Batch]) -> bool:
        """Whether recorded victims and these cannot meet the needs."""
        assert self._needs is not None
        if self._current is not None:
            placements = self._fits.session.ledger.placements
            nodes = {placements[task].node for batch in potential for task in batch.tasks}
            if not self._current.can_meet(self._needs, nodes):
                return True
        return not self._needs.are_met_with(potential)

    def is_blocked_by(self, scenario: Scenario, last: int) -> bool:
        """Whether the victims take again what the preemptor would need."""
        return self._last_victim is not None and self._last_victim.blocks(scenario, last)

    def implies_gpu_capacity(self, attempt: Attempt) -> bool:
        """Whether fit counts of a single shape count whole GPUs."""
        tasks = self._fits.session.cluster.tasks
        return self._counts_whole_gpus and len({tasks[task].shape.index for task in attempt.tasks}) == 1

    def _needs_of(self, attempt: Attempt) -> AttemptNeeds:
        """Needs of the attempt, with the contribution of the recorded victims."""
        needs = AttemptNeeds(self._fits, self._bound, attempt.tasks)
        needs.add(attempt.recorded)
        return needs

    def _search_ahead(self, attempt: Attempt) -> int | None:
        """The first sufficient prefix beside the recorded victims, batch by batch."""
        needs, number = self._needs_of(attempt), 0
        while attempt.sequence.reaches(number):
            if number not in attempt.skips:
                needs.add((attempt.sequence.batches[number],))
            number += 1
            if needs.are_met():
                return number
            if number == LOOK_AHEAD and not self._fits.is_possible():
                return None
        return None


class Pruning(Speedup):
    """Computes the bounds of a search."""

    def __init__(
        self,
        session: Session,
        components: SearchComponents,
        index: NodeIndex,
        *,
        with_fits: bool,
        with_bound: bool,
    ) -> None:
        self._session = session
        self._components = components
        self._index = index
        self._counts = FitCounts(session.ledger, index)
        self._with_fits = with_fits
        shapes = session.cluster.shapes
        self._counts_whole_gpus = with_fits and all(requests_whole_gpus(shape) for shape in shapes)
        self._with_bound = with_bound and not any(is_inexact(shape) for shape in shapes)
        self._predicts_returns = self._with_bound and can_predict_returns(session)
        self._checked: dict[int, SearchFits] = {}
        """Fits without victims, by preemptor, until something is committed."""
        self._commits = 0

    def necessary_condition(self, search: Search, feasible: int) -> NecessaryCondition | Rejection | None:
        """The bounds, or the rejection of a search that fairness does not permit."""
        lists = self._components.pod_groups
        queues = [queue for queue in search.victim_queues if lists.has_victims(queue)]
        victims = partial(_all_victims, search.victims, queues, self._session.stop)
        fits = self._fits_of(search.tasks, feasible, victims)
        bound = last_victim = None
        free = self._index.free_gpu_bound() if self._with_bound else 0
        if self._predicts_returns:
            last_victim = LastVictim(self._session, self._components, free)
        if self._with_bound and not search.is_trial:  # the bound contains the gate that a trial lifts
            bound = ReclaimBound(self._session, search.action, search.preemptor, queues, free)
            if not bound.is_possible(search.tasks):
                return WITHIN_FAIR_SHARE
            if bound.bounds and self._predicts_returns:
                bound.exclude_returning(
                    ReturningVictims(self._session, self._components, search.preemptor, search.tasks)
                )
                if not bound.is_possible(search.tasks):
                    return NO_SOLUTION
        return CapacityBound(
            fits, bound, search.tasks, last_victim, counts_whole_gpus=self._counts_whole_gpus
        )

    def fit_check(self, preemptor: int, tasks: Sequence[int], feasible: int) -> FitCheck | None:
        """Fits that all candidates of a preemptor share, until something is committed."""
        if not self._with_fits:
            return None
        if self._commits != self._session.commit_count:
            self._checked.clear()
            self._commits = self._session.commit_count
        if preemptor not in self._checked:
            self._checked[preemptor] = self._fits_of(tasks, feasible, lambda: ())
        return FitTally(self._checked[preemptor], tasks)

    def _fits_of(self, tasks: Sequence[int], feasible: int, victims: Victims) -> SearchFits:
        counts = self._counts if self._with_fits else None
        return SearchFits(self._session, self._components.allowed_nodes, counts, feasible, tasks, victims)


def _all_victims(policy: VictimPolicy, queues: Sequence[int], stop: StopSignal) -> Iterator[int]:
    """Active tasks of all pod groups of these queues that may be victims."""
    for queue in queues:
        if policy.allows_queue(queue):
            for entry in policy.candidates(queue):
                stop.check()
                for tasks in entry.item.remaining.values():
                    yield from tasks

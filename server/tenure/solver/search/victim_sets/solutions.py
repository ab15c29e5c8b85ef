"""Solutions of a search, and what is known about the victims of the best one (semantics R14.6, R14.9)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tenure.solver.framework.statement import Move, Statement
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.verdict import Minimality, VictimSet
from tenure.solver.plugin_api.scenario import Batch, Scenario
from tenure.solver.search.victim_sets.necessary_victims import Need


class Solution(NamedTuple):
    """A set of victims that suffices."""

    batches: tuple[Batch, ...]
    """In victim order; some task of each is evicted or moved."""
    moves: list[Move]
    disrupted: frozenset[int]
    """Tasks that are evicted or moved."""
    evicted: int
    moved: frozenset[int]
    """Tasks that are moved."""

    def is_better_than(self, other: "Solution") -> bool:
        """Whether it disrupts no other task and evicts no more tasks, and less of one of both."""
        if not self.disrupted <= other.disrupted or self.evicted > other.evicted:
            return False
        return len(self.disrupted) < len(other.disrupted) or self.evicted < other.evicted


class Minimization:
    """One minimization: the best solution so far, and what is known about its victims."""

    def __init__(self, best: Solution) -> None:
        self.best = best
        self.needs: Sequence[Need] = ()
        """By batch of the solution; empty: not known."""
        self.held = 0
        """Number of first moves of the best solution that the statement still has, and may have others."""
        self.refuted: set[Batch] = set()
        """Batches without which a simulation found nothing better."""

    def next_open(self) -> int | None:
        """The best protected batch that may be needless; None: all were tried."""
        for number in range(len(self.needs) - 1, -1, -1):
            if self.needs[number] is Need.OPEN and self.best.batches[number] not in self.refuted:
                return number
        return None

    def result(self, disrupted: int, tasks: int) -> VictimSet:
        """What is known, after `disrupted` pods before, about the victims of so many tasks.

        One task that did not fit beside all victims needs one of them.
        """
        needs = self.needs or [Need.OPEN] * len(self.best.batches)
        is_proven = all(need is Need.NECESSARY for need in needs) or len(self.best.disrupted) == tasks == 1
        untried = 0
        for batch, need in zip(self.best.batches, needs, strict=True):
            untried += need is Need.OPEN and batch not in self.refuted
        shown = Minimality.LEAST if len(self.best.disrupted) == 1 else Minimality.PROVEN
        return VictimSet(
            shown if is_proven else Minimality.HEURISTIC,
            len(self.refuted),
            untried,
            disrupted - len(self.best.disrupted),
        )


def batches_of(scenario: Scenario) -> Iterator[Batch]:
    """Batches of a scenario, with each task once."""
    seen = set[int]()
    for batch in (*scenario.recorded, *scenario.potential):
        tasks = tuple([task for task in batch.tasks if task not in seen])
        seen.update(tasks)
        if tasks:
            yield batch if len(tasks) == len(batch.tasks) else Batch(batch.pod_group, tasks)


def redo(statement: Statement, moves: Iterable[Move]) -> None:
    """Make the moves of a simulation again, from the placements that they began with."""
    for move in moves:
        place = move.after
        if place.status is TaskStatus.RELEASING:
            statement.evict(move.task)
        else:
            statement.pipeline(move.task, place.node, place.gpu_groups, place.zones)

"""The smallest set of nominated pod groups in whose place a contender fits.

As long as there are few sets, all of them are tried by size, so that no smaller set is overlooked. Of
larger sizes only the densest are tried: on each node, and in the cluster, the pod groups that free most.
Their number is linear in the pods of the candidates. Fit checks only skip sets that cannot succeed.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import Final

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.resources import NO_SHARE, Share
from tenure.solver.model.workload import add_shares
from tenure.solver.plugin_api.scenario import Batch
from tenure.solver.search.search import BUDGET_EXHAUSTED
from tenure.solver.search.speedup import FitCheck

MAX_ENUMERATED: Final = 256
"""Sets that are enumerated for one contender, of all sizes together."""
_CLUSTER: Final = -2
"""Key of all nodes together."""

Positions = tuple[int, ...]
"""Members of a set, by their positions among the candidates, ascending."""


class SmallestSet:
    """Tries sets of two or more candidates, but never all of them."""

    def __init__(
        self,
        session: Session,
        batches: Sequence[Sequence[Batch]],
        fit_check: Callable[[], FitCheck | None],
        rejection: Callable[[Positions], Rejection | None],
    ) -> None:
        """`batches` are those of each candidate; `rejection` simulates the eviction of a set."""
        self._session = session
        self._batches = batches
        self._fit_check = fit_check
        self._rejection = rejection

    def find(self) -> Positions | Rejection | None:
        """The first set that works; BUDGET_EXHAUSTED if the search ended before, None if no set works.

        Of sets of the same size, the one with the first candidates.
        """
        count, size, tried = len(self._batches), 2, 0
        while size < count and tried + comb(count, size) <= MAX_ENUMERATED:
            for positions in combinations(range(count), size):
                if self._may_fit(positions):
                    rejection = self._rejection(positions)
                    if rejection is None or rejection is BUDGET_EXHAUSTED:
                        return rejection or positions
            tried += comb(count, size)
            size += 1
        return self._find_densest(size) if size < count else None

    def _may_fit(self, positions: Positions) -> bool:
        self._session.stop.check()
        fits = self._fit_check()
        if fits is None:
            return True
        for position in positions:
            _add(fits, self._batches[position])
        return fits.is_sufficient()

    def _find_densest(self, least: int) -> Positions | Rejection | None:
        """The smallest set among the candidates that free most on a node, or in the cluster."""
        orders = [order for order in self._orders() if len(order) >= least]
        checks = [self._fit_check() for _ in orders]
        for size in range(1, len(self._batches)):
            found: set[Positions] = set()
            for order, fits in zip(orders, checks, strict=True):
                if len(order) < size:
                    continue
                if fits is not None:
                    _add(fits, self._batches[order[size - 1]])
                if size >= least and (fits is None or fits.is_sufficient()):
                    found.add(tuple(sorted(order[:size])))
            for positions in sorted(found):
                self._session.stop.check()
                rejection = self._rejection(positions)
                if rejection is None or rejection is BUDGET_EXHAUSTED:
                    return rejection or positions
        return None

    def _orders(self) -> list[list[int]]:
        """Candidates of each node and of the cluster: most GPUs first, then most CPUs and memory."""
        freed: dict[int, dict[int, Share]] = {}
        placements, tasks = self._session.ledger.placements, self._session.cluster.tasks
        for position, batches in enumerate(self._batches):
            self._session.stop.check()
            for batch in batches:
                for task in batch.tasks:
                    node = placements[task].node
                    share = self._session.ledger.share(tasks[task], node)
                    for place in (node, _CLUSTER):
                        shares = freed.setdefault(place, {})
                        shares[position] = add_shares(shares.get(position, NO_SHARE), share)
        return [_most_first(shares) for shares in freed.values()]


def _most_first(shares: dict[int, Share]) -> list[int]:
    """Positions by GPUs, CPUs and memory, the most first; equal ones in the order of the candidates."""
    keys = [(-gpu, -cpu, -memory, position) for position, (cpu, memory, gpu) in shares.items()]
    return [key[3] for key in sorted(keys)]


def _add(fits: FitCheck, batches: Sequence[Batch]) -> None:
    for batch in batches:
        fits.add(batch.tasks)

"""Node by node, the batches that free one more slot at the least harm (semantics R14.18)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, final

from tenure.solver.framework.session import Session
from tenure.solver.search.victim_sets.chosen_batches import ChosenBatches, with_swapped_measures
from tenure.solver.search.victim_sets.harm import Harm
from tenure.solver.search.victim_sets.joint_limits import Numbers

MAX_TOGETHER: Final = 4
"""Batches that are combined for one more task on a node; where these are not enough, those of least harm."""
MAX_ON_NODE: Final = 8
"""Batches of a node that are combined: half of them do the least harm, the others free the most GPUs."""


class _Option(NamedTuple):
    """Batches that free a slot for at least one more task on a node."""

    harm: Harm
    numbers: Numbers
    is_best: bool
    """Whether it is what was found; else nothing was, below this harm or with the looks that were left."""
    version: tuple[int, int]
    """Of the node, when they were found."""


@final
class NodeOptions:
    """What to choose next, beside what is chosen."""

    def __init__(self, session: Session, batches: ChosenBatches) -> None:
        self._session = session
        self._batches = batches
        self._options: dict[int, _Option] = {}
        """By node, as long as nothing changes there."""
        self._nodes: Final = [
            node
            for node, on in batches.sequence.nodes.items()
            if batches.slots.allowed >> node & 1 and any(number in batches.usable for number in on.numbers)
        ]

    def least(self, limit: Harm) -> Numbers:
        """The batches that free a slot on some node at the least harm, below a limit; nothing: none do."""
        best: _Option | None = None
        if self._batches.gpus_first:
            limit = with_swapped_measures(limit)
        for node in self._nodes:
            self._session.stop.check()
            if not self._batches.budget.has_checks:
                break
            option = self._options.get(node)
            if option is None or not self._holds(option, node, limit):
                option = self._options[node] = self._find(node, limit)
            if option.numbers and option.harm < limit:
                best, limit = option, option.harm
        return () if best is None else best.numbers

    def _holds(self, option: _Option, node: int, limit: Harm) -> bool:
        """Whether what was found is still the least on a node, or does too much harm. Beside more batches, it
        may be permitted no more. What fewer ones permit is looked for once its node changes.
        """
        batches = self._batches
        if option.version != batches.version(node):
            return False
        if option.harm >= limit:
            return True
        return option.is_best and (not batches.limits.is_limited or batches.are_permitted(option.numbers))

    def _find(self, node: int, limit: Harm) -> _Option:
        """The batches that free a slot on a node at the least harm, below a limit."""
        batches, version = self._batches, self._batches.version(node)
        slots, best, numbers = batches.slots.on(node), limit, tuple[int, ...]()
        closed = {*batches.chosen, *batches.excluded}
        on_node = [n for n in batches.sequence.on(node) if n in batches.usable and n not in closed]
        on_node.sort(key=batches.added)
        freed, lacking = {n: self._freed(n, node) for n in on_node}, batches.slots.lacking_gpus(node)
        few = _few(freed)
        for size in range(1, MAX_TOGETHER + 1):
            if best[:3] <= (batches.floor, 0, 0) and batches.sum(on_node[:size]).pods > best.pods:
                break
            for together in _that_free(few, [freed[number] for number in few], size, lacking):
                added = dict.fromkeys([each for number in together for each in batches.closed[number]])
                fresh = [number for number in added if number not in batches.chosen]
                if not batches.budget.check():
                    return _Option(best, numbers, False, version)
                if not batches.excluded.isdisjoint(fresh):
                    continue
                harm = batches.sum(fresh)
                if harm < best and self._slots_without(node, fresh) > slots and batches.are_permitted(fresh):
                    best, numbers = harm, tuple(sorted(fresh))
        if not numbers and len(on_node) > MAX_TOGETHER:
            many = self._many(node, on_node, slots)
            if many and (harm := batches.sum(many)) < best:
                best, numbers = harm, many
        return _Option(best, numbers, bool(numbers), version)

    def _many(self, node: int, on_node: Sequence[int], slots: int) -> Numbers:
        """Batches that together free a slot on a node, without needless ones; nothing: none do."""
        batches, taken = self._batches, list[int]()
        for number in on_node:
            closed = batches.closed[number]
            fresh = [each for each in closed if each not in batches.chosen and each not in taken]
            if not batches.budget.check():
                return ()
            if batches.excluded.isdisjoint(fresh) and batches.are_permitted([*taken, *fresh]):
                taken += fresh
                if self._slots_without(node, taken) > slots:
                    break
        else:
            return ()
        for number in sorted(taken, key=batches.own.__getitem__, reverse=True):
            left = [each for each in taken if each != number]
            is_alone = all(number not in batches.closed[each] for each in left)
            if is_alone and self._slots_without(node, left) > slots:
                taken = left
        return tuple(sorted(taken))

    def _slots_without(self, node: int, numbers: Iterable[int]) -> int:
        return self._batches.slots.on_without(node, self._leaving(numbers, node))

    def _freed(self, number: int, node: int) -> int:
        """GPUs that a batch, with those before it, frees on a node at most, in thousandths."""
        ledger = self._session.ledger
        return sum(
            [ledger.freed_gpu_milli(task) for task in self._leaving(self._batches.closed[number], node)]
        )

    def _leaving(self, numbers: Iterable[int], node: int) -> list[int]:
        """Tasks of batches on a node."""
        placements, batches = self._session.ledger.placements, self._batches.sequence.batches
        return [task for n in numbers for task in batches[n].tasks if placements[task].node == node]


def _few(freed: Mapping[int, int]) -> list[int]:
    """The batches that are combined, in their order, of those that free so many GPUs."""
    numbers, half = list(freed), MAX_ON_NODE // 2
    most = sorted(numbers[half:], key=lambda number: -freed[number])
    chosen = {*numbers[:half], *most[: MAX_ON_NODE - half]}
    return [number for number in numbers if number in chosen]


def _that_free(numbers: Sequence[int], freed: Sequence[int], size: int, lacking: int) -> Iterator[Numbers]:
    """Combinations of a size, in their order, of those that free so much together."""
    for first in range(len(numbers) - size + 1):
        others = freed[first + 1 :]
        if freed[first] + sum(sorted(others)[len(others) - size + 1 :]) < lacking:
            continue
        if size == 1:
            yield (numbers[first],)
        else:
            rest = _that_free(numbers[first + 1 :], others, size - 1, lacking - freed[first])
            yield from [(numbers[first], *each) for each in rest]

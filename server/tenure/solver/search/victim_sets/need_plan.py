"""Batches that free enough slots at the least harm, chosen by counting (semantics R14.18).

Node by node, the few batches are looked for that free a slot at the least harm; then batches are left out,
and swapped for others.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple, final

from tenure.solver.framework.session import Session
from tenure.solver.search.search import Budget, Search
from tenure.solver.search.victim_sequence import VictimSequence
from tenure.solver.search.victim_sets.harm import GPU_HOUR, LOWEST, Harm, Harms
from tenure.solver.search.victim_sets.joint_limits import JointLimits, Numbers
from tenure.solver.search.victim_sets.necessary_victims import is_coherent
from tenure.solver.search.victim_sets.slots import Slots

MAX_TOGETHER: Final = 4
"""Batches that are taken for one more task on a node."""
MAX_ON_NODE: Final = 8
"""Batches of a node that are combined: those that do the least harm."""
MAX_SWAPPED: Final = (16, 8)
"""Batches of a set of which one is swapped for others, and of which two are; in larger sets, none are."""
_NO_HARM: Final = Harm(LOWEST, 0, 0, 0, 0, 0, 0, 0, 0, ())


class _Option(NamedTuple):
    """Batches that free a slot for at least one more task on a node."""

    harm: Harm
    numbers: Numbers
    is_best: bool
    """Whether no other batches do that at less harm; else none do at less harm than this."""


@final
class NeedPlan:
    """Batches that are chosen for the tasks of one shape. Nothing is evicted."""

    def __init__(
        self,
        session: Session,
        search: Search,
        sequence: VictimSequence,
        count: int,
        harms: Harms,
        slots: Slots,
        budget: Budget,
    ) -> None:
        """Of the first `count` batches of a sequence."""
        self._session = session
        self._limits: Final = JointLimits(session, search, sequence, budget)
        self._sequence = sequence
        self._count = count
        self._harms = harms
        self._slots = slots
        self._budget = budget
        self._chosen: set[int] = set()
        self._excluded: set[int] = set()
        """Batches that are not to be chosen."""
        self._last: frozenset[int] = frozenset()
        """Batches that were chosen last."""
        self._by_ratio = False
        """Whether what a batch gives is divided by its harm."""
        self._floor = LOWEST
        """Lower priorities count as this one."""
        self._options: dict[int, _Option] = {}
        """By node, as long as nothing changes there."""
        self._own: Final[list[Harm]] = [self.harm((number,)) for number in range(count)]
        """Harm of each batch alone."""
        self._by_harm: Final = sorted(range(count), key=self._own.__getitem__)
        self._closed: Final = [self.completed((number,)) for number in range(count)]
        """Each batch with those that must go before it."""
        self._nodes: Final = [
            node for node, on in sequence.nodes.items() if on.numbers[0] < count and slots.allowed >> node & 1
        ]

    def sets(self, first: Numbers, missing: int, least: Harm) -> Iterator[Numbers]:
        """Sets with enough slots that may do less harm.

        One batch alone; for several slots, each set that is filled up slot by slot or by what batches give,
        and then all of these, the least one first, with some batches swapped for others.
        """
        if alone := self._alone(missing, least):
            yield alone
        found: dict[Numbers, Harm] = {}
        for filled in self._filled(first, missing, least):
            if filled and filled not in found:
                yield filled
                found[filled] = self.harm(filled)
        for filled in sorted(found, key=found.__getitem__) if missing > 1 else ():
            self._set_floor(found[filled].priority)
            self._take(filled)
            swapped = self._swapped(filled, missing)
            while swapped and swapped not in found:
                yield swapped
                found[swapped] = self.harm(swapped)
                swapped = self._swapped(swapped, missing)
            self._give(self._chosen.copy())

    def _filled(self, first: Numbers, missing: int, least: Harm) -> Iterator[Numbers]:
        """Batches slot by slot, at first of the lowest priority, then of any up to the highest of these, then
        up to that of `least`; for several slots, also batches by what they give for their harm, and the first
        victims.
        """
        yield self._fill_up((), missing, least)
        lowest = min([harm.priority for harm in self._own], default=LOWEST)
        highest = max([self._own[number].priority for number in self._last], default=LOWEST)
        for floor in sorted({max(highest, lowest), max(least.priority, lowest)}):
            self._set_floor(floor)
            if floor > lowest:
                yield self._fill_up((), missing, least)
            if missing > 1:
                self._by_ratio = True
                yield self._fill_up((), missing, least)
                self._by_ratio = False
        self._set_floor(LOWEST)
        if first and missing > 1:
            yield self._fill_up(first, missing, least)

    def _fill_up(self, start: Numbers, missing: int, least: Harm) -> Numbers:
        """Batches with others that give enough slots, without needless ones; nothing: none are enough."""
        self._take(start)
        if self._fill(missing, least):
            self._leave_out(missing)
        self._last = frozenset(self._chosen)
        found = tuple(sorted(self._chosen)) if self._slots.total >= missing else ()
        self._give(self._chosen.copy())
        return found

    def harm(self, numbers: Iterable[int]) -> Harm:
        """Of these batches, all evicted."""
        taken: dict[int, list[int]] = {}
        for number in numbers:
            batch = self._sequence.batches[number]
            taken.setdefault(batch.pod_group, []).extend(batch.tasks)
        return self._harms.of(taken, taken)

    def leaves_whole(self, numbers: Iterable[int]) -> bool:
        """Whether every subgroup keeps its minimum or no pod without these batches, if it did before."""
        facts, active = self._session.cluster.tasks, self._session.ledger.active_allocated
        left: dict[int, dict[int, int]] = {}
        for number in numbers:
            batch = self._sequence.batches[number]
            group = self._session.cluster.pod_groups[batch.pod_group]
            if batch.pod_group not in left:
                left[batch.pod_group] = {each.index: active[each.index] for each in group.pod_sets}
            for task in batch.tasks:
                pod_set = facts[task].pod_set
                if pod_set is not None:
                    left[batch.pod_group][pod_set] -= 1
        for pod_group, counts in left.items():
            root = self._session.cluster.pod_groups[pod_group].root
            if is_coherent(root, active) and not is_coherent(root, counts):
                return False
        return True

    def completed(self, numbers: Iterable[int]) -> Numbers:
        """Batches with those that must go before them."""
        found = set(numbers)
        self._sequence.complete(found, self._session.cluster.pod_groups)
        return tuple(sorted(found))

    def _alone(self, missing: int, least: Harm) -> Numbers:
        """The batch that alone is enough, at the least harm."""
        best: Numbers = ()
        for number in range(self._count):
            self._session.stop.check()
            numbers = self._closed[number]
            if self._own[number] >= least or not self._budget.has_checks:
                continue
            harm = self._own[number] if len(numbers) == 1 else self.harm(numbers)
            if harm < least and self._are_permitted(numbers):
                self._take(numbers)
                if self._slots.total >= missing:
                    best, least = numbers, harm
                self._give(numbers)
        return best

    def _swapped(self, best: Numbers, missing: int) -> Numbers:
        """A set that does less harm, with others in the place of one or two batches; nothing: there is none.

        The chosen batches are `best`, or else what is returned.
        """
        least = self.harm(best)
        for size, most in enumerate(MAX_SWAPPED, 1):
            for left_out in combinations(best, size) if 1 < len(best) <= most else ():
                self._session.stop.check()
                kept = [number for number in best if number not in left_out]
                if not self._budget.has_checks:
                    return ()
                if not all(set(self._closed[number]).isdisjoint(left_out) for number in kept):
                    continue
                self._give(left_out)
                self._excluded.update(left_out)
                if self._replace(left_out, missing) or self._fill(missing, least):
                    self._leave_out(missing)
                self._include(left_out)
                if self._slots.total >= missing and self.harm(self._chosen) < least:
                    return tuple(sorted(self._chosen))
                self._give(self._chosen.difference(kept))
                self._take([number for number in best if number not in self._chosen])
        return ()

    def _replace(self, left_out: Numbers, missing: int) -> bool:
        """Choose a batch, with those before it, that is enough at less harm than these."""
        least = self._sum(left_out)
        for number in self._by_harm:
            if self._own[number] >= least or not self._budget.check():
                break
            added = [each for each in self._closed[number] if each not in self._chosen]
            if number in self._chosen or not self._excluded.isdisjoint(added) or self._sum(added) >= least:
                continue
            if not self._are_permitted(added):
                continue
            self._take(added)
            if self._slots.total >= missing:
                return True
            self._give(added)
        return False

    def _are_permitted(self, added: Iterable[int]) -> bool:
        """Whether these batches may be disrupted beside the chosen ones."""
        return self._limits.permit(self._chosen.union(added))

    def _still_holds(self, option: _Option) -> bool:
        """Whether what was found beside fewer batches is permitted beside the chosen ones, too."""
        return not self._limits.is_limited or self._are_permitted(option.numbers)

    def _include(self, numbers: Iterable[int]) -> None:
        """Let batches that were excluded be chosen again."""
        for number in numbers:
            self._excluded.discard(number)
            self._forget(number)

    def _set_floor(self, priority: int) -> None:
        """Let batches count as equal in priority up to this one."""
        if priority != self._floor:
            self._floor = priority
            self._options.clear()

    def _fill(self, missing: int, least: Harm) -> bool:
        """Choose batches until there are enough slots; whether there are, at less harm."""
        while self._slots.total < missing:
            self._session.stop.check()
            self._set_floor(max([self._floor, *[self._own[number].priority for number in self._chosen]]))
            best = (self._best_by_ratio(missing) if self._by_ratio else ()) or self._best_by_slot(least)
            if not best or not self._budget.has_checks:
                return False
            self._take(best)
            if self.harm(sorted(self._chosen)) >= least:
                return False
        return True

    def _best_by_slot(self, least: Harm) -> Numbers:
        """The batches that free a slot on some node at the least harm."""
        best: _Option | None = None
        for node in self._nodes:
            self._session.stop.check()
            limit = least if best is None else best.harm
            option = self._options.get(node)
            if option is None or (option.harm < limit and not (option.is_best and self._still_holds(option))):
                option = self._options[node] = self._option(node, limit)
            if option.numbers and option.harm < limit:
                best = option
        return () if best is None else best.numbers

    def _best_by_ratio(self, missing: int) -> Numbers:
        """The batch that frees most slots for its harm; nothing: none frees any alone."""
        before, best, most = self._slots.total, tuple[int, ...](), (_NO_HARM, 1)
        for number in range(self._count):
            if number in self._chosen or number in self._excluded or not self._budget.has_checks:
                continue
            added = tuple([each for each in self._closed[number] if each not in self._chosen])
            if not self._excluded.isdisjoint(added):
                continue
            harm = self._sum(added)
            self._take(added)
            gain = min(self._slots.total, missing) - before
            self._give(added)
            is_better = gain > 0 and (not best or _is_cheaper(harm, gain, *most))
            if is_better and self._are_permitted(added):
                best, most = added, (harm, gain)
        return best

    def _option(self, node: int, limit: Harm) -> _Option:
        """The batches that free a slot on a node at the least harm, below a limit."""
        slots, best, numbers = self._slots.on(node), limit, tuple[int, ...]()
        closed = {*self._chosen, *self._excluded}
        on_node = [n for n in self._sequence.on(node) if n < self._count and n not in closed]
        on_node.sort(key=self._own.__getitem__)
        for size in range(1, MAX_TOGETHER + 1):
            if best[:3] <= (self._floor, 0, 0) and self._sum(on_node[:size]).pods > best.pods:
                break
            for together in combinations(on_node[:MAX_ON_NODE], size):
                added = dict.fromkeys([each for number in together for each in self._closed[number]])
                fresh = [number for number in added if number not in self._chosen]
                if not self._budget.check():
                    return _Option(best, numbers, False)
                if not self._excluded.isdisjoint(fresh):
                    continue
                harm = self._sum(fresh)
                if harm >= best or self._slots.on_without(node, self._leaving(fresh, node)) <= slots:
                    continue
                if self._are_permitted(fresh):
                    best, numbers = harm, tuple(sorted(fresh))
        return _Option(best, numbers, bool(numbers))

    def _leaving(self, numbers: Iterable[int], node: int) -> list[int]:
        """Tasks of batches on a node."""
        placements, batches = self._session.ledger.placements, self._sequence.batches
        return [task for n in numbers for task in batches[n].tasks if placements[task].node == node]

    def _sum(self, numbers: Sequence[int]) -> Harm:
        """Harm of batches, as if that of one did not depend on the others, and without their names."""
        priority, below, cost, pods, gpus, ended, lost, beyond = self._floor, 0, 0, 0, 0, 0, 0, 0
        for number in numbers:
            harm = self._own[number]
            priority, below = max(priority, harm.priority), below + harm.below_guarantee
            cost, pods, gpus = max(cost, harm.cost_class), pods + harm.pods, gpus + harm.gpu_milli
            ended, lost, beyond = ended + harm.ended, lost + harm.lost, beyond + harm.beyond_first
        return Harm(priority, below, cost, pods, gpus, lost // GPU_HOUR, ended, lost, beyond, ())

    def _leave_out(self, missing: int) -> None:
        """Give up chosen batches that are not needed, those that do most harm first."""
        for number in sorted(self._chosen, key=self._own.__getitem__, reverse=True):
            if not self._budget.has_checks:
                return
            if any(number in self._closed[other] for other in self._chosen if other != number):
                continue
            self._give((number,))
            if self._slots.total < missing:
                self._take((number,))

    def _take(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._chosen.add(number)
            self._slots.leave(self._sequence.batches[number].tasks)
            self._forget(number)

    def _give(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._chosen.remove(number)
            self._slots.stay(self._sequence.batches[number].tasks)
            self._forget(number)

    def _forget(self, number: int) -> None:
        """The options of all nodes of its pod group may have changed."""
        placements, sequence = self._session.ledger.placements, self._sequence
        if self._limits.is_budgeted(number):
            self._options.clear()  # of all nodes, since less or more of the budgets is left
            return
        for other in sequence.of(sequence.batches[number].pod_group):
            for task in sequence.batches[other].tasks:
                self._options.pop(placements[task].node, None)


def _is_cheaper(harm: Harm, gain: int, other: Harm, other_gain: int) -> bool:
    """Whether a batch does less harm for each slot."""
    return _for_slots(harm, other_gain) < _for_slots(other, gain)


def _for_slots(harm: Harm, slots: int) -> Harm:
    """The harm with its amounts times a number of slots."""
    pods, gpus, lost = harm.pods * slots, harm.gpu_milli * slots, harm.lost * slots
    return harm._replace(pods=pods, gpu_milli=gpus, hours=lost // GPU_HOUR, lost=lost)

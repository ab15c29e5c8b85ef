"""Sets of batches that free enough slots: filled up in several ways, then changed while that does less harm.

Nothing is simulated; what is chosen and what each batch would do is counted (`chosen_batches`,
`node_options`; semantics R14.18).
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.search.victim_sets.chosen_batches import ChosenBatches
from tenure.solver.search.victim_sets.harm import LOWEST, Harm
from tenure.solver.search.victim_sets.joint_limits import Numbers
from tenure.solver.search.victim_sets.node_options import NodeOptions

MAX_SWAPPED: Final = (16, 8)
"""The largest sets in which one batch is swapped for others, and in which two are."""
_NO_HARM: Final = Harm(LOWEST, 0, 0, 0, 0, 0, 0, 0, ())


@final
class NeedPlan:
    """Looks for sets of batches with so many slots."""

    def __init__(self, session: Session, batches: ChosenBatches, missing: int) -> None:
        """None is chosen yet."""
        self._session = session
        self._batches = batches
        self._options: Final = NodeOptions(session, batches)
        self._missing = missing
        """Slots that there must be."""
        self._last: frozenset[int] = frozenset()
        """Batches that were chosen last."""

    def sets(self, first: Numbers, least: Harm) -> Iterator[Numbers]:
        """Sets that may do less harm than `least`. `first` are victims that suffice.

        One batch alone; for several slots, each set that is filled up slot by slot or by what batches give,
        and then all of these, the least one first, with some batches swapped for others.
        """
        batches = self._batches
        if alone := self._alone(least):
            yield alone
        found: dict[Numbers, Harm] = {}
        for filled in self._filled(first, least):
            if filled and filled not in found:
                if batches.limits.permit(filled):
                    yield filled
                found[filled] = batches.harm(filled)
        for filled in sorted(found, key=found.__getitem__) if self._missing > 1 else ():
            if not batches.budget.has_checks:
                return
            batches.set_floor(found[filled].priority)
            batches.become(filled)
            swapped = self._improved(filled)
            while swapped and swapped not in found:
                yield swapped
                found[swapped] = batches.harm(swapped)
                swapped = self._improved(swapped)
            batches.become(())

    def _alone(self, least: Harm) -> Numbers:
        """The batch that alone is enough, at the least harm."""
        best, batches = tuple[int, ...](), self._batches
        for number in batches.usable:
            self._session.stop.check()
            numbers = batches.closed[number]
            if batches.own[number] >= least or not batches.budget.has_checks:
                continue
            harm = batches.own[number] if len(numbers) == 1 else batches.harm(numbers)
            is_enough = harm < least and batches.gain(number)[1] >= self._missing - batches.slots.total
            if is_enough and batches.are_permitted(numbers):
                best, least = numbers, harm
        return best

    def _filled(self, first: Numbers, least: Harm) -> Iterator[Numbers]:
        """Batches slot by slot, at first of the lowest priority, then of any up to the highest of these, then
        up to that of `least`; for several slots, also batches by what they give for their harm, those with
        few GPUs where plugins limit what queues lose, and the first victims.
        """
        batches = self._batches
        yield self._fill_up((), least)
        lowest = min([harm.priority for harm in batches.own], default=LOWEST)
        highest = max([batches.own[number].priority for number in self._last], default=LOWEST)
        for floor in sorted({max(highest, lowest), max(least.priority, lowest)}):
            batches.set_floor(floor)
            if floor > lowest:
                yield self._fill_up((), least)
            if self._missing > 1:
                yield self._fill_up((), least, by_ratio=True)
                if batches.limits.is_limited:
                    batches.swap_measures()
                    yield self._fill_up((), least)
                    batches.swap_measures()
        batches.set_floor(LOWEST)
        if first and self._missing > 1:
            yield self._fill_up(first, least)

    def _fill_up(self, start: Numbers, least: Harm, by_ratio: bool = False) -> Numbers:
        """Batches with others that give enough slots, without needless ones; nothing: none are enough."""
        batches = self._batches
        if not batches.budget.has_checks:
            return ()
        batches.take(start)
        if self._fill(least, by_ratio):
            batches.leave_out(self._missing)
        self._last = frozenset(batches.chosen)
        found = self._whole()
        batches.become(())
        return found

    def _whole(self) -> Numbers:
        """The chosen batches with those that must go before them; nothing: these are not enough."""
        batches = self._batches
        return batches.completed(batches.chosen) if batches.slots.total >= self._missing else ()

    def _less(self, least: Harm) -> Numbers:
        """The chosen batches, completed, if they are enough, permitted, and do less harm; else nothing."""
        found, batches = self._whole(), self._batches
        if not found or batches.harm(found) >= least or not batches.limits.permit(found):
            return ()
        batches.become(found)
        return found

    def _fill(self, least: Harm, by_ratio: bool = False) -> bool:
        """Choose batches until there are enough slots; whether there are, at less harm."""
        batches = self._batches
        while batches.slots.total < self._missing:
            self._session.stop.check()
            batches.raise_floor()
            best = (self._best_by_ratio() if by_ratio else ()) or self._options.least(least)
            if not batches.budget.has_checks:
                return False
            if not best:
                if not self._make_way():
                    return False
                continue
            batches.take(best)
            if batches.harm(sorted(batches.chosen)) >= least:
                return False
        return True

    def _make_way(self) -> bool:
        """Give up batches that free no slot, if others may be permitted then; whether there are any."""
        batches = self._batches
        before = len(batches.chosen)
        if batches.limits.is_limited:
            batches.leave_out(batches.slots.total)
            batches.change_all()
        return len(batches.chosen) < before

    def _best_by_ratio(self) -> Numbers:
        """The batch that frees most slots for its harm; nothing: none frees any alone."""
        best, most, batches = tuple[int, ...](), (_NO_HARM, 1), self._batches
        for number in batches.usable:
            if number in batches.chosen or number in batches.excluded or not batches.budget.has_checks:
                continue
            added, gain = batches.gain(number)
            if gain <= 0 or not batches.excluded.isdisjoint(added):
                continue
            harm, gain = batches.sum(added), min(gain, self._missing - batches.slots.total)
            if (not best or _is_cheaper(harm, gain, *most)) and batches.are_permitted(added):
                best, most = added, (harm, gain)
        return best

    def _improved(self, best: Numbers) -> Numbers:
        """A set that does less harm, of the same batches but some; nothing: there is none.

        The chosen batches are `best`, or else what is returned.
        """
        least = self._batches.harm(best)
        return self._swapped(best, least) or self._with_one_more(best, least)

    def _swapped(self, best: Numbers, least: Harm) -> Numbers:
        """A set with others in the place of some batches."""
        batches = self._batches
        for left_out in self._together(best):
            self._session.stop.check()
            kept = [number for number in best if number not in left_out]
            if not batches.budget.has_checks:
                return ()
            if not all(set(batches.closed[number]).isdisjoint(left_out) for number in kept):
                continue
            batches.give(left_out)
            batches.excluded.update(left_out)
            if self._replace(left_out) or self._fill(least):
                batches.leave_out(self._missing)
            batches.include(left_out)
            if found := self._less(least):
                return found
            batches.become(best)
        return ()

    def _together(self, best: Numbers) -> Iterator[Numbers]:
        """Batches of a set that are given up together: one, those of a pod group or node, or two."""
        (one, two), sequence = MAX_SWAPPED, self._batches.sequence
        placements = self._session.ledger.placements
        of_group, on_node = dict[int, list[int]](), dict[int, list[int]]()
        for number in best:
            batch = sequence.batches[number]
            of_group.setdefault(batch.pod_group, []).append(number)
            for node in dict.fromkeys([placements[task].node for task in batch.tasks]):
                on_node.setdefault(node, []).append(number)
        each = combinations(best, 1 if len(best) <= one else 0)
        pairs = combinations(best, 2 if len(best) <= two else 0)
        alike = [tuple(numbers) for numbers in (*of_group.values(), *on_node.values()) if len(numbers) > 1]
        yield from dict.fromkeys([some for some in (*each, *alike, *pairs) if 0 < len(some) < len(best)])

    def _replace(self, left_out: Numbers) -> bool:
        """Choose a batch, with those before it, that is enough at less harm than these."""
        batches = self._batches
        least = batches.sum(left_out)
        for number in batches.by_harm:
            if batches.own[number] >= least or not batches.budget.check():
                break
            if number in batches.chosen:
                continue
            added, gain = batches.gain(number)
            if gain < self._missing - batches.slots.total or not batches.excluded.isdisjoint(added):
                continue
            if batches.sum(added) < least and batches.are_permitted(added):
                batches.take(added)
                return True
        return False

    def _with_one_more(self, best: Numbers, least: Harm) -> Numbers:
        """A set with one more batch, without those that are needless then."""
        batches = self._batches
        for number in batches.by_harm:
            self._session.stop.check()
            if batches.own[number] >= least or not batches.budget.has_checks:
                break
            if number in batches.chosen:
                continue
            added, gain = batches.gain(number)
            if gain <= 0:
                continue
            batches.take(added)
            batches.leave_out(self._missing)
            if found := self._less(least):
                return found
            batches.become(best)
        return ()


def _is_cheaper(harm: Harm, gain: int, other: Harm, other_gain: int) -> bool:
    """Whether a batch does less harm for each slot."""
    return _for_slots(harm, other_gain) < _for_slots(other, gain)


def _for_slots(harm: Harm, slots: int) -> Harm:
    """The harm with its amounts times a number of slots."""
    return harm._replace(pods=harm.pods * slots, gpu_milli=harm.gpu_milli * slots, lost=harm.lost * slots)

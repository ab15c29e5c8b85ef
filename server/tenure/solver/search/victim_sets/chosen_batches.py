"""Batches that are chosen to free slots for the tasks of one shape: what they do, and what more would do.

Nothing is evicted. Slots are counted, and harm is added up (semantics R14.18).
"""

from collections.abc import Iterable, Sequence
from typing import Final, final

from tenure.solver.framework.session import Session
from tenure.solver.search.search import Budget, Search
from tenure.solver.search.victim_sequence import VictimSequence
from tenure.solver.search.victim_sets.harm import LOWEST, WORST, Harm, Harms
from tenure.solver.search.victim_sets.joint_limits import JointLimits, Numbers
from tenure.solver.search.victim_sets.necessary_victims import is_coherent
from tenure.solver.search.victim_sets.slots import Slots


@final
class ChosenBatches:
    """The chosen ones of the first batches of a sequence, and those that must not be chosen now."""

    def __init__(
        self,
        session: Session,
        search: Search,
        sequence: VictimSequence,
        count: int,
        harms: Harms,
        slots: Slots,
        budget: Budget,
        least: Harm,
    ) -> None:
        """Of the first `count` batches, for sets of less harm than `least`."""
        self._session = session
        self._harms = harms
        self.limits: Final = JointLimits(session, search, sequence, budget)
        self.sequence: Final = sequence
        self.slots: Final = slots
        self.budget: Final = budget
        self.chosen: Final[set[int]] = set()
        self.excluded: Final[set[int]] = set()
        """Batches that are not to be chosen."""
        self.gpus_first = False
        """Whether GPUs count before pods."""
        self.floor = LOWEST
        """Lower priorities count as this one."""
        self._below: frozenset[int] = frozenset()
        """Queues that lose GPUs below their guarantees by a chosen batch: that is counted once."""
        self._changes = 0
        """Of what changes options of all nodes."""
        self._changes_on: dict[int, int] = {}
        """By node."""
        self._gains: dict[int, tuple[Numbers, int]] = {}
        """By batch, as long as nothing changes on nodes of its pod group."""
        self.own: list[Harm] = [self._alone(number, least) for number in range(count)]
        """Harm of each batch alone."""
        self.usable: Final = dict.fromkeys(
            [number for number in range(count) if self._may_do_less(number, least)]
        )
        """Batches that may be chosen: others do as much harm in any set as one may do."""
        self.by_harm: Final = sorted(self.usable, key=self.own.__getitem__)
        self.closed: Final = [self.completed((number,)) for number in range(count)]
        """Each batch with those that must go before it."""
        self._below_by: Final = [self._queues_below(number) for number in range(count)]
        """Queues that lose GPUs below their guarantees by each batch alone."""

    def harm(self, numbers: Iterable[int]) -> Harm:
        """Of these batches, all evicted."""
        taken: dict[int, list[int]] = {}
        for number in numbers:
            batch = self.sequence.batches[number]
            taken.setdefault(batch.pod_group, []).extend(batch.tasks)
        return self._harms.of(taken, taken)

    def _rank(self, number: int) -> int:
        return self._harms.rank(self.sequence.batches[number].pod_group)

    def _alone(self, number: int, least: Harm) -> Harm:
        return WORST if self._rank(number) > least.priority else self.harm((number,))

    def _may_do_less(self, number: int, least: Harm) -> bool:
        """Whether a set with a batch may: in one that spares no queue, its priority and cost may be lower."""
        own = self.own[number]._replace(priority=self._rank(number), cost_class=0, beyond_first=0, names=())
        return own < least

    def sum(self, numbers: Sequence[int]) -> Harm:
        """Harm that batches add, as if that of one did not depend on the others, and without their names."""
        priority, cost, pods, gpus, ended, lost, beyond = self.floor, 0, 0, 0, 0, 0, 0
        below = set[int]()
        for number in numbers:
            harm = self.own[number]
            priority = max(priority, harm.priority)
            if harm.below_guarantee:
                below |= self._below_by[number] - self._below
            cost, pods, gpus = max(cost, harm.cost_class), pods + harm.pods, gpus + harm.gpu_milli
            ended, lost, beyond = ended + harm.ended, lost + harm.lost, beyond + harm.beyond_first
        return Harm(priority, len(below), cost, pods, gpus, lost, ended, beyond, ())

    def added(self, number: int) -> Harm:
        """Harm that a batch adds to that of the chosen ones."""
        return self.sum((number,))

    def leaves_whole(self, numbers: Iterable[int]) -> bool:
        """Whether every subgroup keeps its minimum or no pod without these batches, if it did before."""
        facts, active = self._session.cluster.tasks, self._session.ledger.active_allocated
        left: dict[int, dict[int, int]] = {}
        for number in numbers:
            batch = self.sequence.batches[number]
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
        self.sequence.complete(found, self._session.cluster.pod_groups)
        return tuple(sorted(found))

    def are_permitted(self, added: Iterable[int]) -> bool:
        """Whether these batches may be disrupted beside the chosen ones."""
        return self.limits.permit(self.chosen.union(added))

    def gain(self, number: int) -> tuple[Numbers, int]:
        """A batch with those that must go before it and are not chosen, and the slots that they free."""
        known = self._gains.get(number)
        if known is None:
            leaving, placements = dict[int, list[int]](), self._session.ledger.placements
            added = tuple([each for each in self.closed[number] if each not in self.chosen])
            for each in added:
                for task in self.sequence.batches[each].tasks:
                    leaving.setdefault(placements[task].node, []).append(task)
            slots = [self.slots.on_without(node, on) - self.slots.on(node) for node, on in leaving.items()]
            known = self._gains[number] = added, sum(slots)
        return known

    def version(self, node: int) -> tuple[int, int]:
        """Changes with what may be chosen on a node, or what it would do."""
        return self._changes, self._changes_on.get(node, 0)

    def change_all(self) -> None:
        """What may be chosen changed on all nodes."""
        self._changes += 1

    def set_floor(self, priority: int) -> None:
        """Let batches count as equal in priority up to this one."""
        if priority != self.floor:
            self.floor = priority
            self.change_all()

    def raise_floor(self) -> None:
        """Let batches count as equal in priorities and guarantees up to the chosen ones."""
        self.set_floor(max([self.floor, *[self.own[number].priority for number in self.chosen]]))
        below = frozenset[int]().union(*[self._below_by[number] for number in self.chosen])
        if below != self._below:
            self._below = below
            self.change_all()

    def swap_measures(self) -> None:
        """Count GPUs before pods, or again pods before GPUs."""
        self.gpus_first = not self.gpus_first
        self.own = [with_swapped_measures(harm) for harm in self.own]
        self.change_all()

    def take(self, numbers: Iterable[int]) -> None:
        """Choose batches."""
        for number in numbers:
            self.chosen.add(number)
            self.slots.leave(self.sequence.batches[number].tasks)
            self._change(number)

    def give(self, numbers: Iterable[int]) -> None:
        """Let batches be chosen no more."""
        for number in numbers:
            self.chosen.remove(number)
            self.slots.stay(self.sequence.batches[number].tasks)
            self._change(number)

    def become(self, numbers: Iterable[int]) -> None:
        """Choose just these batches."""
        wanted = set(numbers)
        self.give(sorted(self.chosen - wanted))
        self.take(sorted(wanted - self.chosen))

    def include(self, numbers: Iterable[int]) -> None:
        """Let batches that were excluded be chosen again."""
        for number in numbers:
            self.excluded.discard(number)
            self._change(number)

    def leave_out(self, missing: int) -> None:
        """Give up chosen batches that are not needed for so many slots, those that do most harm first."""
        for number in sorted(self.chosen, key=self.own.__getitem__, reverse=True):
            if not self.budget.has_checks:
                return
            if any(number in self.closed[other] for other in self.chosen if other != number):
                continue
            self.give((number,))
            if self.slots.total < missing:
                self.take((number,))

    def _change(self, number: int) -> None:
        """On all nodes of its pod group, what may be chosen may have changed."""
        placements, sequence = self._session.ledger.placements, self.sequence
        if self.limits.is_budgeted(number):
            self.change_all()  # since less or more of the budgets is left
        tasks = [
            task
            for other in sequence.of(sequence.batches[number].pod_group)
            for task in sequence.batches[other].tasks
        ]
        changed = dict[int, None]()
        for node in dict.fromkeys([placements[task].node for task in tasks]):
            self._changes_on[node] = self._changes_on.get(node, 0) + 1
            changed.update(dict.fromkeys([sequence.batches[other].pod_group for other in sequence.on(node)]))
        for pod_group in changed:
            for other in sequence.of(pod_group):  # what must go before it may be on one of these nodes
                self._gains.pop(other, None)

    def _queues_below(self, number: int) -> frozenset[int]:
        if number not in self.usable or not self.own[number].below_guarantee:
            return frozenset()
        batch = self.sequence.batches[number]
        queue = self._session.cluster.pod_groups[batch.pod_group].queue
        gpus = sum([self._harms.gpu_milli(task) for task in batch.tasks])
        return frozenset() if queue is None else frozenset(self._harms.queues_below({queue: gpus}))


def with_swapped_measures(harm: Harm) -> Harm:
    """With GPUs in the place of pods, and the other way round."""
    return harm._replace(pods=harm.gpu_milli, gpu_milli=harm.pods)

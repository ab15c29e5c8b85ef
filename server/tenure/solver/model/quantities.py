"""Amounts that are added up and compared all the time: what nodes have free, and what tasks take.

The resources that every node has are attributes, which cost a tenth of what items of a list cost.
"""

from typing import Final

from tenure.solver.model.resources import CPU, FIXED_SLOTS, GPU, MEMORY, PODS, Vector

FIXED: Final = len(FIXED_SLOTS)


class Quantities:
    """A vector that can be changed; indexed by slot like one."""

    __slots__ = ("cpu", "gpu", "memory", "others", "pods")

    def __init__(self, vector: Vector) -> None:
        self.cpu, self.memory, self.gpu, self.pods = vector[CPU], vector[MEMORY], vector[GPU], vector[PODS]
        self.others: list[int] = list(vector[FIXED:])

    def copy(self) -> "Quantities":
        """The same, to be changed apart."""
        return Quantities(self.vector())

    def vector(self) -> Vector:
        """One amount per slot."""
        return (self.cpu, self.memory, self.gpu, self.pods, *self.others)

    def __getitem__(self, slot: int) -> int:
        if slot == GPU:
            return self.gpu
        if slot == CPU:
            return self.cpu
        if slot == MEMORY:
            return self.memory
        return self.pods if slot == PODS else self.others[slot - FIXED]

    def __setitem__(self, slot: int, amount: int) -> None:
        if slot == GPU:
            self.gpu = amount
        elif slot == CPU:
            self.cpu = amount
        elif slot == MEMORY:
            self.memory = amount
        elif slot == PODS:
            self.pods = amount
        else:
            self.others[slot - FIXED] = amount

    def add(self, more: "Quantities") -> None:
        """These and more of each."""
        self.cpu += more.cpu
        self.memory += more.memory
        self.gpu += more.gpu
        self.pods += more.pods
        if more.others:
            for i, amount in enumerate(more.others):
                self.others[i] = self.others[i] + amount

    def subtract(self, less: "Quantities") -> None:
        """These and less of each."""
        self.cpu -= less.cpu
        self.memory -= less.memory
        self.gpu -= less.gpu
        self.pods -= less.pods
        if less.others:
            for i, amount in enumerate(less.others):
                self.others[i] = self.others[i] - amount

    def cover(self, wanted: "Quantities") -> bool:
        """Whether there is enough of each for what is wanted."""
        if self.gpu < wanted.gpu or self.cpu < wanted.cpu:
            return False
        if self.memory < wanted.memory or self.pods < wanted.pods:
            return False
        if wanted.others:
            for i, amount in enumerate(wanted.others):
                if self.others[i] < amount:
                    return False
        return True

    def cover_with(self, more: "Quantities", wanted: "Quantities") -> bool:
        """The same of these and more of each together."""
        if self.gpu + more.gpu < wanted.gpu or self.cpu + more.cpu < wanted.cpu:
            return False
        if self.memory + more.memory < wanted.memory or self.pods + more.pods < wanted.pods:
            return False
        if wanted.others:
            for i, amount in enumerate(wanted.others):
                if self.others[i] + more.others[i] < amount:
                    return False
        return True

    def times(self, wanted: "Quantities", most: int) -> int:
        """How many times what is wanted is in these, rounded down; `most` when nothing is wanted."""
        if wanted.cpu:
            most = min(most, self.cpu // wanted.cpu)
        if wanted.memory:
            most = min(most, self.memory // wanted.memory)
        if wanted.gpu:
            most = min(most, self.gpu // wanted.gpu)
        if wanted.pods:
            most = min(most, self.pods // wanted.pods)
        if wanted.others:
            for i, amount in enumerate(wanted.others):
                if amount:
                    most = min(most, self.others[i] // amount)
        return most

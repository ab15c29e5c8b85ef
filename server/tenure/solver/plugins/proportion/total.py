"""A total that is added to all the time: its parts are held by themselves, a tuple would be made anew."""

from tenure.solver.model.resources import Share


class Total:
    """CPU, memory and GPUs of some tasks, as in a Share."""

    __slots__ = ("cpu", "gpu", "memory")

    def __init__(self, share: Share) -> None:
        self.cpu, self.memory, self.gpu = share

    def add(self, share: Share) -> None:
        """With this share as well."""
        self.cpu += share[0]
        self.memory += share[1]
        self.gpu += share[2]

    def subtract(self, share: Share) -> None:
        """Without this share."""
        self.cpu -= share[0]
        self.memory -= share[1]
        self.gpu -= share[2]

    def share(self) -> Share:
        """All of it."""
        return (self.cpu, self.memory, self.gpu)

"""The free GPUs of a cluster that its workloads cannot use, by cause (semantics R3.87)."""

from typing import NamedTuple


class UnusableGpus(NamedTuple):
    """Thousandths of GPUs; the causes add up to what is unusable, as the mean over the pods of the mix."""

    free: int
    no_cpu: int
    """Where enough devices are free, and too little CPU."""
    no_gpu: int
    """Where CPU is free, and too few or too small devices; also parts that are too small beside others."""
    neither: int
    """Where both are too few."""
    other_kind: int
    """On nodes that the pod does not accept, or that do not accept it."""

    @property
    def total(self) -> int:
        """Of all causes."""
        return self.no_cpu + self.no_gpu + self.neither + self.other_kind

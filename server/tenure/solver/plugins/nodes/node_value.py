"""What the mix cannot use of the free GPUs of a node (semantics R3.81, R3.82). Integers only.

For a request of the mix, the free parts of devices that are large enough are usable, if the node takes one
such pod; with copies of the pod, what all of them take. With the weights a and b, V is a/(a+b) of what is
unusable for one, and b/(a+b) of what is unusable for copies, as the mean over the mix. With W pods in it,
(a+b) * W * V is an integer of MiB.
"""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Final

from tenure.solver.plugins.nodes.workload_mix import MixEntry

UPPER_THRESHOLDS: Final = (
    *(40_005, 80_043, 120_144, 160_343, 200_671, 241_162, 281_851, 322_773, 363_965, 405_465),
    *(447_312, 489_548, 532_217, 575_364, 619_039, 663_294, 708_185, 753_772, 800_119, 847_298),
    *(895_384, 944_462, 994_623, 1_045_969, 1_098_612, 1_152_680, 1_208_311, 1_265_666, 1_324_925),
    *(1_386_294, 1_450_010, 1_516_347, 1_585_627, 1_658_228, 1_734_601, 1_815_290, 1_900_959, 1_992_430),
    *(2_090_741, 2_197_225, 2_313_635, 2_442_347, 2_586_689, 2_751_535, 2_944_439, 3_178_054, 3_476_099),
    *(3_891_820, 4_595_120),
)
"""ln(k / (100 - k)) for k from 51 to 99, in millionths of a GPU, rounded."""
THRESHOLDS: Final = (*[-each for each in reversed(UPPER_THRESHOLDS)], 0, *UPPER_THRESHOLDS)
"""Decrease of V, in millionths of a GPU, from which on a placement has level 1, 2, ... 99."""
MILLION: Final = 1_000_000
MOST_KEPT: Final = 1 << 14
"""States of devices whose results are kept for a class of nodes; beyond it they are found again."""


class _Need:
    """A request for GPUs of the mix on the devices of a class of nodes, with all amounts of CPU beside it."""

    __slots__ = ("counts", "cpus", "number", "size", "sums", "taken")

    def __init__(self, size: int, number: int, counts: dict[int, int]) -> None:
        """`counts`: pods by CPU."""
        self.size: Final = size
        """MiB of each device."""
        self.number: Final = number
        self.taken: Final = size * number
        self.cpus: Final = sorted(counts)
        self.counts: Final = [counts[cpu] for cpu in self.cpus]
        self.sums: Final = [0, *accumulate(self.counts)]
        """Pods with less CPU than each; the last: all."""


class NodeValue:
    """The value of nodes of one class, by what is free."""

    def __init__(
        self,
        device_memory: int,
        accepted: Iterable[MixEntry],
        pods: int,
        weights: tuple[int, int],
    ) -> None:
        """`accepted`: requests of the mix that may run there; `pods`: all pods of the mix, at least 1.
        `weights` (a, b): of what is unusable for one pod, and for copies.
        """
        self.device_memory: Final = device_memory
        self._of_one, self._of_copies = weights
        self.weight: Final = (self._of_one + self._of_copies) * pods
        """(a+b) * W."""
        unit = self.weight * device_memory
        self._thresholds: Final = [-(-each * unit // MILLION) for each in THRESHOLDS]
        by_need = dict[tuple[int, int], dict[int, int]]()
        for entry in accepted:
            request = entry.request
            if request.devices:
                need = (request.share_on(device_memory), request.devices)
                counts = by_need.setdefault(need, {})
                counts[request.cpu] = counts.get(request.cpu, 0) + entry.pods
        self._needs: Final = [_Need(size, number, by_need[size, number]) for size, number in sorted(by_need)]
        self._permitted: dict[tuple[int, tuple[int, ...]], list[tuple[_Need, int, int]]] = {}
        """Results of `_by_devices`."""

    def usable(self, cpu: int, whole: int, parts: tuple[int, ...]) -> int:
        """(a+b) * W * (R - V): the part of the free GPUs that the mix can use.

        `whole` devices are free, and `parts` (MiB) of others.
        """
        total = 0
        for need, free, copies in self._by_devices(whole, parts):
            cpus, sums = need.cpus, need.sums
            end = bisect_right(cpus, cpu)
            if end:
                first = bisect_right(cpus, cpu // copies)  # so often, CPU is enough for all of them
                pods = sums[first] * copies
                for place in range(first, end):
                    pods += need.counts[place] * (cpu // cpus[place])
                total += self._of_one * free * sums[end] + self._of_copies * need.taken * pods
        return total

    def _by_devices(self, whole: int, parts: tuple[int, ...]) -> list[tuple[_Need, int, int]]:
        """What devices alone permit: needs, what is usable for one pod (MiB), and the number of copies."""
        key = (whole, parts)
        found = self._permitted.get(key)
        if found is not None:
            return found
        found, memory = [], self.device_memory
        for need in self._needs:
            size = need.size
            count, free, copies = whole, whole * memory, whole * (memory // size)
            for part in parts:
                if part >= size:
                    count += 1
                    free += part
                    copies += part // size
            if count >= need.number:
                found.append((need, free, copies // need.number))
        if len(self._permitted) >= MOST_KEPT:
            self._permitted.clear()
        self._permitted[key] = found
        return found

    def level(self, decrease: int) -> int:
        """0 to 99, by the decrease of (a+b) * W * V: 100 / (1 + e**-x) for x GPUs, rounded down."""
        return bisect_right(self._thresholds, decrease)

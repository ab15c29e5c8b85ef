"""What is free in the zones of every node, in step with every move."""

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.node import Zones
from tenure.solver.model.placement import PIPELINED, RELEASING, Placement


class ZoneUsage:
    """Idle and releasing amounts by node, zone and slot, with the meaning they have for a node."""

    def __init__(self, cluster: Cluster) -> None:
        zones = [node.numa_zones for node in cluster.nodes]
        self._idle = [[list(zone.available or zone.allocatable) for zone in on_node] for on_node in zones]
        self._releasing = [[[0] * len(zone.allocatable) for zone in on_node] for on_node in zones]
        is_given = [[zone.available is not None for zone in on_node] for on_node in zones]
        for task in cluster.tasks:
            placement = task.placement
            for share in placement.zones if placement.use else ():
                self._charge(placement, (share,), 1, is_allocated=is_given[placement.node][share.zone])

    def move(self, before: Placement, after: Placement) -> None:
        """A task changes its placement."""
        self._change(before, -1)
        self._change(after, 1)

    def free_zones(self, node: int, soon: bool) -> list[list[int]]:
        """Free amounts by zone and slot; `soon` with what terminating tasks leave behind.

        Now, what is idle and not promised to others (who wait for more than that).
        """
        return [
            [i + (r if soon else min(r, 0)) for i, r in zip(idle, releasing, strict=True)]
            for idle, releasing in zip(self._idle[node], self._releasing[node], strict=True)
        ]

    def fits(self, node: int, zones: Zones) -> bool:
        """Whether these amounts are free in these zones, soon."""
        free = self.free_zones(node, soon=True)
        return all(amount <= free[share.zone][slot] for share in zones for slot, amount in share.amounts)

    def _change(self, placement: Placement, sign: int) -> None:
        if placement.zones and placement.use:
            self._charge(placement, placement.zones, sign)
        if placement.previous is not None:
            self._change(placement.previous, sign)

    def _charge(self, placement: Placement, zones: Zones, sign: int, is_allocated: bool = False) -> None:
        """Take from idle, unless it is taken into account already, and from or to releasing (R1.19)."""
        use, node = placement.use, placement.node
        for zone, amounts in zones:
            idle, releasing = self._idle[node][zone], self._releasing[node][zone]
            for slot, amount in amounts:
                if use == PIPELINED:
                    releasing[slot] -= sign * amount
                    continue
                if use == RELEASING:
                    releasing[slot] += sign * amount
                if not is_allocated:
                    idle[slot] -= sign * amount

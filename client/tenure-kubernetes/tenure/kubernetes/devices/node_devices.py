"""What the devices of nodes add to their rows: sets for claims, and extended resources that devices serve.

A node that has a resource in its allocatable serves it with a device plugin, another one with devices of its
class. Pods that request the resource also count in the sets of those devices, so that they and claims do not
get one device twice; a node with a device plugin has as much of these sets. Claims are kept off it there.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from tenure.kubernetes.devices.claim_index import ClaimIndex
from tenure.kubernetes.devices.device_sets import CLAIMED_GPUS, GPUS, DeviceSets, Kinds
from tenure.kubernetes.devices.requests import Kind
from tenure.kubernetes.objects.resource_amounts import MILLI, Amounts, is_gpu
from tenure.v1 import snapshot_pb2 as pb

_SERVED: Final = "tenure.scheduler/devices-for/"
_OF_PLUGIN: Final = "tenure.scheduler/plugin-for/"
_NOTHING: Final = frozenset[str]()
_ZERO: Final = ("", "0")


def served_label(resource: str) -> str:
    """Label of the rows of nodes whose devices serve a resource. Objects of the cluster do not have it."""
    return f"{_SERVED}{resource}"


def plugin_label(of_set: str) -> str:
    """Label of the rows of nodes that have a set only because a device plugin serves a resource."""
    return f"{_OF_PLUGIN}{of_set}"


def kinds_of(device_class: str) -> Kinds:
    """The devices that serve the extended resources of a class."""
    return (Kind(device_class, (), ()),)


class NodeDevices:
    """For one thread."""

    def __init__(self, sets: DeviceSets, index: ClaimIndex) -> None:
        self._sets, self._index = sets, index
        self._plugins: dict[str, frozenset[str]] = {}
        """Resources that device plugins offer, by node."""
        self._nodes: Counter[str] = Counter()
        """Number of nodes with each of these resources."""
        self._served: Mapping[str, str] = {}
        """Classes of the extended resources that pods request, by resource."""
        self._names = _NOTHING

    def put(self, node: str, allocatable: Mapping[str, object]) -> None:
        """Set what a node offers. Empty: it is gone."""
        before = self._plugins.pop(node, _NOTHING)
        now = frozenset(name for name, text in allocatable.items() if "/" in name and str(text) not in _ZERO)
        if now:
            self._plugins[node] = now
        self._nodes.update(now - before)
        self._nodes.subtract(before - now)
        self._nodes += Counter()

    def update(self) -> bool:
        """Read the resources that pods request. Returns whether nodes may serve others than before."""
        served, names = dict(self._index.resources.keys()), frozenset(self._nodes)
        used = names & served.keys()
        is_new = served != self._served or used != self._names
        self._served, self._names = served, used
        return is_new

    def has_plugin(self, resource: str, node: str = "") -> bool:
        """Whether a node, or any node, offers a resource with a device plugin."""
        return resource in self._plugins.get(node, _NOTHING) if node else resource in self._nodes

    def served(self, node: str) -> dict[str, int]:
        """Number of devices of a node that serve each extended resource; none if a device plugin does."""
        if node not in self._sets.inventory.of_node:
            return {}
        plugins = self._plugins.get(node, _NOTHING)
        counts = {
            name: self._sets.count(kinds_of(device_class), node)
            for name, device_class in sorted(self._served.items())
            if name not in plugins
        }
        return {name: count for name, count in counts.items() if count}

    def amounts(self, node: str) -> Amounts:
        """Extended resources that devices serve, as amounts of the node; GPUs are devices of its row."""
        return {name: count for name, count in self.served(node).items() if not is_gpu(name)}

    def sets_of(self, resource: str) -> tuple[str, ...]:
        """Sets in which a pod counts that requests a resource; GPUs count as such already."""
        names = self._sets.names_of(kinds_of(self._served.get(resource, "")))
        return tuple(name for name in names if not (name == GPUS and is_gpu(resource)))

    def of_plugins(self) -> frozenset[str]:
        """Sets that a device plugin offers on some node."""
        return frozenset(name for one in self._names for name in self.sets_of(one))

    def add_to(self, row: pb.Node) -> None:
        """Add the devices of a node to its row, which has its amounts, less the use of other pods."""
        row.devices.update(self._sets.offered(row.name))
        if GPUS in row.devices:
            row.labels[CLAIMED_GPUS] = "true"
        for name in self.served(row.name):
            row.labels[served_label(name)] = "true"
        for name in sorted(self._plugins.get(row.name, _NOTHING) & self._served.keys()):
            amount = _amount(row, name)
            for of_set in self.sets_of(name):
                row.devices[of_set] += amount
                row.labels[plugin_label(of_set)] = "true"


def _amount(row: pb.Node, resource: str) -> int:
    amounts = row.allocatable
    return amounts.gpu_milli // MILLI if is_gpu(resource) else amounts.extended.get(resource, 0)

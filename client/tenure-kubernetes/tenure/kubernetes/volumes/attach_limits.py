"""How many volumes of a CSI driver a node attaches, as a resource of nodes and pods.

A volume counts once for each pod that uses it. Several pods of a node can use one volume, which is attached
once: the node then has as much more. A volume that is attached and used by no pod leaves less.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects.resource_amounts import Amounts
from tenure.kubernetes.objects.storage import PersistentVolume

UNLIMITED: Final = 2**20
"""Amount of a node that publishes no limit for a driver."""
_RESOURCE: Final = "attachable-volumes-csi-"


class AttachedVolume(NamedTuple):
    """A volume of a driver; `handle` is unique within the driver."""

    driver: str
    handle: str


def attached_volume(volume: PersistentVolume) -> Iterator[AttachedVolume]:
    """The volume as its CSI driver names it, if it has one."""
    if volume.spec.csi is not None:
        yield AttachedVolume(volume.spec.csi.driver, volume.spec.csi.volume_handle)


class _Use(NamedTuple):
    node: str
    volumes: frozenset[AttachedVolume]


class AttachLimits:
    """Limits by node, and the volumes that pods on nodes use."""

    def __init__(self, caches: ObjectCaches, find_volume: Callable[[str], PersistentVolume | None]) -> None:
        """`find_volume` returns the volume of a name."""
        self._find_volume = find_volume
        self._nodes, self._attachments = caches.csi_nodes, caches.volume_attachments
        self._limits: dict[str, dict[str, int]] = {}
        self.drivers: frozenset[str] = frozenset()
        """Drivers with a limit on some node."""
        self._uses: dict[str, _Use] = {}
        """By uid of a pod."""
        self._on_node: dict[str, Counter[AttachedVolume]] = {}
        self._attachments_seen: dict[str, tuple[str, str]] = {}
        """Node and name of the volume, by uid of the attachment."""
        self._attached: dict[str, Counter[str]] = {}
        """Names of attached volumes, by node."""
        self._changed: set[str] = set()

    def update(self) -> bool:
        """Read limits and attachments. Returns whether other drivers have limits than before."""
        if self._nodes.take_changes():
            before, self._limits = self._limits, {}
            for node in self._nodes.all():
                counts = {one.name: one.allocatable.count for one in node.spec.drivers}
                self._limits[node.metadata.name] = {
                    driver: count for driver, count in counts.items() if count is not None and count > 0
                }
            self._add_differences(before, self._limits)
        for uid in self._attachments.take_changes():
            self._follow(uid)
        drivers = frozenset(driver for limits in self._limits.values() for driver in limits)
        is_new, self.drivers = drivers != self.drivers, drivers
        return is_new

    def put(self, pod: str, node: str, volumes: Iterable[AttachedVolume]) -> None:
        """Set the volumes of a pod on a node; "": it is on none."""
        use = _Use(node, frozenset(volumes))
        before = self._uses.pop(pod, None)
        if node and use.volumes:
            self._uses[pod] = use
        if before == self._uses.get(pod):
            return
        if before is not None:
            counts = self._on_node[before.node]
            counts.subtract(before.volumes)
            self._on_node[before.node] = +counts
            self._changed.add(before.node)
        if pod in self._uses:
            self._on_node.setdefault(node, Counter()).update(use.volumes)
            self._changed.add(node)

    def take_changes(self) -> set[str]:
        """Names of nodes with other amounts since the last call."""
        changes, self._changed = self._changed, set()
        return changes

    def request(self, volumes: Iterable[AttachedVolume]) -> Amounts:
        """What a pod with these volumes requests."""
        counts = Counter(one.driver for one in set(volumes) if one.driver in self.drivers)
        return {f"{_RESOURCE}{driver}": count for driver, count in counts.items()}

    def offer(self, node: str) -> Amounts:
        """What a node offers to pods, those on it included."""
        if not self.drivers:
            return {}
        uses, limits = self._on_node.get(node, Counter()), self._limits.get(node, {})
        volumes = filter(None, map(self._find_volume, self._attached.get(node, ())))
        attached = {one for volume in volumes for one in attached_volume(volume)}
        unused = Counter(one.driver for one in attached if one not in uses)
        shared: Counter[str] = Counter()
        for one, count in uses.items():
            shared[one.driver] += count - 1
        return {
            f"{_RESOURCE}{driver}": (
                max(limits[driver] - unused[driver] + shared[driver], 0) if driver in limits else UNLIMITED
            )
            for driver in sorted(self.drivers)
        }

    def _follow(self, uid: str) -> None:
        """Count an attachment as it is now, if it still exists."""
        before = self._attachments_seen.pop(uid, None)
        if before is not None:
            self._count(*before, -1)
        now = self._attachments.find(uid)
        if now is not None and (volume := now.spec.source.persistent_volume_name):
            self._attachments_seen[uid] = (now.spec.node_name, volume)
            self._count(now.spec.node_name, volume, 1)

    def _count(self, node: str, volume: str, number: int) -> None:
        self._changed.add(node)
        attached = self._attached.setdefault(node, Counter())
        attached[volume] += number
        if not attached[volume]:
            del attached[volume]

    def _add_differences(self, before: Mapping[str, object], now: Mapping[str, object]) -> None:
        names = before.keys() | now.keys()
        self._changed.update(name for name in names if before.get(name) != now.get(name))

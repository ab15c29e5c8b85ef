"""Sets of devices as the solver counts them: one set for each kind of request, one of all GPUs.

A node has a number of devices of each set, and a claim requests a number of each set that contains all
devices that fit its request. While any two sets are nested or disjoint, these numbers are exact: the requests
fit if and only if no set is requested more often than it has devices (Hall's theorem). For sets that overlap,
and for claims with alternatives or constraints, they are necessary and not sufficient: then the adapter may
find no devices on the node of a decision, and no pod is evicted for such a claim.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from hashlib import sha256
from typing import Final

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.devices.inventory import DeviceId, Inventory, OfferedDevice, Pool, PoolId
from tenure.kubernetes.devices.requests import ALL_TAINTS, ClaimNeeds, Kind
from tenure.kubernetes.devices.selectors import SelectorEvaluator, expression_of, selector_problem
from tenure.kubernetes.objects.devices import DeviceClass
from tenure.kubernetes.objects.resource_amounts import is_gpu

GPUS: Final = "gpu"
"""The set of all GPUs: devices of classes with "gpu" in their name (semantics R9.41), or that serve GPUs."""
CLAIMED_GPUS: Final = "tenure.scheduler/claimed-gpus"
"""Label of the rows of nodes with such GPUs. Objects of the cluster do not have it."""
MAX_SETS: Final = 48
"""Maximum number of sets. A snapshot has 256 resource names, and nodes use up to 204 of them."""
MAX_OF_NAMESPACE: Final = 16
"""Maximum number of kinds of requests of the claims of one namespace."""
MAX_COST: Final = 1_000_000
"""Characters of selectors that one update evaluates: about a second, at most three."""
Kinds = tuple[Kind, ...]
"""Alternative kinds of devices."""
_NONE: Final[frozenset[DeviceId]] = frozenset()


class DeviceSets:
    """Devices that fit each kind of request. For one thread."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._cache = caches.device_classes
        self.inventory = Inventory(caches)
        self.evaluator = SelectorEvaluator()
        self._classes: dict[str, DeviceClass] = {}
        self._has_new_classes = False
        self._chosen: list[Kinds] = []
        self._fitting: dict[Kind, dict[PoolId, frozenset[DeviceId]]] = {}
        self._unread: dict[Kind, set[PoolId]] = {}
        """Pools whose devices are to be compared with a kind."""
        self._sets: dict[str, frozenset[DeviceId]] = {}
        """Devices by name of a set."""
        self._of_kinds: dict[Kinds, tuple[str, ...]] = {}
        """Names of the sets that contain all devices of some kinds."""
        self._of_device: dict[DeviceId, tuple[str, ...]] = {}
        self._crossing: frozenset[Kinds] = frozenset()
        """Kinds whose devices overlap with those of another set."""

    def device_class(self, name: str) -> DeviceClass | None:
        """A class by name."""
        return self._classes.get(name)

    def read_classes(self) -> list[DeviceClass] | None:
        """Read the classes, before `update`; None: they are as before."""
        if not self._cache.take_changes():
            return None
        self._classes = {one.metadata.name: one for one in self._cache.all()}
        self._has_new_classes = True
        return list(self._classes.values())

    def update(self, wanted: Mapping[Kinds, Iterable[str]]) -> bool:
        """Update the sets; `wanted` are all kinds of requests, with the namespaces of their claims.

        Returns whether any number may have changed.
        """
        pools = self.inventory.take_changes()
        has_new_classes, self._has_new_classes = self._has_new_classes, False
        if has_new_classes:
            self._fitting.clear()
            self._unread.clear()
        chosen = _chosen(wanted)
        of_gpus = {Kind(name, (), ALL_TAINTS) for name, one in self._classes.items() if _is_of_gpus(one)}
        kinds = dict.fromkeys((*sorted(of_gpus), *(kind for of_claim in chosen for kind in of_claim)))
        if not (pools or has_new_classes or self._unread) and chosen == self._chosen:
            return False
        self._chosen = chosen
        self._read(list(kinds), pools)
        self._join(of_gpus)
        contents = {device.content for device in self.inventory.devices.values()}
        self.evaluator.keep({text for kind in kinds for text in self._expressions(kind)}, contents)
        return True

    @property
    def is_complete(self) -> bool:
        """Whether all selectors are evaluated; if not, `update` continues."""
        return not self._unread

    def problem(self, needs: ClaimNeeds) -> str:
        """Why a claim cannot be allocated on any node, whichever devices are free; "": it may be."""
        for request in needs.requests:
            problems = [self._problem(one.kind) for one in request.alternatives]
            if all(problems):
                return problems[0]
        return ""

    def fits(self, kind: Kind, device: OfferedDevice) -> bool:
        """Whether a device fits a request."""
        of_kind = self._fitting.get(kind, {})
        return device.id in of_kind.get(PoolId(device.id.driver, device.id.pool), _NONE)

    def names_of(self, kinds: Kinds) -> tuple[str, ...]:
        """Names of the sets that contain all devices of some kinds."""
        return self._of_kinds.get(kinds, ())

    def count(self, kinds: Kinds, node: str) -> int:
        """Number of devices of a node that fit one of some kinds."""
        devices = self.inventory.of_node.get(node, {}).values()
        return sum(any(self.fits(kind, device) for kind in kinds) for device in devices)

    def rivals(self, device: DeviceId) -> int:
        """In how many sets a device is: devices in few sets are given away first."""
        return len(self._of_device.get(device, ()))

    def requested(self, needs: ClaimNeeds) -> dict[str, int]:
        """The least number of devices of each set that a claim takes."""
        total: Counter[str] = Counter()
        for request in needs.requests:
            least = min(one.amount for one in request.alternatives)
            total.update(dict.fromkeys(self._of_kinds.get(request.kinds, ()), least))
        return dict(sorted(total.items()))

    def allocated(self, devices: Iterable[DeviceId]) -> dict[str, int]:
        """Number of devices in each set."""
        counts = Counter(name for device in devices for name in self._of_device.get(device, ()))
        return dict(sorted(counts.items()))

    def offered(self, node: str) -> dict[str, int]:
        """Number of devices of a node in each set."""
        return self.allocated(self.inventory.of_node.get(node, {}))

    @property
    def has_gpus(self) -> bool:
        """Whether any device is a GPU."""
        return GPUS in self._sets

    def is_exact(self, needs: ClaimNeeds) -> bool:
        """Whether the numbers of a claim suffice: if they fit a node, the claim does."""
        alternatives = any(len(request.alternatives) > 1 for request in needs.requests)
        kinds = (request.kinds for request in needs.requests)
        return not alternatives and not needs.constraints and self._crossing.isdisjoint(kinds)

    def _problem(self, kind: Kind) -> str:
        name = kind.device_class
        one = self._classes.get(name)
        if one is None:
            return f"device class {name!r} does not exist"
        if problem := selector_problem(one.spec.selectors):
            return f"device class {name!r}: spec.{problem}"
        if kind in self._unread:
            return f"selectors of its requests for class {name!r} are being evaluated"
        if kind not in self._fitting:
            return (
                f"claims have too many different requests: at most {MAX_OF_NAMESPACE} of a namespace, and "
                f"{MAX_SETS} of all, have devices at the same time"
            )
        if self._fitting[kind]:
            return ""
        refused = self.inventory.refused_fields()
        return f"no device of class {name!r} fits{self._why(kind)}" + (
            f"; devices that are not supported: {refused}" if refused else ""
        )

    def _why(self, kind: Kind) -> str:
        """Why an expression does not select the first device."""
        for device in self.inventory.devices.values():
            for text in self._expressions(kind):
                if refusal := self.evaluator.refusal(text, device.content):
                    return f": for device {device.id.device!r} of node {device.node}, {refusal}"
        return ""

    def _expressions(self, kind: Kind) -> tuple[str, ...]:
        one = self._classes.get(kind.device_class)
        return (*(expression_of(each) for each in (one.spec.selectors if one else ())), *kind.expressions)

    def _fit(self, kind: Kind, pool: PoolId) -> frozenset[DeviceId]:
        one = self._classes.get(kind.device_class)
        if one is None or selector_problem(one.spec.selectors):
            return _NONE
        expressions, refusal = self._expressions(kind), self.evaluator.refusal
        return frozenset(
            device.id
            for device in self.inventory.pools.get(pool, Pool()).devices
            if kind.tolerates(device.taints)
            if not any(refusal(text, device.content) for text in expressions)
        )

    def _read(self, kinds: Sequence[Kind], changed: Set[PoolId]) -> None:
        """Find the devices of kinds, in order, as far as the cost of one update permits."""
        for gone in self._fitting.keys() - set(kinds):
            del self._fitting[gone]
            self._unread.pop(gone, None)
        most = self.evaluator.cost + MAX_COST
        for kind in kinds:
            known = kind in self._fitting
            of_kind = self._fitting.setdefault(kind, {})
            left = {*self._unread.pop(kind, ()), *(changed if known else self.inventory.pools)}
            while left and self.evaluator.cost < most:
                pool = left.pop()
                of_kind.pop(pool, None)
                if devices := self._fit(kind, pool):
                    of_kind[pool] = devices
            if left:
                self._unread[kind] = left

    def _join(self, of_gpus: Iterable[Kind]) -> None:
        """Sets of equal devices become one, and kinds get the names of those that contain them."""
        read = (kinds for kinds in self._chosen if self._unread.keys().isdisjoint(kinds))
        devices = {kinds: self._devices(kinds) for kinds in read}
        gpus = self._devices(of_gpus)
        by_devices: defaultdict[frozenset[DeviceId], list[Kinds]] = defaultdict(list)
        for kinds, one in devices.items():
            if one:
                by_devices[one].append(kinds)
        self._sets = {GPUS: gpus} if gpus else {}
        for of_set, equal in by_devices.items():
            if of_set != gpus:
                self._sets[_name(min(equal, key=repr))] = of_set
        self._of_kinds = {
            kinds: tuple(sorted(name for name, of_set in self._sets.items() if one <= of_set))
            for kinds, one in devices.items()
            if one
        }
        of_device: defaultdict[DeviceId, list[str]] = defaultdict(list)
        for name in sorted(self._sets):
            for device in self._sets[name]:
                of_device[device].append(name)
        self._of_device = {device: tuple(names) for device, names in of_device.items()}
        self._crossing = frozenset(
            kinds for kinds, one in devices.items() if any(_cross(one, of) for of in self._sets.values())
        )

    def _devices(self, kinds: Iterable[Kind]) -> frozenset[DeviceId]:
        return _NONE.union(*(of_pool for kind in kinds for of_pool in self._fitting[kind].values()))


def _chosen(wanted: Mapping[Kinds, Iterable[str]]) -> list[Kinds]:
    """At most as many as there may be sets; the first ones of each namespace before further ones."""
    places: Counter[str] = Counter()
    ranked: list[tuple[int, str, Kinds]] = []
    for kinds in sorted(wanted, key=repr):
        places.update(wanted[kinds])
        ranked.append((min(places[namespace] for namespace in wanted[kinds]), repr(kinds), kinds))
    ranked.sort()
    return [kinds for place, _, kinds in ranked if place <= MAX_OF_NAMESPACE][:MAX_SETS]


def _is_of_gpus(one: DeviceClass) -> bool:
    return GPUS in one.metadata.name.lower() or is_gpu(one.spec.extended_resource_name)


def _cross(one: frozenset[DeviceId], other: frozenset[DeviceId]) -> bool:
    return not (one <= other or other <= one or one.isdisjoint(other))


def _name(kinds: Kinds) -> str:
    """The name of a set. Only the set of all GPUs may have "gpu" in it."""
    shown = re.sub(GPUS, "g-pu", kinds[0].device_class, flags=re.IGNORECASE)
    return f"{shown}#{sha256(repr(kinds).encode()).hexdigest()[:8]}"

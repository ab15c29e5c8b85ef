"""Devices that claims can use: those of complete pools of the newest generation, on one node each.

Devices with a field that is not supported are not offered, and counted by that field. Rules taint devices as
if their driver had done it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.devices.selectors import content_of, qualified
from tenure.kubernetes.objects.device_claims import AllocatedDevice
from tenure.kubernetes.objects.devices import Device, DeviceTaint, DeviceTaintRule, ResourceSlice


class PoolId(NamedTuple):
    """A pool of a driver."""

    driver: str
    pool: str


class DeviceId(NamedTuple):
    """A device. Two claims never have the same one."""

    driver: str
    pool: str
    device: str


class OfferedDevice(NamedTuple):
    """A device that claims can use."""

    id: DeviceId
    node: str
    content: bytes
    """What selectors see."""
    attributes: Mapping[str, Any]
    """Values by DOMAIN/NAME, for constraints."""
    taints: tuple[DeviceTaint, ...]


class Pool(NamedTuple):
    """The devices of a pool, and the fields of others that are not offered."""

    devices: tuple[OfferedDevice, ...] = ()
    refused: Mapping[str, int] = {}
    """Number of devices by field."""
    problem: str = ""
    """Why none is offered; "": they are."""


class Inventory:
    """Pools of all slices. For one thread."""

    def __init__(self, caches: ObjectCaches) -> None:
        self._slices = caches.resource_slices
        self._rules = caches.device_taint_rules
        self._of_pool: defaultdict[PoolId, set[str]] = defaultdict(set)
        self._pool_of: dict[str, PoolId] = {}
        """Pools of slices, by uid."""
        self.pools: dict[PoolId, Pool] = {}
        self.devices: dict[DeviceId, OfferedDevice] = {}
        self.of_node: defaultdict[str, dict[DeviceId, OfferedDevice]] = defaultdict(dict)

    def take_changes(self) -> set[PoolId]:
        """Read the pools whose slices or rules changed since the last call, and return them."""
        changed: set[PoolId] = set(self._of_pool) if self._rules.take_changes() else set()
        for uid in self._slices.take_changes():
            one, before = self._slices.find(uid), self._pool_of.pop(uid, None)
            if before is not None:
                self._of_pool[before].discard(uid)
                changed.add(before)
            if one is not None:
                pool = self._pool_of[uid] = PoolId(one.spec.driver, one.spec.pool.name)
                self._of_pool[pool].add(uid)
                changed.add(pool)
        for pool in changed:
            self._read(pool)
        return changed

    def refused_fields(self) -> str:
        """Devices that are not offered, with their fields; "": there are none."""
        counts: Counter[str] = Counter()
        for pool in self.pools.values():
            counts.update(pool.refused)
        return ", ".join(f"{count} with {field}" for field, count in sorted(counts.items()))

    def _read(self, pool: PoolId) -> None:
        for device in self.pools.pop(pool, Pool()).devices:
            del self.devices[device.id]
            del self.of_node[device.node][device.id]
            if not self.of_node[device.node]:
                del self.of_node[device.node]
        uids = sorted(self._of_pool[pool])
        if not uids:
            del self._of_pool[pool]
            return
        slices = (self._slices.find(uid) for uid in uids)
        read = self.pools[pool] = read_pool(
            [one for one in slices if one is not None],
            [one for one in self._rules.all() if _concerns(one, pool)],
        )
        for device in read.devices:
            self.devices[device.id] = self.of_node[device.node][device.id] = device


def read_pool(slices: Iterable[ResourceSlice], rules: Sequence[DeviceTaintRule] = ()) -> Pool:
    """The pool of slices of all generations, with rules that concern it."""
    known = list(slices)
    newest = max((one.spec.pool.generation for one in known), default=0)
    current = [one for one in known if one.spec.pool.generation == newest]
    count = max((one.spec.pool.resource_slice_count for one in current), default=0)
    if len(current) != count:
        return Pool(problem=f"it has {len(current)} of {count} slices of generation {newest}")
    names = [device.name for one in current for device in one.spec.devices]
    if len(set(names)) < len(names):
        return Pool(problem="a device name occurs twice")
    offered: list[OfferedDevice] = []
    refused: Counter[str] = Counter()
    for one in current:
        for device in one.spec.devices:
            if field := _refused_field(one, device):
                refused[field] += 1
            else:
                offered.append(_offer(one, device, rules))
    return Pool(tuple(sorted(offered, key=lambda device: device.id)), refused)


def device_of(result: AllocatedDevice) -> DeviceId:
    """The device of an allocation."""
    return DeviceId(result.driver, result.pool, result.device)


def _refused_field(one: ResourceSlice, device: Device) -> str:
    """A field of a device that is not supported; "": there is none."""
    if not one.spec.node_name:
        return "no spec.nodeName"
    if one.spec.skip_node_operations:
        return "spec.skipNodeOperations"
    if device.consumes_counters:
        return "consumesCounters"
    if device.allow_multiple_allocations:
        return "allowMultipleAllocations"
    if device.binding_conditions:
        return "bindingConditions"
    if device.node_allocatable_resource_mappings:
        return "nodeAllocatableResourceMappings"
    if device.node_allocatable_resources:
        return "nodeAllocatableResources"
    return "bindsToNode" if device.binds_to_node else ""


def _concerns(rule: DeviceTaintRule, pool: PoolId) -> bool:
    selector = rule.spec.device_selector
    return selector.driver in (None, pool.driver) and selector.pool in (None, pool.pool)


def _offer(one: ResourceSlice, device: Device, rules: Iterable[DeviceTaintRule]) -> OfferedDevice:
    spec = one.spec
    attributes: dict[str, Any] = {}
    for name, attribute in device.attributes.items():
        values = (attribute.whole, attribute.flag, attribute.text, attribute.version)
        if any(value is not None for value in values):
            attributes["/".join(qualified(name, spec.driver))] = values
    id = DeviceId(spec.driver, spec.pool.name, device.name)
    content = content_of(spec.driver, device)
    by_rules = (rule.spec.taint for rule in rules if rule.spec.device_selector.device in (None, device.name))
    return OfferedDevice(id, spec.node_name, content, attributes, (*device.taints, *by_rules))

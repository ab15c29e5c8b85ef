"""Objects of storage, written as JSON: claims, volumes, classes, and what drivers publish."""

from typing import Any

from tests.kubernetes.observe.cached_cluster import CachedCluster, node, queue

DRIVER = "disk.csi"
ZONE = "topology.kubernetes.io/zone"


def storage_cluster() -> CachedCluster:
    """Three nodes: n1 and n2 in zone a, n3 in zone b. Class `disk` waits for pods, class `now` does not."""
    made = CachedCluster()
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        made.put("nodes", node(name, labels={"kubernetes.io/hostname": name, ZONE: zone}))
    made.put("kai_queues", queue("q"))
    made.put("storage_classes", storage_class("disk"))
    made.put("storage_classes", storage_class("local", "kubernetes.io/no-provisioner"))
    made.put("storage_classes", storage_class("now", mode="Immediate"))
    return made


def storage_class(
    name: str, provisioner: str = DRIVER, *, mode: str = "WaitForFirstConsumer", **more: Any
) -> dict[str, Any]:
    """Build a storage class."""
    return {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}


def claim(name: str = "data", kind: str = "disk", *, size: str = "1Gi", **more: Any) -> dict[str, Any]:
    """Build an unbound claim; `meta`, `spec` and `status` add fields."""
    spec = {
        "storageClassName": kind,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        **more.get("spec", {}),
    }
    status = {"phase": "Pending", **more.get("status", {})}
    return {
        "metadata": {"name": name, "namespace": "team", **more.get("meta", {})},
        "spec": spec,
        "status": status,
    }


def bound_claim(name: str, volume: str, **more: Any) -> dict[str, Any]:
    """Build a claim that is bound to a volume."""
    meta = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return claim(name, meta=meta, spec={"volumeName": volume, **more}, status={"phase": "Bound"})


def volume(
    name: str = "v",
    on: tuple[str, ...] = (),
    *,
    kind: str = "local",
    size: str = "1Gi",
    labels: dict[str, str] | None = None,
    phase: str = "Available",
    **spec: Any,
) -> dict[str, Any]:
    """Build a volume that some nodes can use, or all of them."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(on)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    body = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": kind,
        **({"nodeAffinity": {"required": required}} if on else {}),
        **spec,
    }
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": body, "status": {"phase": phase}}


def csi(handle: str, driver: str = DRIVER) -> dict[str, Any]:
    """Build the source of a volume."""
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def capacity(name: str, size: str, on: str | None, kind: str = "disk") -> dict[str, Any]:
    """Build the capacity of a class on a node; None: on no node."""
    topology = {} if on is None else {"nodeTopology": {"matchLabels": {"kubernetes.io/hostname": on}}}
    return {"metadata": {"name": name}, "storageClassName": kind, "capacity": size, **topology}


def attach_limit(on: str, count: int, driver: str = DRIVER) -> dict[str, Any]:
    """Build what a driver publishes about a node."""
    of_driver = {"name": driver, "nodeID": on, "allocatable": {"count": count}}
    return {"metadata": {"name": on}, "spec": {"drivers": [of_driver]}}


def mounts(*claims: str) -> dict[str, Any]:
    """Build the volumes of a pod."""
    return {"volumes": [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]}

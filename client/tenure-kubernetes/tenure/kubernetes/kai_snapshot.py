"""Snapshots of KAI-Scheduler's snapshot endpoint: a zip file with one `snapshot.json`.

The file has the scheduler's configuration, its parameters, and the observed objects in the form of the
Kubernetes API. Kinds that Tenure does not observe are ignored.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.api.object_caches import COLLECTIONS, ObjectCaches
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.times import read_time
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.rows.row_table import ObjectWarning
from tenure.v1.snapshot_pb2 import POD_STATUS_BINDING, POD_STATUS_PENDING, ClusterSnapshot

_MEMBER: Final = "snapshot.json"
_MAX_BYTES: Final = 2**30
"""Maximum size of the content, in bytes: some 100,000 pods."""
_MAX_RATIO: Final = 200
"""Maximum size of the content, as a multiple of the packed size; objects of Kubernetes pack to a tenth."""
_ANY_RATIO_BYTES: Final = 16 * 2**20
"""Size up to which the ratio does not matter."""
RawList = list[msgspec.Raw]


class KaiSnapshotError(ValueError):
    """The file is not a snapshot of KAI-Scheduler. The message names the file and the error."""


class PluginOption(msgspec.Struct):
    """A plugin."""

    name: str = ""
    arguments: dict[str, str] | None = None


class Tier(msgspec.Struct):
    """A tier of plugins."""

    plugins: list[PluginOption] | None = None


class Config(msgspec.Struct):
    """Configuration file of the scheduler."""

    actions: str = ""
    tiers: list[Tier] | None = None


class NodePoolParams(msgspec.Struct):
    """Node pool of the scheduler."""

    key: str = msgspec.field(default="", name="NodePoolLabelKey")
    value: str = msgspec.field(default="", name="NodePoolLabelValue")


class SchedulerParams(msgspec.Struct, rename="camel"):
    """Command-line parameters of the scheduler. The file omits unset ones."""

    scheduler_name: str = "kai-scheduler"
    partition_params: NodePoolParams | None = None
    max_number_consolidation_preemptees: int = 0
    use_scheduling_signatures: bool = False
    allow_consolidating_reclaim: bool = False
    global_default_staleness_grace_period: int = 0
    """In nanoseconds."""


class BindSpec(msgspec.Struct, rename="camel"):
    """The requested binding."""

    pod_name: str = ""
    selected_node: str = ""
    selected_gpu_groups: list[str] | None = msgspec.field(default=None, name="selectedGPUGroups")


class BindStatus(msgspec.Struct):
    """State of the binding."""

    phase: str = ""


class BindRequest(msgspec.Struct):
    """A requested binding that may be in progress."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: BindSpec = msgspec.field(default_factory=BindSpec)
    status: BindStatus = msgspec.field(default_factory=BindStatus)


class RawObjects(msgspec.Struct, rename="camel"):
    """Objects by kind."""

    pods: RawList | None = None
    nodes: RawList | None = None
    queues: RawList | None = None
    pod_groups: RawList | None = None
    priority_classes: RawList | None = None
    topologies: RawList | None = None
    bind_requests: list[BindRequest] | None = None


class KaiSnapshot(msgspec.Struct, rename="camel"):
    """The file."""

    raw_objects: RawObjects
    config: Config | None = None
    scheduler_params: SchedulerParams = msgspec.field(default_factory=SchedulerParams)


def read_kai_snapshot(file: Path) -> KaiSnapshot:
    """Read a snapshot from a zip file, or from its JSON file. Raises KaiSnapshotError."""
    try:
        content = _unpacked(file)
    except OSError as error:
        raise KaiSnapshotError(f"{file}: cannot be read: {error.strerror}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise KaiSnapshotError(f"{file}: is a corrupt zip file: {error}") from None
    except (NotImplementedError, RuntimeError):
        raise KaiSnapshotError(f"{file}: is encrypted, or packed by an unsupported method") from None
    try:
        found: Any = msgspec.json.decode(content, type=KaiSnapshot)
    except RecursionError:
        raise KaiSnapshotError(f"{file}: {_MEMBER} is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KaiSnapshotError(f"{file}: {_MEMBER} is not a snapshot of KAI-Scheduler: {error}") from None
    snapshot: KaiSnapshot = found
    return snapshot


def _unpacked(file: Path) -> bytes:
    if not zipfile.is_zipfile(file):
        with file.open("rb") as plain:
            return _read(plain, _MAX_BYTES, f"{file}: has")
    with zipfile.ZipFile(file) as archive:
        if _MEMBER not in archive.namelist():
            raise KaiSnapshotError(f"{file}: has no {_MEMBER}; expected a file of the snapshot endpoint")
        packed = archive.getinfo(_MEMBER).compress_size
        most = min(_MAX_BYTES, max(_ANY_RATIO_BYTES, packed * _MAX_RATIO))
        with archive.open(_MEMBER) as member:
            return _read(member, most, f"{file}: {_MEMBER} unpacks to")


def _read(content: IO[bytes], most: int, what: str) -> bytes:
    """All bytes; reads no more than the limit."""
    found = content.read(most + 1)
    if len(found) > most:
        raise KaiSnapshotError(f"{what} more than {most:,} bytes; expected a file of the snapshot endpoint")
    return found


_LISTS: Final = {
    "pods": "pods",
    "nodes": "nodes",
    "kai_queues": "queues",
    "kai_pod_groups": "pod_groups",
    "priority_classes": "priority_classes",
    "topologies": "topologies",
}
"""Lists of the file, by the object cache that they fill."""
_TIME: Final = re.compile(rb'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)"')


class ImportedKai(NamedTuple):
    """The snapshot, and warnings about objects."""

    snapshot: ClusterSnapshot
    warnings: list[ObjectWarning]
    unreadable: int
    """Number of objects that do not match their kind; they are omitted."""


def import_kai(source: KaiSnapshot, cluster_id: str, now: Timestamp | None = None) -> ImportedKai:
    """Convert a file. `now` defaults to the latest time in its nodes, about that of the snapshot.

    Pods without a pod group get one that is derived from their owner. A pod with a bind request that has not
    failed has status BINDING (semantics R1.41).
    """
    pool = source.scheduler_params.partition_params or NodePoolParams()
    config = SnapshotScope(
        cluster_id=cluster_id,
        scheduler_name=source.scheduler_params.scheduler_name,
        node_pool=pool.value,
        node_pool_label=pool.key,
    )
    caches = ObjectCaches.create(lambda: None)
    unreadable = sum(_fill(caches, collection, source) for collection in _LISTS)
    caches.has_volumes = False  # the file has claims, but not their volumes
    builder = SnapshotBuilder(caches, config)
    snapshot = builder.snapshot(now or _latest(source.raw_objects.nodes or []))
    _bind(snapshot, source.raw_objects.bind_requests or [])
    return ImportedKai(snapshot, builder.warnings.take_new(), unreadable)


def _fill(caches: ObjectCaches, name: str, source: KaiSnapshot) -> int:
    """Fill the object cache of one kind. Returns the number of unreadable objects."""
    [collection] = [known for known in COLLECTIONS if known.name == name]
    items: RawList = getattr(source.raw_objects, _LISTS[name]) or []
    decoder = msgspec.json.Decoder(collection.kind)
    objects: list[Any] = []
    for item in items:
        try:
            objects.append(decoder.decode(item))
        except msgspec.ValidationError:
            continue
    getattr(caches, name).on_replace(objects)
    return len(items) - len(objects)


def _latest(nodes: Iterable[msgspec.Raw]) -> Timestamp:
    """The latest time in any node: a kubelet writes one at least every few minutes."""
    texts = {found.decode() for node in nodes for found in _TIME.findall(bytes(node))}
    moments = [moment for moment in map(read_time, texts) if moment is not None]
    return max(moments, key=lambda moment: moment.ToNanoseconds(), default=Timestamp())


def _bind(snapshot: ClusterSnapshot, requests: Iterable[BindRequest]) -> None:
    """Set pending pods with a bind request to BINDING, if the request names every GPU they share."""
    namespaces = {group.uid: group.namespace for group in snapshot.pod_groups}
    shares = {shape.id: shape.gpu.devices for shape in snapshot.shapes if shape.gpu.WhichOneof("share")}
    wanted = {
        (request.metadata.namespace, request.spec.pod_name): request.spec
        for request in requests
        if request.status.phase != "Failed"
    }
    for pod in snapshot.pods:
        spec = wanted.get((namespaces[pod.pod_group], pod.name))
        if spec is None or pod.status != POD_STATUS_PENDING:
            continue
        groups = (spec.selected_gpu_groups or []) if pod.shape in shares else []
        if spec.selected_node and len(set(groups)) == shares.get(pod.shape, 0):
            pod.status, pod.node = POD_STATUS_BINDING, spec.selected_node
            pod.gpu_groups.extend(sorted(set(groups)))

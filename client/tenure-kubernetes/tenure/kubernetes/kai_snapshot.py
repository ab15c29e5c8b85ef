"""Reading what the snapshot endpoint of KAI-Scheduler writes: a zip with one `snapshot.json`.

The file holds the scheduler's configuration, its parameters, and the objects it saw, as the Kubernetes API
serves them. Kinds that Tenure does not observe are passed over.
"""

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.api.object_caches import COLLECTIONS, ObjectCaches
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe.row_table import ObjectWarning
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.observe.times import read_time
from tenure.v1.snapshot_pb2 import POD_STATUS_BINDING, POD_STATUS_PENDING, ClusterSnapshot

_MEMBER: Final = "snapshot.json"
_MOST_BYTES: Final = 2 * 2**30
"""Largest content that is unpacked."""
RawList = list[msgspec.Raw]


class KaiSnapshotError(ValueError):
    """The file is no snapshot of KAI-Scheduler. Names the file and what is wrong with it."""


class PluginOption(msgspec.Struct):
    """One plugin."""

    name: str = ""
    arguments: dict[str, str] | None = None


class Tier(msgspec.Struct):
    """A list of plugins."""

    plugins: list[PluginOption] | None = None


class Config(msgspec.Struct):
    """The configuration file of the scheduler."""

    actions: str = ""
    tiers: list[Tier] | None = None


class NodePoolParams(msgspec.Struct):
    """Which nodes it schedules on."""

    key: str = msgspec.field(default="", name="NodePoolLabelKey")
    value: str = msgspec.field(default="", name="NodePoolLabelValue")


class SchedulerParams(msgspec.Struct, rename="camel"):
    """Its command line. What is not set is left out of the file."""

    scheduler_name: str = "kai-scheduler"
    partition_params: NodePoolParams | None = None
    max_number_consolidation_preemptees: int = 0
    use_scheduling_signatures: bool = False
    allow_consolidating_reclaim: bool = False
    global_default_staleness_grace_period: int = 0
    """In nanoseconds."""


class BindSpec(msgspec.Struct, rename="camel"):
    """A pod that is to be bound."""

    pod_name: str = ""
    selected_node: str = ""
    selected_gpu_groups: list[str] | None = msgspec.field(default=None, name="selectedGPUGroups")


class BindStatus(msgspec.Struct):
    """What became of it."""

    phase: str = ""


class BindRequest(msgspec.Struct):
    """A binding that is under way."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: BindSpec = msgspec.field(default_factory=BindSpec)
    status: BindStatus = msgspec.field(default_factory=BindStatus)


class RawObjects(msgspec.Struct, rename="camel"):
    """The objects by kind."""

    pods: RawList | None = None
    nodes: RawList | None = None
    queues: RawList | None = None
    pod_groups: RawList | None = None
    priority_classes: RawList | None = None
    topologies: RawList | None = None
    bind_requests: list[BindRequest] | None = None


class KaiSnapshot(msgspec.Struct, rename="camel"):
    """The whole file."""

    raw_objects: RawObjects
    config: Config | None = None
    scheduler_params: SchedulerParams = msgspec.field(default_factory=SchedulerParams)


def read_kai_snapshot(file: Path) -> KaiSnapshot:
    """The snapshot in a zip, or in the JSON file from within one. Raises KaiSnapshotError."""
    try:
        content = _unpacked(file)
    except OSError as error:
        raise KaiSnapshotError(f"{file}: cannot be read: {error.strerror}") from None
    except zipfile.BadZipFile as error:
        raise KaiSnapshotError(f"{file}: is a damaged zip: {error}") from None
    try:
        found: Any = msgspec.json.decode(content, type=KaiSnapshot)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KaiSnapshotError(f"{file}: {_MEMBER} is no snapshot of KAI-Scheduler: {error}") from None
    snapshot: KaiSnapshot = found
    return snapshot


def _unpacked(file: Path) -> bytes:
    if not zipfile.is_zipfile(file):
        return file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        if _MEMBER not in archive.namelist():
            raise KaiSnapshotError(f"{file}: has no {_MEMBER}: it is not from the snapshot endpoint")
        if archive.getinfo(_MEMBER).file_size > _MOST_BYTES:
            raise KaiSnapshotError(f"{file}: {_MEMBER} has more than {_MOST_BYTES} bytes")
        return archive.read(_MEMBER)


_LISTS: Final = {
    "pods": "pods",
    "nodes": "nodes",
    "kai_queues": "queues",
    "kai_pod_groups": "pod_groups",
    "priority_classes": "priority_classes",
    "topologies": "topologies",
}
"""Lists of the file by the mirror that holds them."""
_TIME: Final = re.compile(rb'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)"')


class ImportedKai(NamedTuple):
    """The snapshot, and what could not be taken over as it was."""

    snapshot: ClusterSnapshot
    warnings: list[ObjectWarning]
    unreadable: int
    """Objects that are not what their kind should be; they are left out."""


def import_kai(source: KaiSnapshot, cluster_id: str, now: Timestamp | None = None) -> ImportedKai:
    """What the file shows. `now` defaults to the latest time that its nodes tell of, when it was about taken.

    Pods that name no pod group get one from their owner. A pod with a bind request that has not failed is
    being bound (semantics R1.41).
    """
    pool = source.scheduler_params.partition_params or NodePoolParams()
    config = SnapshotScope(
        cluster_id=cluster_id,
        scheduler_name=source.scheduler_params.scheduler_name,
        node_pool=pool.value,
        node_pool_label=pool.key,
    )
    mirrors = ObjectCaches.create(lambda: None)
    unreadable = sum(_fill(mirrors, collection, source) for collection in _LISTS)
    picture = SnapshotBuilder(mirrors, config)
    snapshot = picture.snapshot(now or _latest(source.raw_objects.nodes or []))
    _bind(snapshot, source.raw_objects.bind_requests or [])
    return ImportedKai(snapshot, picture.warnings.take_new(), unreadable)


def _fill(caches: ObjectCaches, name: str, source: KaiSnapshot) -> int:
    """Put one kind of objects into its mirror; how many cannot be read."""
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
    """The latest time in any node: kubelets write one every few minutes at least."""
    texts = {found.decode() for node in nodes for found in _TIME.findall(bytes(node))}
    moments = [moment for moment in map(read_time, texts) if moment is not None]
    return max(moments, key=lambda moment: moment.ToNanoseconds(), default=Timestamp())


def _bind(snapshot: ClusterSnapshot, requests: Iterable[BindRequest]) -> None:
    """Show pods that wait and have a bind request as being bound, where it names every GPU they share."""
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

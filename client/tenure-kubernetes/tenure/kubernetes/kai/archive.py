"""Reading what the snapshot endpoint of KAI-Scheduler writes: a zip with one `snapshot.json`.

The file holds the scheduler's configuration, its parameters, and the objects it saw, as the Kubernetes API
serves them. Kinds that Tenure does not observe are passed over.
"""

import zipfile
from pathlib import Path
from typing import Any, Final

import msgspec
from tenure.kubernetes.objects.meta import ObjectMeta

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

"""Every field of a snapshot, declared once: what it holds, and what its texts name.

Row keys, columns of pods, limits on texts and redaction follow from this table. A new field is a line in it:
a test finds fields that have none.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from tenure.v1 import resources_pb2
from tenure.v1 import snapshot_pb2 as pb


class NameKind(Enum):
    """What a text is the name of. Names of different kinds are independent of each other."""

    ACTION = auto()
    ANNOTATION = auto()
    """Values that are names at most by accident: the owner of a workload writes them."""
    BLOCKER = auto()
    CLAIM = auto()
    CLUSTER = auto()
    CONDITION = auto()
    DEVICE = auto()
    DEVICE_CLASS = auto()
    GROUP = auto()
    LABEL = auto()
    NAMESPACE = auto()
    NODE = auto()
    POD = auto()
    POD_GROUP = auto()
    POD_GROUP_NAME = auto()
    POD_NAME = auto()
    POOL = auto()
    QUEUE = auto()
    RESOURCE = auto()
    SHAPE = auto()
    SUB_GROUP = auto()
    TAINT = auto()
    TAINT_VALUE = auto()
    TOPOLOGY = auto()
    VALUE = auto()
    ZONE = auto()


class Scope(Enum):
    """Within what a name has its meaning."""

    SNAPSHOT = auto()
    NODE = auto()
    POD_GROUP = auto()
    KEY = auto()
    """The field `key` beside it, or the key of the map."""


class FieldType(Enum):
    """What a field holds."""

    TEXT = auto()
    VALUE = auto()
    """A number, a bool, an enum, a time or a duration, or a list of such."""
    MAP = auto()
    MESSAGE = auto()
    """Messages that have a row of their own in this table."""


class Field(NamedTuple):
    """One field. Made by the functions below."""

    name: str
    holds: FieldType
    kind: NameKind | None = None
    """What the text, or the texts of a map's values, name."""
    scope: Scope = Scope.SNAPSHOT
    key_kind: NameKind | None = None
    """What the keys of a map name."""
    is_long: bool = False
    """Whether texts may be longer than names."""
    declares: bool = False
    """Whether the spelling is the one that counts."""
    is_column: bool = False
    """Whether `PodColumns` has a column of indices for it."""
    reason: str = ""
    """Why the texts, or the keys of a map, are no names."""


def name(
    field: str,
    kind: NameKind,
    scope: Scope = Scope.SNAPSHOT,
    *,
    is_long: bool = False,
    declares: bool = False,
    is_column: bool = False,
) -> Field:
    """A text, or a list of texts, that names something."""
    return Field(field, FieldType.TEXT, kind, scope, None, is_long, declares, is_column)


def text(field: str, reason: str) -> Field:
    """A text that names nothing, and why."""
    return Field(field, FieldType.TEXT, reason=reason)


def mapping(field: str, key: NameKind | None, value: NameKind | None = None, reason: str = "") -> Field:
    """A map: what keys and values name; None for values that are numbers, and for keys that are no names."""
    return Field(field, FieldType.MAP, value, Scope.SNAPSHOT, key, True, reason=reason)


def values(*fields: str) -> tuple[Field, ...]:
    """Numbers, bools, enums, times and durations."""
    return tuple([Field(field, FieldType.VALUE) for field in fields])


def messages(*fields: str) -> tuple[Field, ...]:
    """Messages, or lists of messages."""
    return tuple([Field(field, FieldType.MESSAGE) for field in fields])


class Row(NamedTuple):
    """One message of the contract."""

    message: type[Message]
    fields: tuple[Field, ...]
    key: tuple[str, ...] = ()
    """Fields that make the key, where rows of a snapshot are such messages."""

    @property
    def descriptor(self) -> Descriptor:
        """The message as the contract describes it."""
        return cast(Descriptor, self.message.DESCRIPTOR)


_K = NameKind
_REWRITTEN: Final = "columns are rewritten, each value as the field of Pod"

ROWS: Final = (
    Row(
        pb.ClusterSnapshot,
        (
            name("cluster_id", _K.CLUSTER),
            name("node_pool", _K.POOL),
            *values("version", "now"),
            *messages("nodes", "queues", "pod_groups", "pods", "shapes", "topologies", "resource_claims"),
            *messages("eviction_history", "pod_columns", "in_flight_groups"),
        ),
    ),
    Row(
        pb.Node,
        (
            name("name", _K.NODE),
            mapping("labels", _K.LABEL, _K.VALUE),
            *messages("allocatable", "taints", "numa_zones"),
            *values("gpu_memory_mib", "unschedulable", "mig_strategy", "numa_policy"),
            name("unready_conditions", _K.CONDITION, is_long=True),
            mapping("devices", _K.DEVICE_CLASS),
        ),
        key=("name",),
    ),
    Row(
        resources_pb2.Resources,
        (*values("cpu_milli", "memory_bytes", "gpu_milli", "pods"), mapping("extended", _K.RESOURCE)),
    ),
    Row(pb.NumaZone, (name("id", _K.ZONE), *messages("allocatable", "available"))),
    Row(
        pb.Taint,
        (
            name("key", _K.TAINT, is_long=True),
            name("value", _K.TAINT_VALUE, Scope.KEY, is_long=True),
            *values("effect"),
        ),
    ),
    Row(
        pb.Queue,
        (
            name("name", _K.QUEUE),
            name("parent", _K.QUEUE),
            *values("priority", "creation_time", "preempt_min_runtime", "reclaim_min_runtime"),
            *values("expected_runtime", "requeue_delay"),
            *messages("cpu_milli", "memory_bytes", "gpu_milli"),
        ),
        key=("name",),
    ),
    Row(pb.QueueResource, values("quota", "limit", "over_quota_weight")),
    Row(
        pb.PodGroup,
        (
            name("uid", _K.POD_GROUP),
            name("name", _K.POD_GROUP_NAME),
            name("namespace", _K.NAMESPACE),
            name("queue", _K.QUEUE),
            *values("priority", "preemptibility", "min_member", "min_sub_group"),
            *messages("sub_groups", "topology_constraint"),
            *values("creation_time", "last_start_time", "last_eviction_time"),
            *values("stale_since", "staleness_grace_period", "preemption_delay"),
            *values("expected_runtime", "requeue_delay", "requeue_not_before"),
            mapping(
                "annotations",
                None,
                _K.ANNOTATION,
                reason="only the keys that Tenure reads stay; others go with their values",
            ),
            text("opt_out_actions", "a closed list of actions; a snapshot with another is refused"),
            *values("eviction_count", "total_eviction_wait"),
        ),
        key=("uid",),
    ),
    Row(
        pb.SubGroup,
        (
            name("name", _K.SUB_GROUP, Scope.POD_GROUP, declares=True),
            name("parent", _K.SUB_GROUP, Scope.POD_GROUP),
            *values("min_member", "min_sub_group"),
            *messages("topology_constraint"),
        ),
    ),
    Row(
        pb.TopologyConstraint,
        (
            name("topology", _K.TOPOLOGY),
            name("required_level", _K.LABEL, is_long=True),
            name("preferred_level", _K.LABEL, is_long=True),
        ),
    ),
    Row(pb.Topology, (name("name", _K.TOPOLOGY), name("levels", _K.LABEL, is_long=True)), key=("name",)),
    Row(
        pb.Pod,
        (
            name("uid", _K.POD),
            name("name", _K.POD_NAME),
            name("pod_group", _K.POD_GROUP, is_column=True),
            name("sub_group", _K.SUB_GROUP, Scope.POD_GROUP, is_column=True),
            name("shape", _K.SHAPE, is_column=True),
            *values("status", "creation_time", "task_priority", "leader"),
            name("node", _K.NODE, is_column=True),
            name("gpu_groups", _K.DEVICE, Scope.NODE, is_long=True),
            name("nominated_node", _K.NODE, is_column=True),
            name("blocked_reason", _K.BLOCKER, is_long=True),
            name("resource_claims", _K.CLAIM),
            mapping("labels", _K.LABEL, _K.VALUE),
            *messages("numa_placement"),
        ),
        key=("uid",),
    ),
    Row(
        pb.PodColumns,
        (
            text("string_table", _REWRITTEN),
            text("uid", _REWRITTEN),
            text("name", _REWRITTEN),
            *values("pod_group", "sub_group", "shape", "status", "node", "creation_time_delta_ns"),
            *values("nominated_node"),
        ),
    ),
    Row(resources_pb2.NumaPlacement, (name("zone", _K.ZONE), *messages("amounts"))),
    Row(
        pb.PodShape,
        (
            name("id", _K.SHAPE),
            *messages("requests", "gpu", "node_affinity", "tolerations", "pod_affinity", "pod_anti_affinity"),
            mapping("node_selector", _K.LABEL, _K.VALUE),
            *values("guaranteed"),
        ),
        key=("id",),
    ),
    Row(resources_pb2.GpuRequest, values("devices", "portion_milli", "memory_mib")),
    Row(pb.NodeSelectorTerm, messages("requirements")),
    Row(
        pb.NodeSelectorRequirement,
        (
            name("key", _K.LABEL, is_long=True),
            name("values", _K.VALUE, Scope.KEY, is_long=True),
            *values("operator"),
        ),
    ),
    Row(
        pb.Toleration,
        (
            name("key", _K.TAINT, is_long=True),
            name("value", _K.TAINT_VALUE, Scope.KEY, is_long=True),
            *values("exists", "effect"),
        ),
    ),
    Row(
        pb.PodAffinityTerm,
        (mapping("match_labels", _K.LABEL, _K.VALUE), name("topology_key", _K.LABEL, is_long=True)),
    ),
    Row(
        pb.ResourceClaim,
        (
            name("id", _K.CLAIM),
            name("queue", _K.QUEUE),
            name("node", _K.NODE),
            *messages("requests"),
            *values("from_template", "other_consumers"),
        ),
        key=("id",),
    ),
    Row(pb.DeviceRequest, (name("device_class", _K.DEVICE_CLASS), *values("count"))),
    Row(
        pb.EvictionRecord,
        (
            name("victim", _K.POD_GROUP),
            name("preemptor", _K.POD_GROUP),
            *values("last_eviction_time", "consecutive_failures", "last_failure_time", "result_pending"),
        ),
        key=("victim", "preemptor"),
    ),
    Row(
        pb.InFlightGroup,
        (
            name("id", _K.GROUP),
            name("action", _K.ACTION),
            name("beneficiary", _K.POD_GROUP),
            *values("expire_time"),
            *messages("evictions", "reservations", "bindings"),
        ),
        key=("id",),
    ),
    Row(
        pb.InFlightDecision,
        (
            name("pod", _K.POD),
            name("node", _K.NODE),
            name("gpu_groups", _K.DEVICE, Scope.NODE, is_long=True),
            *messages("numa_placement"),
            name("pod_group", _K.POD_GROUP),
        ),
    ),
)

_BY_NAME: Final[Mapping[str, Row]] = {row.descriptor.full_name: row for row in ROWS}


def row_keys() -> Mapping[str, tuple[str, ...]]:
    """Every list of a snapshot with the fields that make the key of a row."""
    snapshot = _BY_NAME[pb.ClusterSnapshot.DESCRIPTOR.full_name].descriptor
    lists = [field for field in snapshot.fields if field.is_repeated]
    return {field.name: _BY_NAME[_inner(field).full_name].key for field in lists}


def text_columns() -> tuple[str, ...]:
    """Fields of pods that have a column of indices."""
    return tuple([field.name for field in _BY_NAME[pb.Pod.DESCRIPTOR.full_name].fields if field.is_column])


def declared_texts() -> Iterator[tuple[FieldDescriptor, Field]]:
    """Every field with texts, keys and values of maps included, with its declaration."""
    for row in ROWS:
        for declared in row.fields:
            field = row.descriptor.fields_by_name[declared.name]
            if declared.holds is FieldType.TEXT:
                yield field, declared
            elif declared.holds is FieldType.MAP:
                entry = _inner(field).fields_by_name
                yield entry["key"], declared._replace(kind=declared.key_kind)
                if declared.kind is not None:
                    yield entry["value"], declared


def _inner(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type

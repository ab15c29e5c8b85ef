"""Every field of a snapshot, declared once.

Row keys, columns of pods, limits on texts and redaction read this table. `make proto` generates from it the
facts of the solver, the rows that are read from bytes, and the conversion of rows to facts (`generate`).
docs/internals/wire.md shows how to add a field.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from tenure.v1 import resources_pb2
from tenure.v1 import snapshot_pb2 as pb


class NameKind(Enum):
    """Kinds of names. Names of different kinds are independent of each other."""

    ACTION = auto()
    ANNOTATION = auto()
    """Values that the owner of a workload writes; they may contain names by accident."""
    BLOCKER = auto()
    BUDGET = auto()
    CLAIM = auto()
    CLUSTER = auto()
    CONDITION = auto()
    DEVICE = auto()
    DEVICE_CLASS = auto()
    GROUP = auto()
    LABEL = auto()
    NAMESPACE = auto()
    NODE = auto()
    NODE_CLASS = auto()
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
    """Scope of a name."""

    SNAPSHOT = auto()
    NODE = auto()
    POD_GROUP = auto()
    KEY = auto()
    """The field `key` of the same message, or the key of the map."""


class FieldType(Enum):
    """Type of a field."""

    TEXT = auto()
    VALUE = auto()
    """A number, a bool, an enum, a time or a duration, or a list of these."""
    MAP = auto()
    MESSAGE = auto()
    """Messages that have a row of their own in this table."""


class FactKind(Enum):
    """How the value of a field becomes a fact of the solver, and how it is checked."""

    TEXT = auto()
    FLAG = auto()
    NUMBER = auto()
    COUNT = auto()
    """A number from 0 to MAX_COUNT; None if the field is optional and unset."""
    TIME = auto()
    """Nanoseconds since the Unix epoch; None if unset."""
    REQUIRED_TIME = auto()
    TIME_OR_ZERO = auto()
    """A time that is 0 if unset."""
    DURATION = auto()
    """Nanoseconds, 0 if unset."""
    OPTIONAL_DURATION = auto()
    """Nanoseconds, None if unset: an explicit 0 has a meaning of its own."""
    SIGNED_DURATION = auto()
    """Nanoseconds, None if unset. A negative value has a meaning of its own."""
    CHOICE = auto()
    """A value of an enum of the solver (`Field.enum`), UNSPECIFIED if unset."""


class Field(NamedTuple):
    """One field. Made by the functions below."""

    name: str
    holds: FieldType
    kind: NameKind | None = None
    """Kind of name of the text, or of the values of a map."""
    scope: Scope = Scope.SNAPSHOT
    key_kind: NameKind | None = None
    """Kind of name of the keys of a map."""
    is_long: bool = False
    """Whether texts can be longer than names."""
    declares: bool = False
    """Whether its spelling is the authoritative one."""
    is_column: bool = False
    """Whether `PodColumns` has a column of indices for it."""
    reason: str = ""
    """Why the texts, or the keys of a map, are not names."""
    fact: FactKind | None = None
    """None: the codec reads the field by hand."""
    into: str = ""
    """Name of the fact."""
    part: str = ""
    """Part of the facts that few objects have; empty: the object itself."""
    is_common: bool = False
    """Whether most rows have it, so that it is read from the bytes without parsing the message."""
    enum: str = ""
    """Enum of the solver for a choice; numbers as on the wire."""
    default: int | None = None
    """What an optional number is if it is unset; None: it has no number then."""

    def as_fact(self, kind: FactKind, into: str = "") -> "Field":
        """The field with a fact that is generated."""
        return self._replace(fact=kind, into=into or self.name)

    def of(self, part: str) -> "Field":
        """The field as a fact of a part of its object, such as `victim`."""
        return self._replace(part=part)

    def otherwise(self, default: int) -> "Field":
        """The field as an optional number with a default."""
        return self._replace(default=default)

    def common(self) -> "Field":
        """The field as one that most rows have."""
        return self._replace(is_common=True)


def name(
    field: str,
    kind: NameKind,
    scope: Scope = Scope.SNAPSHOT,
    *,
    is_long: bool = False,
    declares: bool = False,
    is_column: bool = False,
) -> Field:
    """A text, or a list of texts, that is a name."""
    return Field(field, FieldType.TEXT, kind, scope, None, is_long, declares, is_column)


def text(field: str, reason: str) -> Field:
    """A text that is not a name, and why."""
    return Field(field, FieldType.TEXT, reason=reason)


def mapping(field: str, key: NameKind | None, value: NameKind | None = None, reason: str = "") -> Field:
    """A map with kinds of names for keys and values; None for numbers, and for keys that are not names."""
    return Field(field, FieldType.MAP, value, Scope.SNAPSHOT, key, True, reason=reason)


def values(*fields: str) -> tuple[Field, ...]:
    """Numbers, bools, enums, times and durations that are read by hand."""
    return tuple([Field(field, FieldType.VALUE) for field in fields])


def fact(field: str, kind: FactKind, into: str = "") -> Field:
    """A number, a bool, a time or a duration with a fact that is generated."""
    return Field(field, FieldType.VALUE).as_fact(kind, into)


def choice(field: str, enum: str) -> Field:
    """A value of an enum with a fact that is generated. `enum`: a class of `solver/model/fate.py`."""
    return fact(field, FactKind.CHOICE)._replace(enum=enum)


def messages(*fields: str) -> tuple[Field, ...]:
    """Messages, or lists of messages."""
    return tuple([Field(field, FieldType.MESSAGE) for field in fields])


class Carried(NamedTuple):
    """How callers store the rows of a list from one cycle to the next (docs/internals/state.md)."""

    set_by: str = ""
    """Change of a StatePatch that stores a row.

    Empty: patches of decisions store it, or the caller writes it.
    """
    deleted_by: str = ""
    """Change of a StatePatch that deletes the row with this key. Empty: none does."""
    named_by: str = ""
    """List of a DecideResponse with the names of all rows in use; others are deleted. Empty: none is."""
    needs_acceptance: bool = False
    """Whether changes are stored only if a decision group of the response is accepted."""
    most_stored: int = 0
    """How many rows are stored at most: those with the latest `time`, and that without a name. 0: all."""
    names_workloads: bool = False
    """Whether rows refer to pods and pod groups, whose indices a delta can change."""
    ages: bool = False
    """Whether responses with such rows depend on the time even if they have no decisions."""


class Row(NamedTuple):
    """One message of the contract."""

    message: type[Message]
    fields: tuple[Field, ...]
    key: tuple[str, ...] = ()
    """Fields of the row key, if rows of a snapshot are such messages."""
    max_rows: int = 0
    """How many rows a server accepts by default, if rows of a snapshot are such messages."""
    carried: Carried | None = None
    """None: callers observe the rows."""

    @property
    def descriptor(self) -> Descriptor:
        """Descriptor of the message."""
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
            *messages("eviction_history", "pod_columns", "in_flight_groups", "disruption_budgets"),
            *messages("eviction_rates", "queue_usage", "planned_starts", "queue_runtimes"),
            *messages("postponed_pod_groups"),
        ),
    ),
    Row(
        pb.Node,
        (
            name("name", _K.NODE).as_fact(FactKind.TEXT),
            mapping("labels", _K.LABEL, _K.VALUE),
            *messages("allocatable", "taints", "numa_zones", "other_pods"),
            *values("gpu_memory_mib", "unschedulable", "mig_strategy", "numa_policy"),
            name("unready_conditions", _K.CONDITION, is_long=True),
            mapping("devices", _K.DEVICE_CLASS),
            name("node_class", _K.NODE_CLASS).as_fact(FactKind.TEXT),
        ),
        key=("name",),
        max_rows=20_000,
    ),
    Row(
        pb.OtherPods,
        (
            name("namespace", _K.NAMESPACE),
            mapping("labels", _K.LABEL, _K.VALUE),
            *values("count", "terminating"),
            *messages("pod_anti_affinity", "host_ports"),
        ),
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
            name("name", _K.QUEUE).as_fact(FactKind.TEXT),
            name("parent", _K.QUEUE).as_fact(FactKind.TEXT, "parent_name"),
            fact("priority", FactKind.NUMBER).otherwise(100),
            fact("creation_time", FactKind.TIME_OR_ZERO, "creation"),
            *messages("cpu_milli", "memory_bytes", "gpu_milli", "class_limits"),
            fact("preempt_min_runtime", FactKind.OPTIONAL_DURATION),
            fact("reclaim_min_runtime", FactKind.OPTIONAL_DURATION),
            fact("expected_runtime", FactKind.OPTIONAL_DURATION),
            fact("requeue_delay", FactKind.OPTIONAL_DURATION),
            fact("max_min_runtime", FactKind.OPTIONAL_DURATION),
            choice("on_evict", "Fate"),
            fact("notice", FactKind.OPTIONAL_DURATION),
            choice("at_eviction_limit", "AtEvictionLimit"),
            fact("time_limit", FactKind.OPTIONAL_DURATION),
            fact("max_running", FactKind.COUNT),
            choice("on_time_limit", "Fate"),
        ),
        key=("name",),
        max_rows=5_000,
    ),
    Row(pb.QueueResource, values("quota", "limit", "over_quota_weight", "lending_limit")),
    Row(pb.ClassLimit, (name("node_class", _K.NODE_CLASS), *values("quota_gpu_milli", "limit_gpu_milli"))),
    Row(
        pb.PodGroup,
        (
            name("uid", _K.POD_GROUP).as_fact(FactKind.TEXT).common(),
            name("name", _K.POD_GROUP_NAME).common(),
            name("namespace", _K.NAMESPACE).as_fact(FactKind.TEXT).common(),
            name("queue", _K.QUEUE).as_fact(FactKind.TEXT, "queue_name").common(),
            fact("priority", FactKind.NUMBER).common(),
            *(field.common() for field in values("preemptibility", "min_member")),
            *values("min_sub_group"),
            *messages("sub_groups", "topology_constraint"),
            fact("creation_time", FactKind.REQUIRED_TIME, "creation").common(),
            fact("last_start_time", FactKind.TIME, "last_start").common(),
            fact("last_eviction_time", FactKind.TIME, "last_eviction"),
            fact("stale_since", FactKind.TIME),
            fact("staleness_grace_period", FactKind.SIGNED_DURATION),
            fact("preemption_delay", FactKind.DURATION),
            fact("never_evicts", FactKind.FLAG),
            fact("is_preemptibility_label", FactKind.FLAG),
            *values("expected_runtime", "requeue_delay", "requeue_not_before", "min_runtime"),
            mapping(
                "annotations",
                None,
                _K.ANNOTATION,
                reason="only the keys that Tenure reads stay; others go with their values",
            ),
            text("opt_out_actions", "a closed list of actions; a snapshot with another is refused"),
            fact("eviction_count", FactKind.COUNT),
            fact("total_eviction_wait", FactKind.DURATION),
            fact("evictions_without_progress", FactKind.COUNT),
            choice("on_evict", "Fate").of("victim"),
            choice("on_time_limit", "Fate").of("victim"),
            *values("held_by", "release_time"),
            fact("suspendable", FactKind.FLAG).of("victim"),
            *messages("evictions"),
            fact("last_checkpoint_time", FactKind.TIME, "last_checkpoint").of("victim"),
            fact("checkpoint_interval", FactKind.DURATION).of("victim"),
            fact("restart_cost", FactKind.DURATION).of("victim"),
            fact("eviction_cost", FactKind.COUNT).of("victim"),
            fact("shrink_loses_work", FactKind.FLAG).of("victim"),
            fact("notice", FactKind.SIGNED_DURATION).of("victim"),
            fact("termination_grace", FactKind.DURATION).of("victim"),
            fact("checkpoint_on_notice", FactKind.FLAG).of("victim"),
            fact("last_notice_time", FactKind.TIME, "last_notice").of("victim"),
            fact("time_limit", FactKind.DURATION).of("victim"),
            fact("not_before_time", FactKind.TIME, "not_before").of("victim"),
            fact("eligible_time", FactKind.TIME, "eligible").of("victim"),
            name("depends_on", _K.POD_GROUP),
            *messages("backfill_for", "grant"),
        ),
        key=("uid",),
        max_rows=100_000,
    ),
    Row(
        pb.EvictionCounts,
        (mapping("by_cause", None, reason="a closed list of causes; a snapshot with another is refused"),),
    ),
    Row(
        pb.Grant,
        (
            name("queue", _K.QUEUE),
            *values("preemptibility", "min_pods", "expected_runtime"),
            text("opt_out_actions", "a closed list of actions; a snapshot with another is refused"),
        ),
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
    Row(
        pb.Topology,
        (name("name", _K.TOPOLOGY), name("levels", _K.LABEL, is_long=True)),
        key=("name",),
        max_rows=1_000,
    ),
    Row(
        pb.Pod,
        (
            name("uid", _K.POD).as_fact(FactKind.TEXT).common(),
            name("name", _K.POD_NAME).common(),
            name("pod_group", _K.POD_GROUP, is_column=True).as_fact(FactKind.TEXT).common(),
            name("sub_group", _K.SUB_GROUP, Scope.POD_GROUP, is_column=True).common(),
            name("shape", _K.SHAPE, is_column=True).common(),
            *(field.common() for field in values("status")),
            fact("creation_time", FactKind.TIME_OR_ZERO, "creation").common(),
            fact("task_priority", FactKind.NUMBER, "priority"),
            fact("leader", FactKind.FLAG),
            name("node", _K.NODE, is_column=True).common(),
            name("gpu_groups", _K.DEVICE, Scope.NODE, is_long=True).common(),
            name("nominated_node", _K.NODE, is_column=True),
            name("blocked_reason", _K.BLOCKER, is_long=True).as_fact(FactKind.TEXT),
            name("resource_claims", _K.CLAIM),
            mapping("labels", _K.LABEL, _K.VALUE),
            *messages("numa_placement"),
            name("disruption_budgets", _K.BUDGET),
        ),
        key=("uid",),
        max_rows=200_000,
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
            *messages("host_ports", "topology_spread", "preferred_node_affinity", "preferred_pod_affinity"),
            *messages("preferred_pod_anti_affinity", "preferred_topology_spread"),
            mapping("node_selector", _K.LABEL, _K.VALUE),
            *values("guaranteed"),
        ),
        key=("id",),
        max_rows=100_000,
    ),
    Row(resources_pb2.GpuRequest, values("devices", "portion_milli", "memory_mib")),
    Row(pb.NodeSelectorTerm, messages("requirements")),
    Row(pb.PreferredSchedulingTerm, (*values("weight"), *messages("preference"))),
    Row(pb.WeightedPodAffinityTerm, (*values("weight"), *messages("term"))),
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
        (
            mapping("match_labels", _K.LABEL, _K.VALUE),
            name("topology_key", _K.LABEL, is_long=True),
            *messages("match_expressions"),
            name("namespaces", _K.NAMESPACE),
            *values("all_namespaces"),
        ),
    ),
    Row(
        pb.HostPort,
        (
            *values("port"),
            text("protocol", "the name of a protocol"),
            text("ip", "an address is not changed: equal ones conflict"),
        ),
    ),
    Row(
        pb.TopologySpread,
        (
            name("topology_key", _K.LABEL, is_long=True),
            *values("max_skew", "min_domains", "counts_unselected_nodes", "omits_tainted_nodes"),
            mapping("match_labels", _K.LABEL, _K.VALUE),
            *messages("match_expressions"),
        ),
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
        max_rows=200_000,
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
        max_rows=200_000,
        carried=Carried(names_workloads=True, ages=True),
    ),
    Row(
        pb.QueueUsage,
        (name("queue", _K.QUEUE), *values("time"), *messages("used", "entitled", "normalized")),
        key=("queue",),
        max_rows=10_000,
        carried=Carried(set_by="set_queue_usage", most_stored=6_000, ages=True),
    ),
    Row(
        pb.QueueRuntimes,
        (name("queue", _K.QUEUE), *values("time"), *messages("sizes")),
        key=("queue",),
        max_rows=10_000,
        carried=Carried(most_stored=1_000),
    ),
    Row(pb.SizeRuntimes, values("gpu_milli", "seconds")),
    Row(
        pb.PlannedStart,
        (
            name("pod_group", _K.POD_GROUP),
            *values("since", "grown_time", "held", "start_time", "certainty"),
            *messages("pods"),
            *values("first_bounded_start", "paused_until", "delayed_by"),
        ),
        key=("pod_group",),
        max_rows=10_000,
        carried=Carried(set_by="set_planned_start", deleted_by="delete_planned_start", ages=True),
    ),
    Row(
        pb.PostponedPodGroup,
        (name("pod_group", _K.POD_GROUP), *values("since")),
        key=("pod_group",),
        max_rows=10_000,
        carried=Carried(set_by="set_postponed_pod_group", deleted_by="delete_postponed_pod_group"),
    ),
    Row(pb.PlannedPods, (name("node", _K.NODE), name("shape", _K.SHAPE), *values("pods"))),
    Row(pb.BackfillOwners, (name("pod_groups", _K.POD_GROUP),)),
    Row(pb.UsageMean, messages("average", "held", "rate")),
    Row(pb.UsageAmounts, values("cpu", "memory", "gpu")),
    Row(
        pb.InFlightGroup,
        (
            name("id", _K.GROUP),
            name("action", _K.ACTION),
            name("beneficiary", _K.POD_GROUP),
            *values("expire_time", "evict_time"),
            *messages("evictions", "reservations", "bindings", "notices"),
        ),
        key=("id",),
        max_rows=10_000,
        carried=Carried(names_workloads=True),
    ),
    Row(
        pb.EvictionRateState,
        (text("name", "a name of the configuration"), *values("tokens_milli", "time")),
        key=("name",),
        max_rows=1_000,
        carried=Carried(set_by="set_eviction_rate", named_by="eviction_rates", needs_acceptance=True),
    ),
    Row(
        pb.DisruptionBudget,
        (
            name("name", _K.BUDGET),
            *values("allowed", "next_allowed_time"),
            name("counted_pods", _K.POD),
        ),
        key=("name",),
        max_rows=20_000,
    ),
    Row(
        pb.InFlightDecision,
        (
            name("pod", _K.POD),
            name("node", _K.NODE),
            name("gpu_groups", _K.DEVICE, Scope.NODE, is_long=True),
            *messages("numa_placement"),
            name("pod_group", _K.POD_GROUP),
            name("sub_group", _K.SUB_GROUP, Scope.POD_GROUP),
        ),
    ),
)

_BY_NAME: Final[Mapping[str, Row]] = {row.descriptor.full_name: row for row in ROWS}


def row_keys() -> Mapping[str, tuple[str, ...]]:
    """Fields of the row key, by list of a snapshot."""
    return {name: row.key for name, row in _rows_of_lists().items()}


def default_max_rows() -> Mapping[str, int]:
    """How many rows a server accepts by default, by list of a snapshot."""
    return {name: row.max_rows for name, row in _rows_of_lists().items()}


def carried_lists() -> Mapping[str, Row]:
    """Rows that callers carry from cycle to cycle, by list of a snapshot, in the order of the table."""
    rows = {name: row for name, row in _rows_of_lists().items() if row.carried is not None}
    return dict(sorted(rows.items(), key=lambda item: ROWS.index(item[1])))


def _rows_of_lists() -> Mapping[str, Row]:
    snapshot = _BY_NAME[pb.ClusterSnapshot.DESCRIPTOR.full_name].descriptor
    return {field.name: _BY_NAME[_inner(field).full_name] for field in snapshot.fields if field.is_repeated}


def text_columns() -> tuple[str, ...]:
    """Fields of pods with a column of indices."""
    return tuple([field.name for field in _BY_NAME[pb.Pod.DESCRIPTOR.full_name].fields if field.is_column])


def declared_texts() -> Iterator[tuple[FieldDescriptor, Field]]:
    """Every field with texts, including keys and values of maps, with its declaration."""
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

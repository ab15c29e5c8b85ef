import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import resources_pb2 as _resources_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StartDelay(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    START_DELAY_UNSPECIFIED: _ClassVar[StartDelay]
    START_DELAY_OVERRUN: _ClassVar[StartDelay]
    START_DELAY_NODE_LOST: _ClassVar[StartDelay]
    START_DELAY_QUEUE_BOUND: _ClassVar[StartDelay]
    START_DELAY_NODES_IN_USE: _ClassVar[StartDelay]

class Certainty(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CERTAINTY_UNSPECIFIED: _ClassVar[Certainty]
    CERTAINTY_BOUNDED: _ClassVar[Certainty]
    CERTAINTY_EXPECTED: _ClassVar[Certainty]
    CERTAINTY_ASSUMED: _ClassVar[Certainty]
    CERTAINTY_UNKNOWN: _ClassVar[Certainty]

class MigStrategy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MIG_STRATEGY_UNSPECIFIED: _ClassVar[MigStrategy]
    MIG_STRATEGY_SINGLE: _ClassVar[MigStrategy]
    MIG_STRATEGY_MIXED: _ClassVar[MigStrategy]

class NumaPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NUMA_POLICY_UNSPECIFIED: _ClassVar[NumaPolicy]
    NUMA_POLICY_BEST_EFFORT: _ClassVar[NumaPolicy]
    NUMA_POLICY_RESTRICTED: _ClassVar[NumaPolicy]
    NUMA_POLICY_SINGLE_NUMA_NODE: _ClassVar[NumaPolicy]

class TaintEffect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TAINT_EFFECT_UNSPECIFIED: _ClassVar[TaintEffect]
    TAINT_EFFECT_NO_SCHEDULE: _ClassVar[TaintEffect]
    TAINT_EFFECT_PREFER_NO_SCHEDULE: _ClassVar[TaintEffect]
    TAINT_EFFECT_NO_EXECUTE: _ClassVar[TaintEffect]

class AtEvictionLimit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AT_EVICTION_LIMIT_UNSPECIFIED: _ClassVar[AtEvictionLimit]
    AT_EVICTION_LIMIT_IMMUNE: _ClassVar[AtEvictionLimit]
    AT_EVICTION_LIMIT_HOLD: _ClassVar[AtEvictionLimit]

class Fate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FATE_UNSPECIFIED: _ClassVar[Fate]
    FATE_REQUEUE: _ClassVar[Fate]
    FATE_HOLD: _ClassVar[Fate]
    FATE_DELETE: _ClassVar[Fate]
    FATE_SUSPEND: _ClassVar[Fate]

class HoldReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOLD_REASON_UNSPECIFIED: _ClassVar[HoldReason]
    HOLD_REASON_USER: _ClassVar[HoldReason]
    HOLD_REASON_ADMIN: _ClassVar[HoldReason]
    HOLD_REASON_DEPENDENCY: _ClassVar[HoldReason]
    HOLD_REASON_EVICTION_LIMIT: _ClassVar[HoldReason]
    HOLD_REASON_EVICTED: _ClassVar[HoldReason]
    HOLD_REASON_TIME_LIMIT: _ClassVar[HoldReason]
    HOLD_REASON_NOT_BEFORE: _ClassVar[HoldReason]

class Preemptibility(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREEMPTIBILITY_UNSPECIFIED: _ClassVar[Preemptibility]
    PREEMPTIBILITY_PREEMPTIBLE: _ClassVar[Preemptibility]
    PREEMPTIBILITY_NON_PREEMPTIBLE: _ClassVar[Preemptibility]
    PREEMPTIBILITY_SEMI_PREEMPTIBLE: _ClassVar[Preemptibility]

class PodStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POD_STATUS_UNSPECIFIED: _ClassVar[PodStatus]
    POD_STATUS_PENDING: _ClassVar[PodStatus]
    POD_STATUS_GATED: _ClassVar[PodStatus]
    POD_STATUS_PIPELINED: _ClassVar[PodStatus]
    POD_STATUS_BINDING: _ClassVar[PodStatus]
    POD_STATUS_BOUND: _ClassVar[PodStatus]
    POD_STATUS_RUNNING: _ClassVar[PodStatus]
    POD_STATUS_RELEASING: _ClassVar[PodStatus]
    POD_STATUS_STUCK_IN_RELEASING: _ClassVar[PodStatus]
    POD_STATUS_SUCCEEDED: _ClassVar[PodStatus]
    POD_STATUS_FAILED: _ClassVar[PodStatus]
    POD_STATUS_UNKNOWN: _ClassVar[PodStatus]

class SelectorOperator(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SELECTOR_OPERATOR_UNSPECIFIED: _ClassVar[SelectorOperator]
    SELECTOR_OPERATOR_IN: _ClassVar[SelectorOperator]
    SELECTOR_OPERATOR_NOT_IN: _ClassVar[SelectorOperator]
    SELECTOR_OPERATOR_EXISTS: _ClassVar[SelectorOperator]
    SELECTOR_OPERATOR_DOES_NOT_EXIST: _ClassVar[SelectorOperator]
    SELECTOR_OPERATOR_GREATER_THAN: _ClassVar[SelectorOperator]
    SELECTOR_OPERATOR_LESS_THAN: _ClassVar[SelectorOperator]
START_DELAY_UNSPECIFIED: StartDelay
START_DELAY_OVERRUN: StartDelay
START_DELAY_NODE_LOST: StartDelay
START_DELAY_QUEUE_BOUND: StartDelay
START_DELAY_NODES_IN_USE: StartDelay
CERTAINTY_UNSPECIFIED: Certainty
CERTAINTY_BOUNDED: Certainty
CERTAINTY_EXPECTED: Certainty
CERTAINTY_ASSUMED: Certainty
CERTAINTY_UNKNOWN: Certainty
MIG_STRATEGY_UNSPECIFIED: MigStrategy
MIG_STRATEGY_SINGLE: MigStrategy
MIG_STRATEGY_MIXED: MigStrategy
NUMA_POLICY_UNSPECIFIED: NumaPolicy
NUMA_POLICY_BEST_EFFORT: NumaPolicy
NUMA_POLICY_RESTRICTED: NumaPolicy
NUMA_POLICY_SINGLE_NUMA_NODE: NumaPolicy
TAINT_EFFECT_UNSPECIFIED: TaintEffect
TAINT_EFFECT_NO_SCHEDULE: TaintEffect
TAINT_EFFECT_PREFER_NO_SCHEDULE: TaintEffect
TAINT_EFFECT_NO_EXECUTE: TaintEffect
AT_EVICTION_LIMIT_UNSPECIFIED: AtEvictionLimit
AT_EVICTION_LIMIT_IMMUNE: AtEvictionLimit
AT_EVICTION_LIMIT_HOLD: AtEvictionLimit
FATE_UNSPECIFIED: Fate
FATE_REQUEUE: Fate
FATE_HOLD: Fate
FATE_DELETE: Fate
FATE_SUSPEND: Fate
HOLD_REASON_UNSPECIFIED: HoldReason
HOLD_REASON_USER: HoldReason
HOLD_REASON_ADMIN: HoldReason
HOLD_REASON_DEPENDENCY: HoldReason
HOLD_REASON_EVICTION_LIMIT: HoldReason
HOLD_REASON_EVICTED: HoldReason
HOLD_REASON_TIME_LIMIT: HoldReason
HOLD_REASON_NOT_BEFORE: HoldReason
PREEMPTIBILITY_UNSPECIFIED: Preemptibility
PREEMPTIBILITY_PREEMPTIBLE: Preemptibility
PREEMPTIBILITY_NON_PREEMPTIBLE: Preemptibility
PREEMPTIBILITY_SEMI_PREEMPTIBLE: Preemptibility
POD_STATUS_UNSPECIFIED: PodStatus
POD_STATUS_PENDING: PodStatus
POD_STATUS_GATED: PodStatus
POD_STATUS_PIPELINED: PodStatus
POD_STATUS_BINDING: PodStatus
POD_STATUS_BOUND: PodStatus
POD_STATUS_RUNNING: PodStatus
POD_STATUS_RELEASING: PodStatus
POD_STATUS_STUCK_IN_RELEASING: PodStatus
POD_STATUS_SUCCEEDED: PodStatus
POD_STATUS_FAILED: PodStatus
POD_STATUS_UNKNOWN: PodStatus
SELECTOR_OPERATOR_UNSPECIFIED: SelectorOperator
SELECTOR_OPERATOR_IN: SelectorOperator
SELECTOR_OPERATOR_NOT_IN: SelectorOperator
SELECTOR_OPERATOR_EXISTS: SelectorOperator
SELECTOR_OPERATOR_DOES_NOT_EXIST: SelectorOperator
SELECTOR_OPERATOR_GREATER_THAN: SelectorOperator
SELECTOR_OPERATOR_LESS_THAN: SelectorOperator

class ClusterSnapshot(_message.Message):
    __slots__ = ("cluster_id", "node_pool", "version", "now", "nodes", "queues", "pod_groups", "pods", "shapes", "topologies", "resource_claims", "eviction_history", "pod_columns", "in_flight_groups", "disruption_budgets", "queue_usage", "eviction_rates", "planned_starts", "queue_runtimes", "postponed_pod_groups")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_POOL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    SHAPES_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGIES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_CLAIMS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_HISTORY_FIELD_NUMBER: _ClassVar[int]
    POD_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_GROUPS_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_BUDGETS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_USAGE_FIELD_NUMBER: _ClassVar[int]
    EVICTION_RATES_FIELD_NUMBER: _ClassVar[int]
    PLANNED_STARTS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RUNTIMES_FIELD_NUMBER: _ClassVar[int]
    POSTPONED_POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    node_pool: str
    version: int
    now: _timestamp_pb2.Timestamp
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    queues: _containers.RepeatedCompositeFieldContainer[Queue]
    pod_groups: _containers.RepeatedCompositeFieldContainer[PodGroup]
    pods: _containers.RepeatedCompositeFieldContainer[Pod]
    shapes: _containers.RepeatedCompositeFieldContainer[PodShape]
    topologies: _containers.RepeatedCompositeFieldContainer[Topology]
    resource_claims: _containers.RepeatedCompositeFieldContainer[ResourceClaim]
    eviction_history: _containers.RepeatedCompositeFieldContainer[EvictionRecord]
    pod_columns: PodColumns
    in_flight_groups: _containers.RepeatedCompositeFieldContainer[InFlightGroup]
    disruption_budgets: _containers.RepeatedCompositeFieldContainer[DisruptionBudget]
    queue_usage: _containers.RepeatedCompositeFieldContainer[QueueUsage]
    eviction_rates: _containers.RepeatedCompositeFieldContainer[EvictionRateState]
    planned_starts: _containers.RepeatedCompositeFieldContainer[PlannedStart]
    queue_runtimes: _containers.RepeatedCompositeFieldContainer[QueueRuntimes]
    postponed_pod_groups: _containers.RepeatedCompositeFieldContainer[PostponedPodGroup]
    def __init__(self, cluster_id: _Optional[str] = ..., node_pool: _Optional[str] = ..., version: _Optional[int] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., queues: _Optional[_Iterable[_Union[Queue, _Mapping]]] = ..., pod_groups: _Optional[_Iterable[_Union[PodGroup, _Mapping]]] = ..., pods: _Optional[_Iterable[_Union[Pod, _Mapping]]] = ..., shapes: _Optional[_Iterable[_Union[PodShape, _Mapping]]] = ..., topologies: _Optional[_Iterable[_Union[Topology, _Mapping]]] = ..., resource_claims: _Optional[_Iterable[_Union[ResourceClaim, _Mapping]]] = ..., eviction_history: _Optional[_Iterable[_Union[EvictionRecord, _Mapping]]] = ..., pod_columns: _Optional[_Union[PodColumns, _Mapping]] = ..., in_flight_groups: _Optional[_Iterable[_Union[InFlightGroup, _Mapping]]] = ..., disruption_budgets: _Optional[_Iterable[_Union[DisruptionBudget, _Mapping]]] = ..., queue_usage: _Optional[_Iterable[_Union[QueueUsage, _Mapping]]] = ..., eviction_rates: _Optional[_Iterable[_Union[EvictionRateState, _Mapping]]] = ..., planned_starts: _Optional[_Iterable[_Union[PlannedStart, _Mapping]]] = ..., queue_runtimes: _Optional[_Iterable[_Union[QueueRuntimes, _Mapping]]] = ..., postponed_pod_groups: _Optional[_Iterable[_Union[PostponedPodGroup, _Mapping]]] = ...) -> None: ...

class PostponedPodGroup(_message.Message):
    __slots__ = ("pod_group", "since")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, pod_group: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class QueueRuntimes(_message.Message):
    __slots__ = ("queue", "time", "sizes")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    queue: str
    time: _timestamp_pb2.Timestamp
    sizes: _containers.RepeatedCompositeFieldContainer[SizeRuntimes]
    def __init__(self, queue: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sizes: _Optional[_Iterable[_Union[SizeRuntimes, _Mapping]]] = ...) -> None: ...

class SizeRuntimes(_message.Message):
    __slots__ = ("gpu_milli", "seconds")
    GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    gpu_milli: int
    seconds: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, gpu_milli: _Optional[int] = ..., seconds: _Optional[_Iterable[int]] = ...) -> None: ...

class PlannedStart(_message.Message):
    __slots__ = ("pod_group", "since", "grown_time", "held", "start_time", "certainty", "pods", "first_bounded_start", "paused_until", "delayed_by")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    GROWN_TIME_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    CERTAINTY_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    FIRST_BOUNDED_START_FIELD_NUMBER: _ClassVar[int]
    PAUSED_UNTIL_FIELD_NUMBER: _ClassVar[int]
    DELAYED_BY_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    since: _timestamp_pb2.Timestamp
    grown_time: _timestamp_pb2.Timestamp
    held: int
    start_time: _timestamp_pb2.Timestamp
    certainty: Certainty
    pods: _containers.RepeatedCompositeFieldContainer[PlannedPods]
    first_bounded_start: _timestamp_pb2.Timestamp
    paused_until: _timestamp_pb2.Timestamp
    delayed_by: StartDelay
    def __init__(self, pod_group: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., grown_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., held: _Optional[int] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., certainty: _Optional[_Union[Certainty, str]] = ..., pods: _Optional[_Iterable[_Union[PlannedPods, _Mapping]]] = ..., first_bounded_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., paused_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., delayed_by: _Optional[_Union[StartDelay, str]] = ...) -> None: ...

class PlannedPods(_message.Message):
    __slots__ = ("node", "shape", "pods")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    node: str
    shape: str
    pods: int
    def __init__(self, node: _Optional[str] = ..., shape: _Optional[str] = ..., pods: _Optional[int] = ...) -> None: ...

class EvictionRateState(_message.Message):
    __slots__ = ("name", "tokens_milli", "time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MILLI_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    tokens_milli: int
    time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., tokens_milli: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DisruptionBudget(_message.Message):
    __slots__ = ("name", "allowed", "counted_pods", "next_allowed_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    COUNTED_PODS_FIELD_NUMBER: _ClassVar[int]
    NEXT_ALLOWED_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    allowed: int
    counted_pods: _containers.RepeatedScalarFieldContainer[str]
    next_allowed_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., allowed: _Optional[int] = ..., counted_pods: _Optional[_Iterable[str]] = ..., next_allowed_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class QueueUsage(_message.Message):
    __slots__ = ("queue", "time", "used", "entitled", "normalized")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    ENTITLED_FIELD_NUMBER: _ClassVar[int]
    NORMALIZED_FIELD_NUMBER: _ClassVar[int]
    queue: str
    time: _timestamp_pb2.Timestamp
    used: UsageMean
    entitled: UsageMean
    normalized: UsageAmounts
    def __init__(self, queue: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., used: _Optional[_Union[UsageMean, _Mapping]] = ..., entitled: _Optional[_Union[UsageMean, _Mapping]] = ..., normalized: _Optional[_Union[UsageAmounts, _Mapping]] = ...) -> None: ...

class UsageMean(_message.Message):
    __slots__ = ("average", "held", "rate")
    AVERAGE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    average: UsageAmounts
    held: UsageAmounts
    rate: UsageAmounts
    def __init__(self, average: _Optional[_Union[UsageAmounts, _Mapping]] = ..., held: _Optional[_Union[UsageAmounts, _Mapping]] = ..., rate: _Optional[_Union[UsageAmounts, _Mapping]] = ...) -> None: ...

class UsageAmounts(_message.Message):
    __slots__ = ("cpu", "memory", "gpu")
    CPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    cpu: int
    memory: int
    gpu: int
    def __init__(self, cpu: _Optional[int] = ..., memory: _Optional[int] = ..., gpu: _Optional[int] = ...) -> None: ...

class InFlightGroup(_message.Message):
    __slots__ = ("id", "action", "beneficiary", "expire_time", "evictions", "reservations", "bindings", "notices", "evict_time")
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    BENEFICIARY_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    EVICT_TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    action: str
    beneficiary: str
    expire_time: _timestamp_pb2.Timestamp
    evictions: _containers.RepeatedCompositeFieldContainer[InFlightDecision]
    reservations: _containers.RepeatedCompositeFieldContainer[InFlightDecision]
    bindings: _containers.RepeatedCompositeFieldContainer[InFlightDecision]
    notices: _containers.RepeatedCompositeFieldContainer[InFlightDecision]
    evict_time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., action: _Optional[str] = ..., beneficiary: _Optional[str] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., evictions: _Optional[_Iterable[_Union[InFlightDecision, _Mapping]]] = ..., reservations: _Optional[_Iterable[_Union[InFlightDecision, _Mapping]]] = ..., bindings: _Optional[_Iterable[_Union[InFlightDecision, _Mapping]]] = ..., notices: _Optional[_Iterable[_Union[InFlightDecision, _Mapping]]] = ..., evict_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class InFlightDecision(_message.Message):
    __slots__ = ("pod", "node", "gpu_groups", "numa_placement", "pod_group", "sub_group")
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    GPU_GROUPS_FIELD_NUMBER: _ClassVar[int]
    NUMA_PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    SUB_GROUP_FIELD_NUMBER: _ClassVar[int]
    pod: str
    node: str
    gpu_groups: _containers.RepeatedScalarFieldContainer[str]
    numa_placement: _containers.RepeatedCompositeFieldContainer[_resources_pb2.NumaPlacement]
    pod_group: str
    sub_group: str
    def __init__(self, pod: _Optional[str] = ..., node: _Optional[str] = ..., gpu_groups: _Optional[_Iterable[str]] = ..., numa_placement: _Optional[_Iterable[_Union[_resources_pb2.NumaPlacement, _Mapping]]] = ..., pod_group: _Optional[str] = ..., sub_group: _Optional[str] = ...) -> None: ...

class PodColumns(_message.Message):
    __slots__ = ("string_table", "uid", "name", "pod_group", "sub_group", "shape", "status", "node", "creation_time_delta_ns", "nominated_node")
    STRING_TABLE_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    SUB_GROUP_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIME_DELTA_NS_FIELD_NUMBER: _ClassVar[int]
    NOMINATED_NODE_FIELD_NUMBER: _ClassVar[int]
    string_table: _containers.RepeatedScalarFieldContainer[str]
    uid: _containers.RepeatedScalarFieldContainer[str]
    name: _containers.RepeatedScalarFieldContainer[str]
    pod_group: _containers.RepeatedScalarFieldContainer[int]
    sub_group: _containers.RepeatedScalarFieldContainer[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    status: _containers.RepeatedScalarFieldContainer[PodStatus]
    node: _containers.RepeatedScalarFieldContainer[int]
    creation_time_delta_ns: _containers.RepeatedScalarFieldContainer[int]
    nominated_node: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, string_table: _Optional[_Iterable[str]] = ..., uid: _Optional[_Iterable[str]] = ..., name: _Optional[_Iterable[str]] = ..., pod_group: _Optional[_Iterable[int]] = ..., sub_group: _Optional[_Iterable[int]] = ..., shape: _Optional[_Iterable[int]] = ..., status: _Optional[_Iterable[_Union[PodStatus, str]]] = ..., node: _Optional[_Iterable[int]] = ..., creation_time_delta_ns: _Optional[_Iterable[int]] = ..., nominated_node: _Optional[_Iterable[int]] = ...) -> None: ...

class EvictionRecord(_message.Message):
    __slots__ = ("victim", "preemptor", "last_eviction_time", "consecutive_failures", "last_failure_time", "result_pending")
    VICTIM_FIELD_NUMBER: _ClassVar[int]
    PREEMPTOR_FIELD_NUMBER: _ClassVar[int]
    LAST_EVICTION_TIME_FIELD_NUMBER: _ClassVar[int]
    CONSECUTIVE_FAILURES_FIELD_NUMBER: _ClassVar[int]
    LAST_FAILURE_TIME_FIELD_NUMBER: _ClassVar[int]
    RESULT_PENDING_FIELD_NUMBER: _ClassVar[int]
    victim: str
    preemptor: str
    last_eviction_time: _timestamp_pb2.Timestamp
    consecutive_failures: int
    last_failure_time: _timestamp_pb2.Timestamp
    result_pending: bool
    def __init__(self, victim: _Optional[str] = ..., preemptor: _Optional[str] = ..., last_eviction_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., consecutive_failures: _Optional[int] = ..., last_failure_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., result_pending: bool = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("name", "labels", "allocatable", "gpu_memory_mib", "taints", "unschedulable", "unready_conditions", "mig_strategy", "devices", "numa_policy", "numa_zones", "other_pods", "node_class")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class DevicesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ALLOCATABLE_FIELD_NUMBER: _ClassVar[int]
    GPU_MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    TAINTS_FIELD_NUMBER: _ClassVar[int]
    UNSCHEDULABLE_FIELD_NUMBER: _ClassVar[int]
    UNREADY_CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    MIG_STRATEGY_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    NUMA_POLICY_FIELD_NUMBER: _ClassVar[int]
    NUMA_ZONES_FIELD_NUMBER: _ClassVar[int]
    OTHER_PODS_FIELD_NUMBER: _ClassVar[int]
    NODE_CLASS_FIELD_NUMBER: _ClassVar[int]
    name: str
    labels: _containers.ScalarMap[str, str]
    allocatable: _resources_pb2.Resources
    gpu_memory_mib: int
    taints: _containers.RepeatedCompositeFieldContainer[Taint]
    unschedulable: bool
    unready_conditions: _containers.RepeatedScalarFieldContainer[str]
    mig_strategy: MigStrategy
    devices: _containers.ScalarMap[str, int]
    numa_policy: NumaPolicy
    numa_zones: _containers.RepeatedCompositeFieldContainer[NumaZone]
    other_pods: _containers.RepeatedCompositeFieldContainer[OtherPods]
    node_class: str
    def __init__(self, name: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., allocatable: _Optional[_Union[_resources_pb2.Resources, _Mapping]] = ..., gpu_memory_mib: _Optional[int] = ..., taints: _Optional[_Iterable[_Union[Taint, _Mapping]]] = ..., unschedulable: bool = ..., unready_conditions: _Optional[_Iterable[str]] = ..., mig_strategy: _Optional[_Union[MigStrategy, str]] = ..., devices: _Optional[_Mapping[str, int]] = ..., numa_policy: _Optional[_Union[NumaPolicy, str]] = ..., numa_zones: _Optional[_Iterable[_Union[NumaZone, _Mapping]]] = ..., other_pods: _Optional[_Iterable[_Union[OtherPods, _Mapping]]] = ..., node_class: _Optional[str] = ...) -> None: ...

class OtherPods(_message.Message):
    __slots__ = ("namespace", "labels", "count", "terminating", "pod_anti_affinity", "host_ports")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    TERMINATING_FIELD_NUMBER: _ClassVar[int]
    POD_ANTI_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    HOST_PORTS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    labels: _containers.ScalarMap[str, str]
    count: int
    terminating: bool
    pod_anti_affinity: _containers.RepeatedCompositeFieldContainer[PodAffinityTerm]
    host_ports: _containers.RepeatedCompositeFieldContainer[HostPort]
    def __init__(self, namespace: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., count: _Optional[int] = ..., terminating: bool = ..., pod_anti_affinity: _Optional[_Iterable[_Union[PodAffinityTerm, _Mapping]]] = ..., host_ports: _Optional[_Iterable[_Union[HostPort, _Mapping]]] = ...) -> None: ...

class NumaZone(_message.Message):
    __slots__ = ("id", "allocatable", "available")
    ID_FIELD_NUMBER: _ClassVar[int]
    ALLOCATABLE_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    id: str
    allocatable: _resources_pb2.Resources
    available: _resources_pb2.Resources
    def __init__(self, id: _Optional[str] = ..., allocatable: _Optional[_Union[_resources_pb2.Resources, _Mapping]] = ..., available: _Optional[_Union[_resources_pb2.Resources, _Mapping]] = ...) -> None: ...

class Taint(_message.Message):
    __slots__ = ("key", "value", "effect")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    effect: TaintEffect
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., effect: _Optional[_Union[TaintEffect, str]] = ...) -> None: ...

class Queue(_message.Message):
    __slots__ = ("name", "parent", "priority", "creation_time", "cpu_milli", "memory_bytes", "gpu_milli", "preempt_min_runtime", "reclaim_min_runtime", "expected_runtime", "requeue_delay", "max_min_runtime", "on_evict", "notice", "at_eviction_limit", "time_limit", "class_limits", "max_running", "on_time_limit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    CPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    PREEMPT_MIN_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    RECLAIM_MIN_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    REQUEUE_DELAY_FIELD_NUMBER: _ClassVar[int]
    MAX_MIN_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    ON_EVICT_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    AT_EVICTION_LIMIT_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    CLASS_LIMITS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNNING_FIELD_NUMBER: _ClassVar[int]
    ON_TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    name: str
    parent: str
    priority: int
    creation_time: _timestamp_pb2.Timestamp
    cpu_milli: QueueResource
    memory_bytes: QueueResource
    gpu_milli: QueueResource
    preempt_min_runtime: _duration_pb2.Duration
    reclaim_min_runtime: _duration_pb2.Duration
    expected_runtime: _duration_pb2.Duration
    requeue_delay: _duration_pb2.Duration
    max_min_runtime: _duration_pb2.Duration
    on_evict: Fate
    notice: _duration_pb2.Duration
    at_eviction_limit: AtEvictionLimit
    time_limit: _duration_pb2.Duration
    class_limits: _containers.RepeatedCompositeFieldContainer[ClassLimit]
    max_running: int
    on_time_limit: Fate
    def __init__(self, name: _Optional[str] = ..., parent: _Optional[str] = ..., priority: _Optional[int] = ..., creation_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., cpu_milli: _Optional[_Union[QueueResource, _Mapping]] = ..., memory_bytes: _Optional[_Union[QueueResource, _Mapping]] = ..., gpu_milli: _Optional[_Union[QueueResource, _Mapping]] = ..., preempt_min_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., reclaim_min_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., expected_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., requeue_delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_min_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., on_evict: _Optional[_Union[Fate, str]] = ..., notice: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., at_eviction_limit: _Optional[_Union[AtEvictionLimit, str]] = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., class_limits: _Optional[_Iterable[_Union[ClassLimit, _Mapping]]] = ..., max_running: _Optional[int] = ..., on_time_limit: _Optional[_Union[Fate, str]] = ...) -> None: ...

class ClassLimit(_message.Message):
    __slots__ = ("node_class", "quota_gpu_milli", "limit_gpu_milli")
    NODE_CLASS_FIELD_NUMBER: _ClassVar[int]
    QUOTA_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    LIMIT_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    node_class: str
    quota_gpu_milli: int
    limit_gpu_milli: int
    def __init__(self, node_class: _Optional[str] = ..., quota_gpu_milli: _Optional[int] = ..., limit_gpu_milli: _Optional[int] = ...) -> None: ...

class QueueResource(_message.Message):
    __slots__ = ("quota", "limit", "over_quota_weight", "lending_limit")
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OVER_QUOTA_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    LENDING_LIMIT_FIELD_NUMBER: _ClassVar[int]
    quota: int
    limit: int
    over_quota_weight: float
    lending_limit: int
    def __init__(self, quota: _Optional[int] = ..., limit: _Optional[int] = ..., over_quota_weight: _Optional[float] = ..., lending_limit: _Optional[int] = ...) -> None: ...

class PodGroup(_message.Message):
    __slots__ = ("uid", "name", "namespace", "queue", "priority", "preemptibility", "min_member", "min_sub_group", "sub_groups", "topology_constraint", "creation_time", "last_start_time", "last_eviction_time", "stale_since", "staleness_grace_period", "preemption_delay", "expected_runtime", "requeue_delay", "requeue_not_before", "annotations", "opt_out_actions", "eviction_count", "total_eviction_wait", "min_runtime", "never_evicts", "evictions_without_progress", "on_evict", "suspendable", "held_by", "release_time", "last_checkpoint_time", "checkpoint_interval", "restart_cost", "eviction_cost", "shrink_loses_work", "evictions", "notice", "termination_grace", "checkpoint_on_notice", "last_notice_time", "time_limit", "not_before_time", "eligible_time", "depends_on", "on_time_limit", "backfill_for", "grant", "is_preemptibility_label")
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    UID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIBILITY_FIELD_NUMBER: _ClassVar[int]
    MIN_MEMBER_FIELD_NUMBER: _ClassVar[int]
    MIN_SUB_GROUP_FIELD_NUMBER: _ClassVar[int]
    SUB_GROUPS_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_CONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_START_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_EVICTION_TIME_FIELD_NUMBER: _ClassVar[int]
    STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    STALENESS_GRACE_PERIOD_FIELD_NUMBER: _ClassVar[int]
    PREEMPTION_DELAY_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    REQUEUE_DELAY_FIELD_NUMBER: _ClassVar[int]
    REQUEUE_NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    OPT_OUT_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_EVICTION_WAIT_FIELD_NUMBER: _ClassVar[int]
    MIN_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    NEVER_EVICTS_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_WITHOUT_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    ON_EVICT_FIELD_NUMBER: _ClassVar[int]
    SUSPENDABLE_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    RELEASE_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_CHECKPOINT_TIME_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    RESTART_COST_FIELD_NUMBER: _ClassVar[int]
    EVICTION_COST_FIELD_NUMBER: _ClassVar[int]
    SHRINK_LOSES_WORK_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    TERMINATION_GRACE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_ON_NOTICE_FIELD_NUMBER: _ClassVar[int]
    LAST_NOTICE_TIME_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_TIME_FIELD_NUMBER: _ClassVar[int]
    ELIGIBLE_TIME_FIELD_NUMBER: _ClassVar[int]
    DEPENDS_ON_FIELD_NUMBER: _ClassVar[int]
    ON_TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    BACKFILL_FOR_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    IS_PREEMPTIBILITY_LABEL_FIELD_NUMBER: _ClassVar[int]
    uid: str
    name: str
    namespace: str
    queue: str
    priority: int
    preemptibility: Preemptibility
    min_member: int
    min_sub_group: int
    sub_groups: _containers.RepeatedCompositeFieldContainer[SubGroup]
    topology_constraint: TopologyConstraint
    creation_time: _timestamp_pb2.Timestamp
    last_start_time: _timestamp_pb2.Timestamp
    last_eviction_time: _timestamp_pb2.Timestamp
    stale_since: _timestamp_pb2.Timestamp
    staleness_grace_period: _duration_pb2.Duration
    preemption_delay: _duration_pb2.Duration
    expected_runtime: _duration_pb2.Duration
    requeue_delay: _duration_pb2.Duration
    requeue_not_before: _timestamp_pb2.Timestamp
    annotations: _containers.ScalarMap[str, str]
    opt_out_actions: _containers.RepeatedScalarFieldContainer[str]
    eviction_count: int
    total_eviction_wait: _duration_pb2.Duration
    min_runtime: _duration_pb2.Duration
    never_evicts: bool
    evictions_without_progress: int
    on_evict: Fate
    suspendable: bool
    held_by: HoldReason
    release_time: _timestamp_pb2.Timestamp
    last_checkpoint_time: _timestamp_pb2.Timestamp
    checkpoint_interval: _duration_pb2.Duration
    restart_cost: _duration_pb2.Duration
    eviction_cost: int
    shrink_loses_work: bool
    evictions: EvictionCounts
    notice: _duration_pb2.Duration
    termination_grace: _duration_pb2.Duration
    checkpoint_on_notice: bool
    last_notice_time: _timestamp_pb2.Timestamp
    time_limit: _duration_pb2.Duration
    not_before_time: _timestamp_pb2.Timestamp
    eligible_time: _timestamp_pb2.Timestamp
    depends_on: _containers.RepeatedScalarFieldContainer[str]
    on_time_limit: Fate
    backfill_for: BackfillOwners
    grant: Grant
    is_preemptibility_label: bool
    def __init__(self, uid: _Optional[str] = ..., name: _Optional[str] = ..., namespace: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[int] = ..., preemptibility: _Optional[_Union[Preemptibility, str]] = ..., min_member: _Optional[int] = ..., min_sub_group: _Optional[int] = ..., sub_groups: _Optional[_Iterable[_Union[SubGroup, _Mapping]]] = ..., topology_constraint: _Optional[_Union[TopologyConstraint, _Mapping]] = ..., creation_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_eviction_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stale_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., staleness_grace_period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., preemption_delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., expected_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., requeue_delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., requeue_not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., opt_out_actions: _Optional[_Iterable[str]] = ..., eviction_count: _Optional[int] = ..., total_eviction_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., min_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., never_evicts: bool = ..., evictions_without_progress: _Optional[int] = ..., on_evict: _Optional[_Union[Fate, str]] = ..., suspendable: bool = ..., held_by: _Optional[_Union[HoldReason, str]] = ..., release_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_checkpoint_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., checkpoint_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., restart_cost: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., eviction_cost: _Optional[int] = ..., shrink_loses_work: bool = ..., evictions: _Optional[_Union[EvictionCounts, _Mapping]] = ..., notice: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., termination_grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., checkpoint_on_notice: bool = ..., last_notice_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., not_before_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., eligible_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., depends_on: _Optional[_Iterable[str]] = ..., on_time_limit: _Optional[_Union[Fate, str]] = ..., backfill_for: _Optional[_Union[BackfillOwners, _Mapping]] = ..., grant: _Optional[_Union[Grant, _Mapping]] = ..., is_preemptibility_label: bool = ...) -> None: ...

class Grant(_message.Message):
    __slots__ = ("queue", "preemptibility", "opt_out_actions", "min_pods", "expected_runtime")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIBILITY_FIELD_NUMBER: _ClassVar[int]
    OPT_OUT_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    MIN_PODS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    queue: str
    preemptibility: Preemptibility
    opt_out_actions: _containers.RepeatedScalarFieldContainer[str]
    min_pods: int
    expected_runtime: _duration_pb2.Duration
    def __init__(self, queue: _Optional[str] = ..., preemptibility: _Optional[_Union[Preemptibility, str]] = ..., opt_out_actions: _Optional[_Iterable[str]] = ..., min_pods: _Optional[int] = ..., expected_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class BackfillOwners(_message.Message):
    __slots__ = ("pod_groups",)
    POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    pod_groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pod_groups: _Optional[_Iterable[str]] = ...) -> None: ...

class EvictionCounts(_message.Message):
    __slots__ = ("by_cause",)
    class ByCauseEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    BY_CAUSE_FIELD_NUMBER: _ClassVar[int]
    by_cause: _containers.ScalarMap[str, int]
    def __init__(self, by_cause: _Optional[_Mapping[str, int]] = ...) -> None: ...

class SubGroup(_message.Message):
    __slots__ = ("name", "parent", "min_member", "min_sub_group", "topology_constraint")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    MIN_MEMBER_FIELD_NUMBER: _ClassVar[int]
    MIN_SUB_GROUP_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_CONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    name: str
    parent: str
    min_member: int
    min_sub_group: int
    topology_constraint: TopologyConstraint
    def __init__(self, name: _Optional[str] = ..., parent: _Optional[str] = ..., min_member: _Optional[int] = ..., min_sub_group: _Optional[int] = ..., topology_constraint: _Optional[_Union[TopologyConstraint, _Mapping]] = ...) -> None: ...

class TopologyConstraint(_message.Message):
    __slots__ = ("topology", "required_level", "preferred_level")
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_LEVEL_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_LEVEL_FIELD_NUMBER: _ClassVar[int]
    topology: str
    required_level: str
    preferred_level: str
    def __init__(self, topology: _Optional[str] = ..., required_level: _Optional[str] = ..., preferred_level: _Optional[str] = ...) -> None: ...

class Topology(_message.Message):
    __slots__ = ("name", "levels")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    levels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., levels: _Optional[_Iterable[str]] = ...) -> None: ...

class Pod(_message.Message):
    __slots__ = ("uid", "name", "pod_group", "sub_group", "shape", "status", "node", "gpu_groups", "creation_time", "task_priority", "leader", "nominated_node", "blocked_reason", "resource_claims", "labels", "numa_placement", "disruption_budgets")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    UID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    SUB_GROUP_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    GPU_GROUPS_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    TASK_PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    NOMINATED_NODE_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_REASON_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_CLAIMS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NUMA_PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_BUDGETS_FIELD_NUMBER: _ClassVar[int]
    uid: str
    name: str
    pod_group: str
    sub_group: str
    shape: str
    status: PodStatus
    node: str
    gpu_groups: _containers.RepeatedScalarFieldContainer[str]
    creation_time: _timestamp_pb2.Timestamp
    task_priority: int
    leader: bool
    nominated_node: str
    blocked_reason: str
    resource_claims: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.ScalarMap[str, str]
    numa_placement: _containers.RepeatedCompositeFieldContainer[_resources_pb2.NumaPlacement]
    disruption_budgets: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, uid: _Optional[str] = ..., name: _Optional[str] = ..., pod_group: _Optional[str] = ..., sub_group: _Optional[str] = ..., shape: _Optional[str] = ..., status: _Optional[_Union[PodStatus, str]] = ..., node: _Optional[str] = ..., gpu_groups: _Optional[_Iterable[str]] = ..., creation_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., task_priority: _Optional[int] = ..., leader: bool = ..., nominated_node: _Optional[str] = ..., blocked_reason: _Optional[str] = ..., resource_claims: _Optional[_Iterable[str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., numa_placement: _Optional[_Iterable[_Union[_resources_pb2.NumaPlacement, _Mapping]]] = ..., disruption_budgets: _Optional[_Iterable[str]] = ...) -> None: ...

class PodShape(_message.Message):
    __slots__ = ("id", "requests", "gpu", "node_selector", "node_affinity", "tolerations", "guaranteed", "pod_affinity", "pod_anti_affinity", "host_ports", "topology_spread", "preferred_node_affinity", "preferred_pod_affinity", "preferred_pod_anti_affinity", "preferred_topology_spread")
    class NodeSelectorEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    NODE_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    NODE_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    TOLERATIONS_FIELD_NUMBER: _ClassVar[int]
    GUARANTEED_FIELD_NUMBER: _ClassVar[int]
    POD_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    POD_ANTI_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    HOST_PORTS_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_SPREAD_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_NODE_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_POD_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_POD_ANTI_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_TOPOLOGY_SPREAD_FIELD_NUMBER: _ClassVar[int]
    id: str
    requests: _resources_pb2.Resources
    gpu: _resources_pb2.GpuRequest
    node_selector: _containers.ScalarMap[str, str]
    node_affinity: _containers.RepeatedCompositeFieldContainer[NodeSelectorTerm]
    tolerations: _containers.RepeatedCompositeFieldContainer[Toleration]
    guaranteed: bool
    pod_affinity: _containers.RepeatedCompositeFieldContainer[PodAffinityTerm]
    pod_anti_affinity: _containers.RepeatedCompositeFieldContainer[PodAffinityTerm]
    host_ports: _containers.RepeatedCompositeFieldContainer[HostPort]
    topology_spread: _containers.RepeatedCompositeFieldContainer[TopologySpread]
    preferred_node_affinity: _containers.RepeatedCompositeFieldContainer[PreferredSchedulingTerm]
    preferred_pod_affinity: _containers.RepeatedCompositeFieldContainer[WeightedPodAffinityTerm]
    preferred_pod_anti_affinity: _containers.RepeatedCompositeFieldContainer[WeightedPodAffinityTerm]
    preferred_topology_spread: _containers.RepeatedCompositeFieldContainer[TopologySpread]
    def __init__(self, id: _Optional[str] = ..., requests: _Optional[_Union[_resources_pb2.Resources, _Mapping]] = ..., gpu: _Optional[_Union[_resources_pb2.GpuRequest, _Mapping]] = ..., node_selector: _Optional[_Mapping[str, str]] = ..., node_affinity: _Optional[_Iterable[_Union[NodeSelectorTerm, _Mapping]]] = ..., tolerations: _Optional[_Iterable[_Union[Toleration, _Mapping]]] = ..., guaranteed: bool = ..., pod_affinity: _Optional[_Iterable[_Union[PodAffinityTerm, _Mapping]]] = ..., pod_anti_affinity: _Optional[_Iterable[_Union[PodAffinityTerm, _Mapping]]] = ..., host_ports: _Optional[_Iterable[_Union[HostPort, _Mapping]]] = ..., topology_spread: _Optional[_Iterable[_Union[TopologySpread, _Mapping]]] = ..., preferred_node_affinity: _Optional[_Iterable[_Union[PreferredSchedulingTerm, _Mapping]]] = ..., preferred_pod_affinity: _Optional[_Iterable[_Union[WeightedPodAffinityTerm, _Mapping]]] = ..., preferred_pod_anti_affinity: _Optional[_Iterable[_Union[WeightedPodAffinityTerm, _Mapping]]] = ..., preferred_topology_spread: _Optional[_Iterable[_Union[TopologySpread, _Mapping]]] = ...) -> None: ...

class PreferredSchedulingTerm(_message.Message):
    __slots__ = ("weight", "preference")
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    PREFERENCE_FIELD_NUMBER: _ClassVar[int]
    weight: int
    preference: NodeSelectorTerm
    def __init__(self, weight: _Optional[int] = ..., preference: _Optional[_Union[NodeSelectorTerm, _Mapping]] = ...) -> None: ...

class WeightedPodAffinityTerm(_message.Message):
    __slots__ = ("weight", "term")
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    weight: int
    term: PodAffinityTerm
    def __init__(self, weight: _Optional[int] = ..., term: _Optional[_Union[PodAffinityTerm, _Mapping]] = ...) -> None: ...

class PodAffinityTerm(_message.Message):
    __slots__ = ("match_labels", "topology_key", "match_expressions", "namespaces", "all_namespaces")
    class MatchLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MATCH_LABELS_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_KEY_FIELD_NUMBER: _ClassVar[int]
    MATCH_EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    match_labels: _containers.ScalarMap[str, str]
    topology_key: str
    match_expressions: _containers.RepeatedCompositeFieldContainer[NodeSelectorRequirement]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    all_namespaces: bool
    def __init__(self, match_labels: _Optional[_Mapping[str, str]] = ..., topology_key: _Optional[str] = ..., match_expressions: _Optional[_Iterable[_Union[NodeSelectorRequirement, _Mapping]]] = ..., namespaces: _Optional[_Iterable[str]] = ..., all_namespaces: bool = ...) -> None: ...

class HostPort(_message.Message):
    __slots__ = ("port", "protocol", "ip")
    PORT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    IP_FIELD_NUMBER: _ClassVar[int]
    port: int
    protocol: str
    ip: str
    def __init__(self, port: _Optional[int] = ..., protocol: _Optional[str] = ..., ip: _Optional[str] = ...) -> None: ...

class TopologySpread(_message.Message):
    __slots__ = ("topology_key", "max_skew", "match_labels", "match_expressions", "min_domains", "counts_unselected_nodes", "omits_tainted_nodes")
    class MatchLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TOPOLOGY_KEY_FIELD_NUMBER: _ClassVar[int]
    MAX_SKEW_FIELD_NUMBER: _ClassVar[int]
    MATCH_LABELS_FIELD_NUMBER: _ClassVar[int]
    MATCH_EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    MIN_DOMAINS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_UNSELECTED_NODES_FIELD_NUMBER: _ClassVar[int]
    OMITS_TAINTED_NODES_FIELD_NUMBER: _ClassVar[int]
    topology_key: str
    max_skew: int
    match_labels: _containers.ScalarMap[str, str]
    match_expressions: _containers.RepeatedCompositeFieldContainer[NodeSelectorRequirement]
    min_domains: int
    counts_unselected_nodes: bool
    omits_tainted_nodes: bool
    def __init__(self, topology_key: _Optional[str] = ..., max_skew: _Optional[int] = ..., match_labels: _Optional[_Mapping[str, str]] = ..., match_expressions: _Optional[_Iterable[_Union[NodeSelectorRequirement, _Mapping]]] = ..., min_domains: _Optional[int] = ..., counts_unselected_nodes: bool = ..., omits_tainted_nodes: bool = ...) -> None: ...

class ResourceClaim(_message.Message):
    __slots__ = ("id", "requests", "from_template", "queue", "node", "other_consumers")
    ID_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    FROM_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    OTHER_CONSUMERS_FIELD_NUMBER: _ClassVar[int]
    id: str
    requests: _containers.RepeatedCompositeFieldContainer[DeviceRequest]
    from_template: bool
    queue: str
    node: str
    other_consumers: int
    def __init__(self, id: _Optional[str] = ..., requests: _Optional[_Iterable[_Union[DeviceRequest, _Mapping]]] = ..., from_template: bool = ..., queue: _Optional[str] = ..., node: _Optional[str] = ..., other_consumers: _Optional[int] = ...) -> None: ...

class DeviceRequest(_message.Message):
    __slots__ = ("device_class", "count")
    DEVICE_CLASS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    device_class: str
    count: int
    def __init__(self, device_class: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class NodeSelectorTerm(_message.Message):
    __slots__ = ("requirements",)
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    requirements: _containers.RepeatedCompositeFieldContainer[NodeSelectorRequirement]
    def __init__(self, requirements: _Optional[_Iterable[_Union[NodeSelectorRequirement, _Mapping]]] = ...) -> None: ...

class NodeSelectorRequirement(_message.Message):
    __slots__ = ("key", "operator", "values")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    key: str
    operator: SelectorOperator
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, key: _Optional[str] = ..., operator: _Optional[_Union[SelectorOperator, str]] = ..., values: _Optional[_Iterable[str]] = ...) -> None: ...

class Toleration(_message.Message):
    __slots__ = ("key", "exists", "value", "effect")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    key: str
    exists: bool
    value: str
    effect: TaintEffect
    def __init__(self, key: _Optional[str] = ..., exists: bool = ..., value: _Optional[str] = ..., effect: _Optional[_Union[TaintEffect, str]] = ...) -> None: ...

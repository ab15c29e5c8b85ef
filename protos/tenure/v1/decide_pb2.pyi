import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import decision_pb2 as _decision_pb2
from tenure.v1 import explain_pb2 as _explain_pb2
from tenure.v1 import pod_group_status_pb2 as _pod_group_status_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from tenure.v1 import state_pb2 as _state_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WarningCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WARNING_CODE_UNSPECIFIED: _ClassVar[WarningCode]
    WARNING_CODE_UNKNOWN_SUB_GROUP: _ClassVar[WarningCode]
    WARNING_CODE_LEGACY_PREEMPTIBILITY: _ClassVar[WarningCode]
    WARNING_CODE_UNKNOWN_PREEMPTIBILITY: _ClassVar[WarningCode]
    WARNING_CODE_INVALID_EXPECTED_RUNTIME: _ClassVar[WarningCode]
    WARNING_CODE_INVALID_REQUEUE_DELAY: _ClassVar[WarningCode]
    WARNING_CODE_INVALID_REQUEUE_NOT_BEFORE: _ClassVar[WarningCode]
    WARNING_CODE_MISSING_START_TIME: _ClassVar[WarningCode]
    WARNING_CODE_CLOCK_SKEW: _ClassVar[WarningCode]
    WARNING_CODE_UNKNOWN_NODE: _ClassVar[WarningCode]
    WARNING_CODE_INVALID_MIN_RUNTIME: _ClassVar[WarningCode]
    WARNING_CODE_MIN_RUNTIME_NOT_PERMITTED: _ClassVar[WarningCode]
    WARNING_CODE_CANNOT_BE_SUSPENDED: _ClassVar[WarningCode]
    WARNING_CODE_UNKNOWN_DISRUPTION_BUDGET: _ClassVar[WarningCode]
    WARNING_CODE_NOTICE_ABOVE_MAXIMUM: _ClassVar[WarningCode]
    WARNING_CODE_INVALID_PLANNED_START: _ClassVar[WarningCode]
    WARNING_CODE_QUEUE_LIMIT_CUT: _ClassVar[WarningCode]
    WARNING_CODE_USAGE_WITHOUT_MIN_RUNTIME: _ClassVar[WarningCode]
    WARNING_CODE_PROTECTION_NOT_IN_FORCE: _ClassVar[WarningCode]
    WARNING_CODE_QUEUE_BOUNDS_CONTRADICT: _ClassVar[WarningCode]
    WARNING_CODE_QUOTAS_ABOVE_CLUSTER: _ClassVar[WarningCode]
    WARNING_CODE_QUEUE_LIMIT_ZERO: _ClassVar[WarningCode]
    WARNING_CODE_GANG_LACKS_PODS: _ClassVar[WarningCode]
WARNING_CODE_UNSPECIFIED: WarningCode
WARNING_CODE_UNKNOWN_SUB_GROUP: WarningCode
WARNING_CODE_LEGACY_PREEMPTIBILITY: WarningCode
WARNING_CODE_UNKNOWN_PREEMPTIBILITY: WarningCode
WARNING_CODE_INVALID_EXPECTED_RUNTIME: WarningCode
WARNING_CODE_INVALID_REQUEUE_DELAY: WarningCode
WARNING_CODE_INVALID_REQUEUE_NOT_BEFORE: WarningCode
WARNING_CODE_MISSING_START_TIME: WarningCode
WARNING_CODE_CLOCK_SKEW: WarningCode
WARNING_CODE_UNKNOWN_NODE: WarningCode
WARNING_CODE_INVALID_MIN_RUNTIME: WarningCode
WARNING_CODE_MIN_RUNTIME_NOT_PERMITTED: WarningCode
WARNING_CODE_CANNOT_BE_SUSPENDED: WarningCode
WARNING_CODE_UNKNOWN_DISRUPTION_BUDGET: WarningCode
WARNING_CODE_NOTICE_ABOVE_MAXIMUM: WarningCode
WARNING_CODE_INVALID_PLANNED_START: WarningCode
WARNING_CODE_QUEUE_LIMIT_CUT: WarningCode
WARNING_CODE_USAGE_WITHOUT_MIN_RUNTIME: WarningCode
WARNING_CODE_PROTECTION_NOT_IN_FORCE: WarningCode
WARNING_CODE_QUEUE_BOUNDS_CONTRADICT: WarningCode
WARNING_CODE_QUOTAS_ABOVE_CLUSTER: WarningCode
WARNING_CODE_QUEUE_LIMIT_ZERO: WarningCode
WARNING_CODE_GANG_LACKS_PODS: WarningCode

class DecideRequest(_message.Message):
    __slots__ = ("snapshot", "actions", "state", "now", "delta", "faults", "estimate_starts", "include_pod_group_statuses")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    FAULTS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_STARTS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_POD_GROUP_STATUSES_FIELD_NUMBER: _ClassVar[int]
    snapshot: _snapshot_pb2.ClusterSnapshot
    actions: _containers.RepeatedScalarFieldContainer[str]
    state: _state_pb2.StateReference
    now: _timestamp_pb2.Timestamp
    delta: _state_pb2.StateDelta
    faults: _state_pb2.Faults
    estimate_starts: bool
    include_pod_group_statuses: bool
    def __init__(self, snapshot: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., actions: _Optional[_Iterable[str]] = ..., state: _Optional[_Union[_state_pb2.StateReference, _Mapping]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., delta: _Optional[_Union[_state_pb2.StateDelta, _Mapping]] = ..., faults: _Optional[_Union[_state_pb2.Faults, str]] = ..., estimate_starts: bool = ..., include_pod_group_statuses: bool = ...) -> None: ...

class DecideResponse(_message.Message):
    __slots__ = ("header", "groups", "outcomes", "protections", "next_wake_time", "queues", "warnings", "counters", "nominations", "stopped_early", "in_flight_group_statuses", "set_aside", "disruption_budgets", "eviction_rates", "state_patches", "planned_starts", "start_estimates", "pod_group_statuses", "shared_time", "unusable_gpus")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    PROTECTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_WAKE_TIME_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    NOMINATIONS_FIELD_NUMBER: _ClassVar[int]
    STOPPED_EARLY_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_GROUP_STATUSES_FIELD_NUMBER: _ClassVar[int]
    SET_ASIDE_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_BUDGETS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_RATES_FIELD_NUMBER: _ClassVar[int]
    STATE_PATCHES_FIELD_NUMBER: _ClassVar[int]
    PLANNED_STARTS_FIELD_NUMBER: _ClassVar[int]
    START_ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_STATUSES_FIELD_NUMBER: _ClassVar[int]
    SHARED_TIME_FIELD_NUMBER: _ClassVar[int]
    UNUSABLE_GPUS_FIELD_NUMBER: _ClassVar[int]
    header: ResponseHeader
    groups: _containers.RepeatedCompositeFieldContainer[_decision_pb2.DecisionGroup]
    outcomes: _containers.RepeatedCompositeFieldContainer[_decision_pb2.PodGroupOutcome]
    protections: _containers.RepeatedCompositeFieldContainer[_decision_pb2.Protection]
    next_wake_time: _timestamp_pb2.Timestamp
    queues: _containers.RepeatedCompositeFieldContainer[QueueStatus]
    warnings: _containers.RepeatedCompositeFieldContainer[SnapshotWarning]
    counters: SearchCounters
    nominations: _containers.RepeatedCompositeFieldContainer[_decision_pb2.Nomination]
    stopped_early: bool
    in_flight_group_statuses: _containers.RepeatedCompositeFieldContainer[_decision_pb2.InFlightGroupStatus]
    set_aside: _state_pb2.SetAsideRows
    disruption_budgets: _containers.RepeatedCompositeFieldContainer[DisruptionBudgetStatus]
    eviction_rates: _containers.RepeatedCompositeFieldContainer[EvictionRateStatus]
    state_patches: _containers.RepeatedCompositeFieldContainer[StatePatch]
    planned_starts: _containers.RepeatedCompositeFieldContainer[_snapshot_pb2.PlannedStart]
    start_estimates: _containers.RepeatedCompositeFieldContainer[_explain_pb2.StartEstimate]
    pod_group_statuses: _containers.RepeatedCompositeFieldContainer[_pod_group_status_pb2.PodGroupStatus]
    shared_time: bool
    unusable_gpus: _pod_group_status_pb2.UnusableGpus
    def __init__(self, header: _Optional[_Union[ResponseHeader, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[_decision_pb2.DecisionGroup, _Mapping]]] = ..., outcomes: _Optional[_Iterable[_Union[_decision_pb2.PodGroupOutcome, _Mapping]]] = ..., protections: _Optional[_Iterable[_Union[_decision_pb2.Protection, _Mapping]]] = ..., next_wake_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., queues: _Optional[_Iterable[_Union[QueueStatus, _Mapping]]] = ..., warnings: _Optional[_Iterable[_Union[SnapshotWarning, _Mapping]]] = ..., counters: _Optional[_Union[SearchCounters, _Mapping]] = ..., nominations: _Optional[_Iterable[_Union[_decision_pb2.Nomination, _Mapping]]] = ..., stopped_early: bool = ..., in_flight_group_statuses: _Optional[_Iterable[_Union[_decision_pb2.InFlightGroupStatus, _Mapping]]] = ..., set_aside: _Optional[_Union[_state_pb2.SetAsideRows, _Mapping]] = ..., disruption_budgets: _Optional[_Iterable[_Union[DisruptionBudgetStatus, _Mapping]]] = ..., eviction_rates: _Optional[_Iterable[_Union[EvictionRateStatus, _Mapping]]] = ..., state_patches: _Optional[_Iterable[_Union[StatePatch, _Mapping]]] = ..., planned_starts: _Optional[_Iterable[_Union[_snapshot_pb2.PlannedStart, _Mapping]]] = ..., start_estimates: _Optional[_Iterable[_Union[_explain_pb2.StartEstimate, _Mapping]]] = ..., pod_group_statuses: _Optional[_Iterable[_Union[_pod_group_status_pb2.PodGroupStatus, _Mapping]]] = ..., shared_time: bool = ..., unusable_gpus: _Optional[_Union[_pod_group_status_pb2.UnusableGpus, _Mapping]] = ...) -> None: ...

class StatePatch(_message.Message):
    __slots__ = ("set_eviction_rate", "set_queue_usage", "set_planned_start", "delete_planned_start", "set_postponed_pod_group", "delete_postponed_pod_group")
    SET_EVICTION_RATE_FIELD_NUMBER: _ClassVar[int]
    SET_QUEUE_USAGE_FIELD_NUMBER: _ClassVar[int]
    SET_PLANNED_START_FIELD_NUMBER: _ClassVar[int]
    DELETE_PLANNED_START_FIELD_NUMBER: _ClassVar[int]
    SET_POSTPONED_POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    DELETE_POSTPONED_POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    set_eviction_rate: _snapshot_pb2.EvictionRateState
    set_queue_usage: _snapshot_pb2.QueueUsage
    set_planned_start: _snapshot_pb2.PlannedStart
    delete_planned_start: str
    set_postponed_pod_group: _snapshot_pb2.PostponedPodGroup
    delete_postponed_pod_group: str
    def __init__(self, set_eviction_rate: _Optional[_Union[_snapshot_pb2.EvictionRateState, _Mapping]] = ..., set_queue_usage: _Optional[_Union[_snapshot_pb2.QueueUsage, _Mapping]] = ..., set_planned_start: _Optional[_Union[_snapshot_pb2.PlannedStart, _Mapping]] = ..., delete_planned_start: _Optional[str] = ..., set_postponed_pod_group: _Optional[_Union[_snapshot_pb2.PostponedPodGroup, _Mapping]] = ..., delete_postponed_pod_group: _Optional[str] = ...) -> None: ...

class EvictionRateStatus(_message.Message):
    __slots__ = ("name", "before_milli", "after_milli", "full_time", "refusals")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_MILLI_FIELD_NUMBER: _ClassVar[int]
    AFTER_MILLI_FIELD_NUMBER: _ClassVar[int]
    FULL_TIME_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    name: str
    before_milli: int
    after_milli: int
    full_time: _timestamp_pb2.Timestamp
    refusals: int
    def __init__(self, name: _Optional[str] = ..., before_milli: _Optional[int] = ..., after_milli: _Optional[int] = ..., full_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., refusals: _Optional[int] = ...) -> None: ...

class DisruptionBudgetStatus(_message.Message):
    __slots__ = ("name", "allowed", "in_flight", "spent", "left")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    name: str
    allowed: int
    in_flight: int
    spent: int
    left: int
    def __init__(self, name: _Optional[str] = ..., allowed: _Optional[int] = ..., in_flight: _Optional[int] = ..., spent: _Optional[int] = ..., left: _Optional[int] = ...) -> None: ...

class SnapshotWarning(_message.Message):
    __slots__ = ("code", "message", "pod_groups", "count", "detail")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    code: WarningCode
    message: str
    pod_groups: _containers.RepeatedScalarFieldContainer[str]
    count: int
    detail: str
    def __init__(self, code: _Optional[_Union[WarningCode, str]] = ..., message: _Optional[str] = ..., pod_groups: _Optional[_Iterable[str]] = ..., count: _Optional[int] = ..., detail: _Optional[str] = ...) -> None: ...

class ResponseHeader(_message.Message):
    __slots__ = ("cluster_id", "node_pool", "version", "now", "profile_digest")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_POOL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    PROFILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    node_pool: str
    version: int
    now: _timestamp_pb2.Timestamp
    profile_digest: str
    def __init__(self, cluster_id: _Optional[str] = ..., node_pool: _Optional[str] = ..., version: _Optional[int] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., profile_digest: _Optional[str] = ...) -> None: ...

class QueueStatus(_message.Message):
    __slots__ = ("name", "fair_share", "allocated_before", "allocated_after", "requested", "past_use", "share_by_weight", "kept")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FAIR_SHARE_FIELD_NUMBER: _ClassVar[int]
    ALLOCATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ALLOCATED_AFTER_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_FIELD_NUMBER: _ClassVar[int]
    PAST_USE_FIELD_NUMBER: _ClassVar[int]
    SHARE_BY_WEIGHT_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    name: str
    fair_share: ResourceShare
    allocated_before: ResourceShare
    allocated_after: ResourceShare
    requested: ResourceShare
    past_use: _snapshot_pb2.UsageAmounts
    share_by_weight: ResourceShare
    kept: ResourceShare
    def __init__(self, name: _Optional[str] = ..., fair_share: _Optional[_Union[ResourceShare, _Mapping]] = ..., allocated_before: _Optional[_Union[ResourceShare, _Mapping]] = ..., allocated_after: _Optional[_Union[ResourceShare, _Mapping]] = ..., requested: _Optional[_Union[ResourceShare, _Mapping]] = ..., past_use: _Optional[_Union[_snapshot_pb2.UsageAmounts, _Mapping]] = ..., share_by_weight: _Optional[_Union[ResourceShare, _Mapping]] = ..., kept: _Optional[_Union[ResourceShare, _Mapping]] = ...) -> None: ...

class ResourceShare(_message.Message):
    __slots__ = ("cpu_milli", "memory_bytes", "gpu_milli")
    CPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    cpu_milli: int
    memory_bytes: int
    gpu_milli: int
    def __init__(self, cpu_milli: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., gpu_milli: _Optional[int] = ...) -> None: ...

class SearchCounters(_message.Message):
    __slots__ = ("generated", "simulated", "duplicate", "pruned", "victims_considered", "placement_attempts", "trimmed", "plan_placements")
    GENERATED_FIELD_NUMBER: _ClassVar[int]
    SIMULATED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    PRUNED_FIELD_NUMBER: _ClassVar[int]
    VICTIMS_CONSIDERED_FIELD_NUMBER: _ClassVar[int]
    PLACEMENT_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    TRIMMED_FIELD_NUMBER: _ClassVar[int]
    PLAN_PLACEMENTS_FIELD_NUMBER: _ClassVar[int]
    generated: int
    simulated: int
    duplicate: int
    pruned: int
    victims_considered: int
    placement_attempts: int
    trimmed: int
    plan_placements: int
    def __init__(self, generated: _Optional[int] = ..., simulated: _Optional[int] = ..., duplicate: _Optional[int] = ..., pruned: _Optional[int] = ..., victims_considered: _Optional[int] = ..., placement_attempts: _Optional[int] = ..., trimmed: _Optional[int] = ..., plan_placements: _Optional[int] = ...) -> None: ...

import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import decision_pb2 as _decision_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from tenure.v1 import state_pb2 as _state_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GpuUseKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GPU_USE_KIND_UNSPECIFIED: _ClassVar[GpuUseKind]
    GPU_USE_KIND_OWN: _ClassVar[GpuUseKind]
    GPU_USE_KIND_TERMINATING: _ClassVar[GpuUseKind]
    GPU_USE_KIND_SCHEDULED_NOW: _ClassVar[GpuUseKind]
    GPU_USE_KIND_RESERVED: _ClassVar[GpuUseKind]
    GPU_USE_KIND_NEVER_EVICTED: _ClassVar[GpuUseKind]
    GPU_USE_KIND_PROTECTED: _ClassVar[GpuUseKind]
    GPU_USE_KIND_NOT_LOWER: _ClassVar[GpuUseKind]
    GPU_USE_KIND_WITHIN_SHARE: _ClassVar[GpuUseKind]
    GPU_USE_KIND_NOT_RECLAIMABLE: _ClassVar[GpuUseKind]
    GPU_USE_KIND_EVICTABLE: _ClassVar[GpuUseKind]
    GPU_USE_KIND_OTHER: _ClassVar[GpuUseKind]

class EvictionObstacleKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVICTION_OBSTACLE_KIND_UNSPECIFIED: _ClassVar[EvictionObstacleKind]
    EVICTION_OBSTACLE_KIND_AMOUNTS: _ClassVar[EvictionObstacleKind]
    EVICTION_OBSTACLE_KIND_FRAGMENTS: _ClassVar[EvictionObstacleKind]
    EVICTION_OBSTACLE_KIND_FAIR_SHARES: _ClassVar[EvictionObstacleKind]
    EVICTION_OBSTACLE_KIND_PLACES: _ClassVar[EvictionObstacleKind]
    EVICTION_OBSTACLE_KIND_SEARCH: _ClassVar[EvictionObstacleKind]
    EVICTION_OBSTACLE_KIND_BOUNDS: _ClassVar[EvictionObstacleKind]

class ResourceKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOURCE_KIND_UNSPECIFIED: _ClassVar[ResourceKind]
    RESOURCE_KIND_CPU: _ClassVar[ResourceKind]
    RESOURCE_KIND_MEMORY: _ClassVar[ResourceKind]
    RESOURCE_KIND_GPU: _ClassVar[ResourceKind]

class RangeReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RANGE_REASON_UNSPECIFIED: _ClassVar[RangeReason]
    RANGE_REASON_EXPECTED_ENDS: _ClassVar[RangeReason]
    RANGE_REASON_NO_TIME_LIMIT: _ClassVar[RangeReason]
    RANGE_REASON_UNKNOWN_ENDS: _ClassVar[RangeReason]
    RANGE_REASON_STEP: _ClassVar[RangeReason]
    RANGE_REASON_PLAY_LIMIT: _ClassVar[RangeReason]
    RANGE_REASON_SEARCH_LIMIT: _ClassVar[RangeReason]

class RemedyKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REMEDY_KIND_UNSPECIFIED: _ClassVar[RemedyKind]
    REMEDY_KIND_WAIT: _ClassVar[RemedyKind]
    REMEDY_KIND_REDUCE_MINIMUM: _ClassVar[RemedyKind]
    REMEDY_KIND_RAISE_PRIORITY: _ClassVar[RemedyKind]
    REMEDY_KIND_MAKE_PREEMPTIBLE: _ClassVar[RemedyKind]
    REMEDY_KIND_RAISE_QUOTA: _ClassVar[RemedyKind]
    REMEDY_KIND_RAISE_LIMIT: _ClassVar[RemedyKind]
    REMEDY_KIND_ADD_NODES: _ClassVar[RemedyKind]
GPU_USE_KIND_UNSPECIFIED: GpuUseKind
GPU_USE_KIND_OWN: GpuUseKind
GPU_USE_KIND_TERMINATING: GpuUseKind
GPU_USE_KIND_SCHEDULED_NOW: GpuUseKind
GPU_USE_KIND_RESERVED: GpuUseKind
GPU_USE_KIND_NEVER_EVICTED: GpuUseKind
GPU_USE_KIND_PROTECTED: GpuUseKind
GPU_USE_KIND_NOT_LOWER: GpuUseKind
GPU_USE_KIND_WITHIN_SHARE: GpuUseKind
GPU_USE_KIND_NOT_RECLAIMABLE: GpuUseKind
GPU_USE_KIND_EVICTABLE: GpuUseKind
GPU_USE_KIND_OTHER: GpuUseKind
EVICTION_OBSTACLE_KIND_UNSPECIFIED: EvictionObstacleKind
EVICTION_OBSTACLE_KIND_AMOUNTS: EvictionObstacleKind
EVICTION_OBSTACLE_KIND_FRAGMENTS: EvictionObstacleKind
EVICTION_OBSTACLE_KIND_FAIR_SHARES: EvictionObstacleKind
EVICTION_OBSTACLE_KIND_PLACES: EvictionObstacleKind
EVICTION_OBSTACLE_KIND_SEARCH: EvictionObstacleKind
EVICTION_OBSTACLE_KIND_BOUNDS: EvictionObstacleKind
RESOURCE_KIND_UNSPECIFIED: ResourceKind
RESOURCE_KIND_CPU: ResourceKind
RESOURCE_KIND_MEMORY: ResourceKind
RESOURCE_KIND_GPU: ResourceKind
RANGE_REASON_UNSPECIFIED: RangeReason
RANGE_REASON_EXPECTED_ENDS: RangeReason
RANGE_REASON_NO_TIME_LIMIT: RangeReason
RANGE_REASON_UNKNOWN_ENDS: RangeReason
RANGE_REASON_STEP: RangeReason
RANGE_REASON_PLAY_LIMIT: RangeReason
RANGE_REASON_SEARCH_LIMIT: RangeReason
REMEDY_KIND_UNSPECIFIED: RemedyKind
REMEDY_KIND_WAIT: RemedyKind
REMEDY_KIND_REDUCE_MINIMUM: RemedyKind
REMEDY_KIND_RAISE_PRIORITY: RemedyKind
REMEDY_KIND_MAKE_PREEMPTIBLE: RemedyKind
REMEDY_KIND_RAISE_QUOTA: RemedyKind
REMEDY_KIND_RAISE_LIMIT: RemedyKind
REMEDY_KIND_ADD_NODES: RemedyKind

class ExplainRequest(_message.Message):
    __slots__ = ("snapshot", "state", "now", "why_pending", "why_victim", "why_not_victim", "protected_until", "victim_ranks", "when_starts")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    WHY_PENDING_FIELD_NUMBER: _ClassVar[int]
    WHY_VICTIM_FIELD_NUMBER: _ClassVar[int]
    WHY_NOT_VICTIM_FIELD_NUMBER: _ClassVar[int]
    PROTECTED_UNTIL_FIELD_NUMBER: _ClassVar[int]
    VICTIM_RANKS_FIELD_NUMBER: _ClassVar[int]
    WHEN_STARTS_FIELD_NUMBER: _ClassVar[int]
    snapshot: _snapshot_pb2.ClusterSnapshot
    state: _state_pb2.StateReference
    now: _timestamp_pb2.Timestamp
    why_pending: WhyPending
    why_victim: WhyVictim
    why_not_victim: WhyNotVictim
    protected_until: ProtectedUntil
    victim_ranks: VictimRanks
    when_starts: WhenStarts
    def __init__(self, snapshot: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., state: _Optional[_Union[_state_pb2.StateReference, _Mapping]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., why_pending: _Optional[_Union[WhyPending, _Mapping]] = ..., why_victim: _Optional[_Union[WhyVictim, _Mapping]] = ..., why_not_victim: _Optional[_Union[WhyNotVictim, _Mapping]] = ..., protected_until: _Optional[_Union[ProtectedUntil, _Mapping]] = ..., victim_ranks: _Optional[_Union[VictimRanks, _Mapping]] = ..., when_starts: _Optional[_Union[WhenStarts, _Mapping]] = ...) -> None: ...

class WhyPending(_message.Message):
    __slots__ = ("pod_group",)
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    def __init__(self, pod_group: _Optional[str] = ...) -> None: ...

class WhyVictim(_message.Message):
    __slots__ = ("pod_group",)
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    def __init__(self, pod_group: _Optional[str] = ...) -> None: ...

class WhyNotVictim(_message.Message):
    __slots__ = ("pod_group", "preemptor")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    PREEMPTOR_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    preemptor: str
    def __init__(self, pod_group: _Optional[str] = ..., preemptor: _Optional[str] = ...) -> None: ...

class ProtectedUntil(_message.Message):
    __slots__ = ("pod_group",)
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    def __init__(self, pod_group: _Optional[str] = ...) -> None: ...

class VictimRanks(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class WhenStarts(_message.Message):
    __slots__ = ("pod_groups",)
    POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    pod_groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pod_groups: _Optional[_Iterable[str]] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("explanation", "reasons", "protections", "until", "remedies", "victim_sets", "victim_ranks", "start_estimates", "gpu_account", "eviction_obstacles")
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    PROTECTIONS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    REMEDIES_FIELD_NUMBER: _ClassVar[int]
    VICTIM_SETS_FIELD_NUMBER: _ClassVar[int]
    VICTIM_RANKS_FIELD_NUMBER: _ClassVar[int]
    START_ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    GPU_ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    EVICTION_OBSTACLES_FIELD_NUMBER: _ClassVar[int]
    explanation: Explanation
    reasons: _containers.RepeatedCompositeFieldContainer[_decision_pb2.Reason]
    protections: _containers.RepeatedCompositeFieldContainer[_decision_pb2.Protection]
    until: _timestamp_pb2.Timestamp
    remedies: _containers.RepeatedCompositeFieldContainer[Remedy]
    victim_sets: _containers.RepeatedCompositeFieldContainer[_decision_pb2.VictimSet]
    victim_ranks: _containers.RepeatedCompositeFieldContainer[VictimRank]
    start_estimates: _containers.RepeatedCompositeFieldContainer[StartEstimate]
    gpu_account: GpuAccount
    eviction_obstacles: _containers.RepeatedCompositeFieldContainer[EvictionObstacle]
    def __init__(self, explanation: _Optional[_Union[Explanation, _Mapping]] = ..., reasons: _Optional[_Iterable[_Union[_decision_pb2.Reason, _Mapping]]] = ..., protections: _Optional[_Iterable[_Union[_decision_pb2.Protection, _Mapping]]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., remedies: _Optional[_Iterable[_Union[Remedy, _Mapping]]] = ..., victim_sets: _Optional[_Iterable[_Union[_decision_pb2.VictimSet, _Mapping]]] = ..., victim_ranks: _Optional[_Iterable[_Union[VictimRank, _Mapping]]] = ..., start_estimates: _Optional[_Iterable[_Union[StartEstimate, _Mapping]]] = ..., gpu_account: _Optional[_Union[GpuAccount, _Mapping]] = ..., eviction_obstacles: _Optional[_Iterable[_Union[EvictionObstacle, _Mapping]]] = ...) -> None: ...

class GpuAccount(_message.Message):
    __slots__ = ("total_gpu_milli", "free_gpu_milli", "largest_free_gpu_milli", "gpu_milli_per_pod", "pods", "fitting_pods", "uses", "protected_until", "obstacle")
    TOTAL_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    FREE_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    LARGEST_FREE_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    GPU_MILLI_PER_POD_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    FITTING_PODS_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    PROTECTED_UNTIL_FIELD_NUMBER: _ClassVar[int]
    OBSTACLE_FIELD_NUMBER: _ClassVar[int]
    total_gpu_milli: int
    free_gpu_milli: int
    largest_free_gpu_milli: int
    gpu_milli_per_pod: int
    pods: int
    fitting_pods: int
    uses: _containers.RepeatedCompositeFieldContainer[GpuUse]
    protected_until: _timestamp_pb2.Timestamp
    obstacle: EvictionObstacleKind
    def __init__(self, total_gpu_milli: _Optional[int] = ..., free_gpu_milli: _Optional[int] = ..., largest_free_gpu_milli: _Optional[int] = ..., gpu_milli_per_pod: _Optional[int] = ..., pods: _Optional[int] = ..., fitting_pods: _Optional[int] = ..., uses: _Optional[_Iterable[_Union[GpuUse, _Mapping]]] = ..., protected_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., obstacle: _Optional[_Union[EvictionObstacleKind, str]] = ...) -> None: ...

class GpuUse(_message.Message):
    __slots__ = ("kind", "gpu_milli")
    KIND_FIELD_NUMBER: _ClassVar[int]
    GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    kind: GpuUseKind
    gpu_milli: int
    def __init__(self, kind: _Optional[_Union[GpuUseKind, str]] = ..., gpu_milli: _Optional[int] = ...) -> None: ...

class EvictionObstacle(_message.Message):
    __slots__ = ("action", "kind", "missing", "candidates", "evictable", "rejected", "not_eligible")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    EVICTABLE_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    NOT_ELIGIBLE_FIELD_NUMBER: _ClassVar[int]
    action: str
    kind: EvictionObstacleKind
    missing: ResourceKind
    candidates: int
    evictable: int
    rejected: _containers.RepeatedCompositeFieldContainer[RejectedCandidates]
    not_eligible: _decision_pb2.Reason
    def __init__(self, action: _Optional[str] = ..., kind: _Optional[_Union[EvictionObstacleKind, str]] = ..., missing: _Optional[_Union[ResourceKind, str]] = ..., candidates: _Optional[int] = ..., evictable: _Optional[int] = ..., rejected: _Optional[_Iterable[_Union[RejectedCandidates, _Mapping]]] = ..., not_eligible: _Optional[_Union[_decision_pb2.Reason, _Mapping]] = ...) -> None: ...

class RejectedCandidates(_message.Message):
    __slots__ = ("code", "custom_code", "number")
    CODE_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_CODE_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    code: _decision_pb2.ReasonCode
    custom_code: str
    number: int
    def __init__(self, code: _Optional[_Union[_decision_pb2.ReasonCode, str]] = ..., custom_code: _Optional[str] = ..., number: _Optional[int] = ...) -> None: ...

class StartEstimate(_message.Message):
    __slots__ = ("pod_group", "position", "gpu_milli_ahead", "earliest_start", "likely_start", "latest_start", "certainty", "awaited_ends", "explanation", "range_reasons", "likely_start_by", "ahead")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    GPU_MILLI_AHEAD_FIELD_NUMBER: _ClassVar[int]
    EARLIEST_START_FIELD_NUMBER: _ClassVar[int]
    LIKELY_START_FIELD_NUMBER: _ClassVar[int]
    LATEST_START_FIELD_NUMBER: _ClassVar[int]
    CERTAINTY_FIELD_NUMBER: _ClassVar[int]
    AWAITED_ENDS_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    RANGE_REASONS_FIELD_NUMBER: _ClassVar[int]
    LIKELY_START_BY_FIELD_NUMBER: _ClassVar[int]
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    position: int
    gpu_milli_ahead: int
    earliest_start: _timestamp_pb2.Timestamp
    likely_start: _timestamp_pb2.Timestamp
    latest_start: _timestamp_pb2.Timestamp
    certainty: _snapshot_pb2.Certainty
    awaited_ends: _containers.RepeatedCompositeFieldContainer[AwaitedEnd]
    explanation: Explanation
    range_reasons: _containers.RepeatedScalarFieldContainer[RangeReason]
    likely_start_by: _timestamp_pb2.Timestamp
    ahead: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pod_group: _Optional[str] = ..., position: _Optional[int] = ..., gpu_milli_ahead: _Optional[int] = ..., earliest_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., likely_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., latest_start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., certainty: _Optional[_Union[_snapshot_pb2.Certainty, str]] = ..., awaited_ends: _Optional[_Iterable[_Union[AwaitedEnd, _Mapping]]] = ..., explanation: _Optional[_Union[Explanation, _Mapping]] = ..., range_reasons: _Optional[_Iterable[_Union[RangeReason, str]]] = ..., likely_start_by: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ahead: _Optional[_Iterable[str]] = ...) -> None: ...

class AwaitedEnd(_message.Message):
    __slots__ = ("pod_group", "end_time", "certainty")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    CERTAINTY_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    end_time: _timestamp_pb2.Timestamp
    certainty: _snapshot_pb2.Certainty
    def __init__(self, pod_group: _Optional[str] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., certainty: _Optional[_Union[_snapshot_pb2.Certainty, str]] = ...) -> None: ...

class VictimRank(_message.Message):
    __slots__ = ("pod_group", "place", "cost", "lost", "next_for")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    NEXT_FOR_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    place: int
    cost: int
    lost: int
    next_for: _containers.RepeatedCompositeFieldContainer[NextTaker]
    def __init__(self, pod_group: _Optional[str] = ..., place: _Optional[int] = ..., cost: _Optional[int] = ..., lost: _Optional[int] = ..., next_for: _Optional[_Iterable[_Union[NextTaker, _Mapping]]] = ...) -> None: ...

class NextTaker(_message.Message):
    __slots__ = ("action", "queue", "pod_group")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    action: str
    queue: str
    pod_group: str
    def __init__(self, action: _Optional[str] = ..., queue: _Optional[str] = ..., pod_group: _Optional[str] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("public", "tenant", "operator")
    PUBLIC_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    public: str
    tenant: str
    operator: str
    def __init__(self, public: _Optional[str] = ..., tenant: _Optional[str] = ..., operator: _Optional[str] = ...) -> None: ...

class Remedy(_message.Message):
    __slots__ = ("kind", "explanation", "outcome", "evicted_pods", "until", "min_member", "priority", "bound", "nodes", "victims", "not_started", "further_losses")
    KIND_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    EVICTED_PODS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    MIN_MEMBER_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    VICTIMS_FIELD_NUMBER: _ClassVar[int]
    NOT_STARTED_FIELD_NUMBER: _ClassVar[int]
    FURTHER_LOSSES_FIELD_NUMBER: _ClassVar[int]
    kind: RemedyKind
    explanation: Explanation
    outcome: _decision_pb2.OutcomeKind
    evicted_pods: int
    until: _timestamp_pb2.Timestamp
    min_member: NumberChange
    priority: NumberChange
    bound: BoundChange
    nodes: NodeAddition
    victims: _containers.RepeatedCompositeFieldContainer[PodCount]
    not_started: _containers.RepeatedScalarFieldContainer[str]
    further_losses: _containers.RepeatedCompositeFieldContainer[PodCount]
    def __init__(self, kind: _Optional[_Union[RemedyKind, str]] = ..., explanation: _Optional[_Union[Explanation, _Mapping]] = ..., outcome: _Optional[_Union[_decision_pb2.OutcomeKind, str]] = ..., evicted_pods: _Optional[int] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., min_member: _Optional[_Union[NumberChange, _Mapping]] = ..., priority: _Optional[_Union[NumberChange, _Mapping]] = ..., bound: _Optional[_Union[BoundChange, _Mapping]] = ..., nodes: _Optional[_Union[NodeAddition, _Mapping]] = ..., victims: _Optional[_Iterable[_Union[PodCount, _Mapping]]] = ..., not_started: _Optional[_Iterable[str]] = ..., further_losses: _Optional[_Iterable[_Union[PodCount, _Mapping]]] = ...) -> None: ...

class NumberChange(_message.Message):
    __slots__ = ("before", "after")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    before: int
    after: int
    def __init__(self, before: _Optional[int] = ..., after: _Optional[int] = ...) -> None: ...

class BoundChange(_message.Message):
    __slots__ = ("resource", "queues")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    resource: ResourceKind
    queues: _containers.RepeatedCompositeFieldContainer[QueueBoundChange]
    def __init__(self, resource: _Optional[_Union[ResourceKind, str]] = ..., queues: _Optional[_Iterable[_Union[QueueBoundChange, _Mapping]]] = ...) -> None: ...

class QueueBoundChange(_message.Message):
    __slots__ = ("queue", "before", "after")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    queue: str
    before: int
    after: int
    def __init__(self, queue: _Optional[str] = ..., before: _Optional[int] = ..., after: _Optional[int] = ...) -> None: ...

class NodeAddition(_message.Message):
    __slots__ = ("number", "like_node")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    LIKE_NODE_FIELD_NUMBER: _ClassVar[int]
    number: int
    like_node: str
    def __init__(self, number: _Optional[int] = ..., like_node: _Optional[str] = ...) -> None: ...

class PodCount(_message.Message):
    __slots__ = ("pod_group", "pods")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    pods: int
    def __init__(self, pod_group: _Optional[str] = ..., pods: _Optional[int] = ...) -> None: ...

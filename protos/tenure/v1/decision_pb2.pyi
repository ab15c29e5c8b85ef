import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import resources_pb2 as _resources_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class VictimMeasure(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VICTIM_MEASURE_UNSPECIFIED: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_PRIORITY: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_QUEUES_BELOW_QUOTA: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_COST: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_PODS: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_GPUS: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_GPU_HOURS: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_ENDED_PODS: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_OTHER_QUEUES: _ClassVar[VictimMeasure]
    VICTIM_MEASURE_NAMES: _ClassVar[VictimMeasure]

class Minimality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MINIMALITY_UNSPECIFIED: _ClassVar[Minimality]
    MINIMALITY_PROVEN: _ClassVar[Minimality]
    MINIMALITY_HEURISTIC: _ClassVar[Minimality]
    MINIMALITY_NOT_TRIED: _ClassVar[Minimality]
    MINIMALITY_LEAST: _ClassVar[Minimality]

class Atomicity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ATOMICITY_UNSPECIFIED: _ClassVar[Atomicity]
    ATOMICITY_ALL: _ClassVar[Atomicity]
    ATOMICITY_BEST_EFFORT: _ClassVar[Atomicity]

class NoticeSignal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOTICE_SIGNAL_UNSPECIFIED: _ClassVar[NoticeSignal]
    NOTICE_SIGNAL_CHECKPOINT: _ClassVar[NoticeSignal]

class ProtectionScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROTECTION_SCOPE_UNSPECIFIED: _ClassVar[ProtectionScope]
    PROTECTION_SCOPE_CORE: _ClassVar[ProtectionScope]
    PROTECTION_SCOPE_ALL: _ClassVar[ProtectionScope]

class ReasonCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_CODE_UNSPECIFIED: _ClassVar[ReasonCode]
    REASON_CODE_ALLOCATED: _ClassVar[ReasonCode]
    REASON_CODE_PIPELINED: _ClassVar[ReasonCode]
    REASON_CODE_RECLAIMED: _ClassVar[ReasonCode]
    REASON_CODE_PREEMPTED: _ClassVar[ReasonCode]
    REASON_CODE_CONSOLIDATED: _ClassVar[ReasonCode]
    REASON_CODE_STALE_GANG: _ClassVar[ReasonCode]
    REASON_CODE_STALE_SUB_GROUP: _ClassVar[ReasonCode]
    REASON_CODE_VICTIMS_EVICTED: _ClassVar[ReasonCode]
    REASON_CODE_FIELD_UPDATED: _ClassVar[ReasonCode]
    REASON_CODE_REQUEUED: _ClassVar[ReasonCode]
    REASON_CODE_NOT_READY: _ClassVar[ReasonCode]
    REASON_CODE_INVALID_QUEUE: _ClassVar[ReasonCode]
    REASON_CODE_OVER_LIMIT: _ClassVar[ReasonCode]
    REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA: _ClassVar[ReasonCode]
    REASON_CODE_OVER_FAIR_SHARE: _ClassVar[ReasonCode]
    REASON_CODE_NO_NODE_MATCHES: _ClassVar[ReasonCode]
    REASON_CODE_INSUFFICIENT_RESOURCES: _ClassVar[ReasonCode]
    REASON_CODE_NO_SOLUTION: _ClassVar[ReasonCode]
    REASON_CODE_BUDGET_EXHAUSTED: _ClassVar[ReasonCode]
    REASON_CODE_PREEMPTION_DELAY: _ClassVar[ReasonCode]
    REASON_CODE_SIMILAR_FAILED: _ClassVar[ReasonCode]
    REASON_CODE_MIN_RUNTIME: _ClassVar[ReasonCode]
    REASON_CODE_NON_PREEMPTIBLE: _ClassVar[ReasonCode]
    REASON_CODE_PRIORITY_NOT_LOWER: _ClassVar[ReasonCode]
    REASON_CODE_WITHIN_FAIR_SHARE: _ClassVar[ReasonCode]
    REASON_CODE_BLOCKED: _ClassVar[ReasonCode]
    REASON_CODE_OPTED_OUT: _ClassVar[ReasonCode]
    REASON_CODE_EVICTION_LIMIT: _ClassVar[ReasonCode]
    REASON_CODE_NEAR_COMPLETION: _ClassVar[ReasonCode]
    REASON_CODE_WAIT_LIMIT: _ClassVar[ReasonCode]
    REASON_CODE_EVICTION_COOLDOWN: _ClassVar[ReasonCode]
    REASON_CODE_EVICTION_BACKOFF: _ClassVar[ReasonCode]
    REASON_CODE_PROTECTED: _ClassVar[ReasonCode]
    REASON_CODE_RESERVED: _ClassVar[ReasonCode]
    REASON_CODE_QUEUE_ORDER: _ClassVar[ReasonCode]
    REASON_CODE_TOPOLOGY: _ClassVar[ReasonCode]
    REASON_CODE_FRAGMENTED: _ClassVar[ReasonCode]
    REASON_CODE_NO_CAPACITY: _ClassVar[ReasonCode]
    REASON_CODE_VICTIM_COOLDOWN: _ClassVar[ReasonCode]
    REASON_CODE_HELD: _ClassVar[ReasonCode]
    REASON_CODE_NOTICE_GIVEN: _ClassVar[ReasonCode]
    REASON_CODE_NOT_NEEDED: _ClassVar[ReasonCode]
    REASON_CODE_BACKFILL_ENDED: _ClassVar[ReasonCode]
    REASON_CODE_NOT_BEFORE: _ClassVar[ReasonCode]
    REASON_CODE_KEPT_FOR_LENDER: _ClassVar[ReasonCode]
    REASON_CODE_TIME_LIMIT: _ClassVar[ReasonCode]
    REASON_CODE_IN_PROGRESS: _ClassVar[ReasonCode]
    REASON_CODE_COMPLETED: _ClassVar[ReasonCode]
    REASON_CODE_EXPIRED: _ClassVar[ReasonCode]
    REASON_CODE_GONE: _ClassVar[ReasonCode]
    REASON_CODE_DISRUPTION_BUDGET: _ClassVar[ReasonCode]
    REASON_CODE_EVICTION_RATE: _ClassVar[ReasonCode]

class OutcomeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_KIND_UNSPECIFIED: _ClassVar[OutcomeKind]
    OUTCOME_KIND_BOUND: _ClassVar[OutcomeKind]
    OUTCOME_KIND_WAITING_FOR_RELEASE: _ClassVar[OutcomeKind]
    OUTCOME_KIND_WAITING_FOR_VICTIMS: _ClassVar[OutcomeKind]
    OUTCOME_KIND_WAITING_FOR_QUOTA: _ClassVar[OutcomeKind]
    OUTCOME_KIND_DELAYED: _ClassVar[OutcomeKind]
    OUTCOME_KIND_INFEASIBLE: _ClassVar[OutcomeKind]
    OUTCOME_KIND_BUDGET_EXHAUSTED: _ClassVar[OutcomeKind]
    OUTCOME_KIND_INVALID_POD_GROUP: _ClassVar[OutcomeKind]
    OUTCOME_KIND_WAITING_FOR_CAPACITY: _ClassVar[OutcomeKind]
    OUTCOME_KIND_HELD: _ClassVar[OutcomeKind]

class NominationResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOMINATION_RESULT_UNSPECIFIED: _ClassVar[NominationResult]
    NOMINATION_RESULT_NOT_DUE: _ClassVar[NominationResult]
    NOMINATION_RESULT_SKIPPED: _ClassVar[NominationResult]
    NOMINATION_RESULT_NO_CONTENDER: _ClassVar[NominationResult]
    NOMINATION_RESULT_NO_BENEFIT: _ClassVar[NominationResult]
    NOMINATION_RESULT_PROTECTED: _ClassVar[NominationResult]
    NOMINATION_RESULT_REQUEUED: _ClassVar[NominationResult]
    NOMINATION_RESULT_BUDGET_EXHAUSTED: _ClassVar[NominationResult]
    NOMINATION_RESULT_ALREADY_MOVED: _ClassVar[NominationResult]

class NominationSkipReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOMINATION_SKIP_REASON_UNSPECIFIED: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_COOLDOWN: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_MISSING_START: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_INVALID_DURATION: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_NOT_RUNNING: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_NOT_PREEMPTIBLE: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_MINRUNTIME_PROTECTED: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_CLOCK_SKEW: _ClassVar[NominationSkipReason]
    NOMINATION_SKIP_REASON_INVALID_NOT_BEFORE: _ClassVar[NominationSkipReason]

class InFlightGroupState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IN_FLIGHT_GROUP_STATE_UNSPECIFIED: _ClassVar[InFlightGroupState]
    IN_FLIGHT_GROUP_STATE_IN_FLIGHT: _ClassVar[InFlightGroupState]
    IN_FLIGHT_GROUP_STATE_SUPERSEDED: _ClassVar[InFlightGroupState]
    IN_FLIGHT_GROUP_STATE_COMPLETED: _ClassVar[InFlightGroupState]
    IN_FLIGHT_GROUP_STATE_EXPIRED: _ClassVar[InFlightGroupState]
    IN_FLIGHT_GROUP_STATE_CANCELLED: _ClassVar[InFlightGroupState]
VICTIM_MEASURE_UNSPECIFIED: VictimMeasure
VICTIM_MEASURE_PRIORITY: VictimMeasure
VICTIM_MEASURE_QUEUES_BELOW_QUOTA: VictimMeasure
VICTIM_MEASURE_COST: VictimMeasure
VICTIM_MEASURE_PODS: VictimMeasure
VICTIM_MEASURE_GPUS: VictimMeasure
VICTIM_MEASURE_GPU_HOURS: VictimMeasure
VICTIM_MEASURE_ENDED_PODS: VictimMeasure
VICTIM_MEASURE_OTHER_QUEUES: VictimMeasure
VICTIM_MEASURE_NAMES: VictimMeasure
MINIMALITY_UNSPECIFIED: Minimality
MINIMALITY_PROVEN: Minimality
MINIMALITY_HEURISTIC: Minimality
MINIMALITY_NOT_TRIED: Minimality
MINIMALITY_LEAST: Minimality
ATOMICITY_UNSPECIFIED: Atomicity
ATOMICITY_ALL: Atomicity
ATOMICITY_BEST_EFFORT: Atomicity
NOTICE_SIGNAL_UNSPECIFIED: NoticeSignal
NOTICE_SIGNAL_CHECKPOINT: NoticeSignal
PROTECTION_SCOPE_UNSPECIFIED: ProtectionScope
PROTECTION_SCOPE_CORE: ProtectionScope
PROTECTION_SCOPE_ALL: ProtectionScope
REASON_CODE_UNSPECIFIED: ReasonCode
REASON_CODE_ALLOCATED: ReasonCode
REASON_CODE_PIPELINED: ReasonCode
REASON_CODE_RECLAIMED: ReasonCode
REASON_CODE_PREEMPTED: ReasonCode
REASON_CODE_CONSOLIDATED: ReasonCode
REASON_CODE_STALE_GANG: ReasonCode
REASON_CODE_STALE_SUB_GROUP: ReasonCode
REASON_CODE_VICTIMS_EVICTED: ReasonCode
REASON_CODE_FIELD_UPDATED: ReasonCode
REASON_CODE_REQUEUED: ReasonCode
REASON_CODE_NOT_READY: ReasonCode
REASON_CODE_INVALID_QUEUE: ReasonCode
REASON_CODE_OVER_LIMIT: ReasonCode
REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA: ReasonCode
REASON_CODE_OVER_FAIR_SHARE: ReasonCode
REASON_CODE_NO_NODE_MATCHES: ReasonCode
REASON_CODE_INSUFFICIENT_RESOURCES: ReasonCode
REASON_CODE_NO_SOLUTION: ReasonCode
REASON_CODE_BUDGET_EXHAUSTED: ReasonCode
REASON_CODE_PREEMPTION_DELAY: ReasonCode
REASON_CODE_SIMILAR_FAILED: ReasonCode
REASON_CODE_MIN_RUNTIME: ReasonCode
REASON_CODE_NON_PREEMPTIBLE: ReasonCode
REASON_CODE_PRIORITY_NOT_LOWER: ReasonCode
REASON_CODE_WITHIN_FAIR_SHARE: ReasonCode
REASON_CODE_BLOCKED: ReasonCode
REASON_CODE_OPTED_OUT: ReasonCode
REASON_CODE_EVICTION_LIMIT: ReasonCode
REASON_CODE_NEAR_COMPLETION: ReasonCode
REASON_CODE_WAIT_LIMIT: ReasonCode
REASON_CODE_EVICTION_COOLDOWN: ReasonCode
REASON_CODE_EVICTION_BACKOFF: ReasonCode
REASON_CODE_PROTECTED: ReasonCode
REASON_CODE_RESERVED: ReasonCode
REASON_CODE_QUEUE_ORDER: ReasonCode
REASON_CODE_TOPOLOGY: ReasonCode
REASON_CODE_FRAGMENTED: ReasonCode
REASON_CODE_NO_CAPACITY: ReasonCode
REASON_CODE_VICTIM_COOLDOWN: ReasonCode
REASON_CODE_HELD: ReasonCode
REASON_CODE_NOTICE_GIVEN: ReasonCode
REASON_CODE_NOT_NEEDED: ReasonCode
REASON_CODE_BACKFILL_ENDED: ReasonCode
REASON_CODE_NOT_BEFORE: ReasonCode
REASON_CODE_KEPT_FOR_LENDER: ReasonCode
REASON_CODE_TIME_LIMIT: ReasonCode
REASON_CODE_IN_PROGRESS: ReasonCode
REASON_CODE_COMPLETED: ReasonCode
REASON_CODE_EXPIRED: ReasonCode
REASON_CODE_GONE: ReasonCode
REASON_CODE_DISRUPTION_BUDGET: ReasonCode
REASON_CODE_EVICTION_RATE: ReasonCode
OUTCOME_KIND_UNSPECIFIED: OutcomeKind
OUTCOME_KIND_BOUND: OutcomeKind
OUTCOME_KIND_WAITING_FOR_RELEASE: OutcomeKind
OUTCOME_KIND_WAITING_FOR_VICTIMS: OutcomeKind
OUTCOME_KIND_WAITING_FOR_QUOTA: OutcomeKind
OUTCOME_KIND_DELAYED: OutcomeKind
OUTCOME_KIND_INFEASIBLE: OutcomeKind
OUTCOME_KIND_BUDGET_EXHAUSTED: OutcomeKind
OUTCOME_KIND_INVALID_POD_GROUP: OutcomeKind
OUTCOME_KIND_WAITING_FOR_CAPACITY: OutcomeKind
OUTCOME_KIND_HELD: OutcomeKind
NOMINATION_RESULT_UNSPECIFIED: NominationResult
NOMINATION_RESULT_NOT_DUE: NominationResult
NOMINATION_RESULT_SKIPPED: NominationResult
NOMINATION_RESULT_NO_CONTENDER: NominationResult
NOMINATION_RESULT_NO_BENEFIT: NominationResult
NOMINATION_RESULT_PROTECTED: NominationResult
NOMINATION_RESULT_REQUEUED: NominationResult
NOMINATION_RESULT_BUDGET_EXHAUSTED: NominationResult
NOMINATION_RESULT_ALREADY_MOVED: NominationResult
NOMINATION_SKIP_REASON_UNSPECIFIED: NominationSkipReason
NOMINATION_SKIP_REASON_COOLDOWN: NominationSkipReason
NOMINATION_SKIP_REASON_MISSING_START: NominationSkipReason
NOMINATION_SKIP_REASON_INVALID_DURATION: NominationSkipReason
NOMINATION_SKIP_REASON_NOT_RUNNING: NominationSkipReason
NOMINATION_SKIP_REASON_NOT_PREEMPTIBLE: NominationSkipReason
NOMINATION_SKIP_REASON_MINRUNTIME_PROTECTED: NominationSkipReason
NOMINATION_SKIP_REASON_CLOCK_SKEW: NominationSkipReason
NOMINATION_SKIP_REASON_INVALID_NOT_BEFORE: NominationSkipReason
IN_FLIGHT_GROUP_STATE_UNSPECIFIED: InFlightGroupState
IN_FLIGHT_GROUP_STATE_IN_FLIGHT: InFlightGroupState
IN_FLIGHT_GROUP_STATE_SUPERSEDED: InFlightGroupState
IN_FLIGHT_GROUP_STATE_COMPLETED: InFlightGroupState
IN_FLIGHT_GROUP_STATE_EXPIRED: InFlightGroupState
IN_FLIGHT_GROUP_STATE_CANCELLED: InFlightGroupState

class DecisionGroup(_message.Message):
    __slots__ = ("id", "action", "beneficiary", "decisions", "atomicity", "expire_time", "fulfills_group_id", "victim_set", "evict_time")
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    BENEFICIARY_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    ATOMICITY_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    FULFILLS_GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    VICTIM_SET_FIELD_NUMBER: _ClassVar[int]
    EVICT_TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    action: str
    beneficiary: str
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    atomicity: Atomicity
    expire_time: _timestamp_pb2.Timestamp
    fulfills_group_id: str
    victim_set: VictimSet
    evict_time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., action: _Optional[str] = ..., beneficiary: _Optional[str] = ..., decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ..., atomicity: _Optional[_Union[Atomicity, str]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fulfills_group_id: _Optional[str] = ..., victim_set: _Optional[_Union[VictimSet, _Mapping]] = ..., evict_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class VictimSet(_message.Message):
    __slots__ = ("minimality", "disrupted_pods", "tried", "sufficient_pods", "untried", "put_back_pods", "cost", "victim_costs", "next_best_pods", "next_best_cost", "next_best_pod_groups", "next_best_lost_by", "excess_gpu_milli")
    MINIMALITY_FIELD_NUMBER: _ClassVar[int]
    DISRUPTED_PODS_FIELD_NUMBER: _ClassVar[int]
    TRIED_FIELD_NUMBER: _ClassVar[int]
    SUFFICIENT_PODS_FIELD_NUMBER: _ClassVar[int]
    UNTRIED_FIELD_NUMBER: _ClassVar[int]
    PUT_BACK_PODS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    VICTIM_COSTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_BEST_PODS_FIELD_NUMBER: _ClassVar[int]
    NEXT_BEST_COST_FIELD_NUMBER: _ClassVar[int]
    NEXT_BEST_POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_BEST_LOST_BY_FIELD_NUMBER: _ClassVar[int]
    EXCESS_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    minimality: Minimality
    disrupted_pods: int
    tried: int
    sufficient_pods: int
    untried: int
    put_back_pods: int
    cost: int
    victim_costs: _containers.RepeatedCompositeFieldContainer[VictimCost]
    next_best_pods: int
    next_best_cost: int
    next_best_pod_groups: _containers.RepeatedScalarFieldContainer[str]
    next_best_lost_by: VictimMeasure
    excess_gpu_milli: int
    def __init__(self, minimality: _Optional[_Union[Minimality, str]] = ..., disrupted_pods: _Optional[int] = ..., tried: _Optional[int] = ..., sufficient_pods: _Optional[int] = ..., untried: _Optional[int] = ..., put_back_pods: _Optional[int] = ..., cost: _Optional[int] = ..., victim_costs: _Optional[_Iterable[_Union[VictimCost, _Mapping]]] = ..., next_best_pods: _Optional[int] = ..., next_best_cost: _Optional[int] = ..., next_best_pod_groups: _Optional[_Iterable[str]] = ..., next_best_lost_by: _Optional[_Union[VictimMeasure, str]] = ..., excess_gpu_milli: _Optional[int] = ...) -> None: ...

class VictimCost(_message.Message):
    __slots__ = ("pod_group", "pods", "cost", "lost")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    pods: int
    cost: int
    lost: int
    def __init__(self, pod_group: _Optional[str] = ..., pods: _Optional[int] = ..., cost: _Optional[int] = ..., lost: _Optional[int] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("id", "bind", "evict", "reserve", "requeue", "patch", "notify", "withdraw_notice", "reason", "preconditions")
    ID_FIELD_NUMBER: _ClassVar[int]
    BIND_FIELD_NUMBER: _ClassVar[int]
    EVICT_FIELD_NUMBER: _ClassVar[int]
    RESERVE_FIELD_NUMBER: _ClassVar[int]
    REQUEUE_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    NOTIFY_FIELD_NUMBER: _ClassVar[int]
    WITHDRAW_NOTICE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRECONDITIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    bind: Bind
    evict: Evict
    reserve: Reserve
    requeue: Requeue
    patch: Patch
    notify: Notify
    withdraw_notice: WithdrawNotice
    reason: Reason
    preconditions: Preconditions
    def __init__(self, id: _Optional[str] = ..., bind: _Optional[_Union[Bind, _Mapping]] = ..., evict: _Optional[_Union[Evict, _Mapping]] = ..., reserve: _Optional[_Union[Reserve, _Mapping]] = ..., requeue: _Optional[_Union[Requeue, _Mapping]] = ..., patch: _Optional[_Union[Patch, _Mapping]] = ..., notify: _Optional[_Union[Notify, _Mapping]] = ..., withdraw_notice: _Optional[_Union[WithdrawNotice, _Mapping]] = ..., reason: _Optional[_Union[Reason, _Mapping]] = ..., preconditions: _Optional[_Union[Preconditions, _Mapping]] = ...) -> None: ...

class Bind(_message.Message):
    __slots__ = ("pod", "node", "gpu_groups", "numa_placement")
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    GPU_GROUPS_FIELD_NUMBER: _ClassVar[int]
    NUMA_PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    pod: str
    node: str
    gpu_groups: _containers.RepeatedScalarFieldContainer[str]
    numa_placement: _containers.RepeatedCompositeFieldContainer[_resources_pb2.NumaPlacement]
    def __init__(self, pod: _Optional[str] = ..., node: _Optional[str] = ..., gpu_groups: _Optional[_Iterable[str]] = ..., numa_placement: _Optional[_Iterable[_Union[_resources_pb2.NumaPlacement, _Mapping]]] = ...) -> None: ...

class Evict(_message.Message):
    __slots__ = ("pod", "node", "preemptor", "relocating", "guards", "pod_group", "fate", "disruption_budgets", "grace_period", "eviction_rates", "overridden_disruption_budgets")
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PREEMPTOR_FIELD_NUMBER: _ClassVar[int]
    RELOCATING_FIELD_NUMBER: _ClassVar[int]
    GUARDS_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_BUDGETS_FIELD_NUMBER: _ClassVar[int]
    GRACE_PERIOD_FIELD_NUMBER: _ClassVar[int]
    EVICTION_RATES_FIELD_NUMBER: _ClassVar[int]
    OVERRIDDEN_DISRUPTION_BUDGETS_FIELD_NUMBER: _ClassVar[int]
    pod: str
    node: str
    preemptor: str
    relocating: bool
    guards: _containers.RepeatedCompositeFieldContainer[GuardVerdict]
    pod_group: str
    fate: _snapshot_pb2.Fate
    disruption_budgets: _containers.RepeatedScalarFieldContainer[str]
    grace_period: _duration_pb2.Duration
    eviction_rates: _containers.RepeatedCompositeFieldContainer[EvictionRateCharge]
    overridden_disruption_budgets: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pod: _Optional[str] = ..., node: _Optional[str] = ..., preemptor: _Optional[str] = ..., relocating: bool = ..., guards: _Optional[_Iterable[_Union[GuardVerdict, _Mapping]]] = ..., pod_group: _Optional[str] = ..., fate: _Optional[_Union[_snapshot_pb2.Fate, str]] = ..., disruption_budgets: _Optional[_Iterable[str]] = ..., grace_period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., eviction_rates: _Optional[_Iterable[_Union[EvictionRateCharge, _Mapping]]] = ..., overridden_disruption_budgets: _Optional[_Iterable[str]] = ...) -> None: ...

class EvictionRateCharge(_message.Message):
    __slots__ = ("name", "per_pod_group")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PER_POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    name: str
    per_pod_group: bool
    def __init__(self, name: _Optional[str] = ..., per_pod_group: bool = ...) -> None: ...

class Notify(_message.Message):
    __slots__ = ("pod", "node", "pod_group", "preemptor", "evict_time", "signal", "guards")
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    PREEMPTOR_FIELD_NUMBER: _ClassVar[int]
    EVICT_TIME_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    GUARDS_FIELD_NUMBER: _ClassVar[int]
    pod: str
    node: str
    pod_group: str
    preemptor: str
    evict_time: _timestamp_pb2.Timestamp
    signal: NoticeSignal
    guards: _containers.RepeatedCompositeFieldContainer[GuardVerdict]
    def __init__(self, pod: _Optional[str] = ..., node: _Optional[str] = ..., pod_group: _Optional[str] = ..., preemptor: _Optional[str] = ..., evict_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., signal: _Optional[_Union[NoticeSignal, str]] = ..., guards: _Optional[_Iterable[_Union[GuardVerdict, _Mapping]]] = ...) -> None: ...

class WithdrawNotice(_message.Message):
    __slots__ = ("pod", "pod_group", "preemptor")
    POD_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    PREEMPTOR_FIELD_NUMBER: _ClassVar[int]
    pod: str
    pod_group: str
    preemptor: str
    def __init__(self, pod: _Optional[str] = ..., pod_group: _Optional[str] = ..., preemptor: _Optional[str] = ...) -> None: ...

class GuardVerdict(_message.Message):
    __slots__ = ("guard", "scope", "until", "source")
    GUARD_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    guard: str
    scope: ProtectionScope
    until: _timestamp_pb2.Timestamp
    source: str
    def __init__(self, guard: _Optional[str] = ..., scope: _Optional[_Union[ProtectionScope, str]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[str] = ...) -> None: ...

class Reserve(_message.Message):
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

class Requeue(_message.Message):
    __slots__ = ("pod_group", "not_before", "contender", "nominated_by")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    CONTENDER_FIELD_NUMBER: _ClassVar[int]
    NOMINATED_BY_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    not_before: _timestamp_pb2.Timestamp
    contender: str
    nominated_by: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, pod_group: _Optional[str] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., contender: _Optional[str] = ..., nominated_by: _Optional[_Iterable[str]] = ...) -> None: ...

class Patch(_message.Message):
    __slots__ = ("pod_group", "last_start_time", "last_eviction_time", "stale_since", "clear_stale_since", "requeue_not_before", "eviction_count", "total_eviction_wait", "set_eviction_record", "delete_eviction_record", "evictions_without_progress", "held_by", "evictions", "last_notice_time", "backfill_for", "grant")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    LAST_START_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_EVICTION_TIME_FIELD_NUMBER: _ClassVar[int]
    STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    CLEAR_STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    REQUEUE_NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    EVICTION_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_EVICTION_WAIT_FIELD_NUMBER: _ClassVar[int]
    SET_EVICTION_RECORD_FIELD_NUMBER: _ClassVar[int]
    DELETE_EVICTION_RECORD_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_WITHOUT_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    LAST_NOTICE_TIME_FIELD_NUMBER: _ClassVar[int]
    BACKFILL_FOR_FIELD_NUMBER: _ClassVar[int]
    GRANT_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    last_start_time: _timestamp_pb2.Timestamp
    last_eviction_time: _timestamp_pb2.Timestamp
    stale_since: _timestamp_pb2.Timestamp
    clear_stale_since: bool
    requeue_not_before: _timestamp_pb2.Timestamp
    eviction_count: int
    total_eviction_wait: _duration_pb2.Duration
    set_eviction_record: _snapshot_pb2.EvictionRecord
    delete_eviction_record: str
    evictions_without_progress: int
    held_by: _snapshot_pb2.HoldReason
    evictions: _snapshot_pb2.EvictionCounts
    last_notice_time: _timestamp_pb2.Timestamp
    backfill_for: _snapshot_pb2.BackfillOwners
    grant: _snapshot_pb2.Grant
    def __init__(self, pod_group: _Optional[str] = ..., last_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_eviction_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stale_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., clear_stale_since: bool = ..., requeue_not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., eviction_count: _Optional[int] = ..., total_eviction_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., set_eviction_record: _Optional[_Union[_snapshot_pb2.EvictionRecord, _Mapping]] = ..., delete_eviction_record: _Optional[str] = ..., evictions_without_progress: _Optional[int] = ..., held_by: _Optional[_Union[_snapshot_pb2.HoldReason, str]] = ..., evictions: _Optional[_Union[_snapshot_pb2.EvictionCounts, _Mapping]] = ..., last_notice_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., backfill_for: _Optional[_Union[_snapshot_pb2.BackfillOwners, _Mapping]] = ..., grant: _Optional[_Union[_snapshot_pb2.Grant, _Mapping]] = ...) -> None: ...

class Reason(_message.Message):
    __slots__ = ("code", "message", "source", "until", "detail", "custom")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CUSTOM_FIELD_NUMBER: _ClassVar[int]
    code: ReasonCode
    message: str
    source: str
    until: _timestamp_pb2.Timestamp
    detail: str
    custom: CustomReason
    def __init__(self, code: _Optional[_Union[ReasonCode, str]] = ..., message: _Optional[str] = ..., source: _Optional[str] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., detail: _Optional[str] = ..., custom: _Optional[_Union[CustomReason, _Mapping]] = ...) -> None: ...

class CustomReason(_message.Message):
    __slots__ = ("domain", "code", "clause", "public_message", "remedy")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    CLAUSE_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    domain: str
    code: str
    clause: str
    public_message: str
    remedy: str
    def __init__(self, domain: _Optional[str] = ..., code: _Optional[str] = ..., clause: _Optional[str] = ..., public_message: _Optional[str] = ..., remedy: _Optional[str] = ...) -> None: ...

class Preconditions(_message.Message):
    __slots__ = ("pod_uid", "node", "snapshot_version")
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_VERSION_FIELD_NUMBER: _ClassVar[int]
    pod_uid: str
    node: str
    snapshot_version: int
    def __init__(self, pod_uid: _Optional[str] = ..., node: _Optional[str] = ..., snapshot_version: _Optional[int] = ...) -> None: ...

class PodGroupOutcome(_message.Message):
    __slots__ = ("pod_group", "kind", "reason", "bound", "reserved", "pending")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    RESERVED_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    kind: OutcomeKind
    reason: Reason
    bound: int
    reserved: int
    pending: int
    def __init__(self, pod_group: _Optional[str] = ..., kind: _Optional[_Union[OutcomeKind, str]] = ..., reason: _Optional[_Union[Reason, _Mapping]] = ..., bound: _Optional[int] = ..., reserved: _Optional[int] = ..., pending: _Optional[int] = ...) -> None: ...

class Protection(_message.Message):
    __slots__ = ("pod_group", "guard", "actions", "until", "source", "against", "scope", "against_pod_group")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AGAINST_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    AGAINST_POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    guard: str
    actions: _containers.RepeatedScalarFieldContainer[str]
    until: _timestamp_pb2.Timestamp
    source: str
    against: str
    scope: ProtectionScope
    against_pod_group: str
    def __init__(self, pod_group: _Optional[str] = ..., guard: _Optional[str] = ..., actions: _Optional[_Iterable[str]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[str] = ..., against: _Optional[str] = ..., scope: _Optional[_Union[ProtectionScope, str]] = ..., against_pod_group: _Optional[str] = ...) -> None: ...

class Nomination(_message.Message):
    __slots__ = ("pod_group", "result", "skip_reason", "nominated_by", "reason", "overrun", "contender", "not_before", "surplus_only")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SKIP_REASON_FIELD_NUMBER: _ClassVar[int]
    NOMINATED_BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OVERRUN_FIELD_NUMBER: _ClassVar[int]
    CONTENDER_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    SURPLUS_ONLY_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    result: NominationResult
    skip_reason: NominationSkipReason
    nominated_by: _containers.RepeatedScalarFieldContainer[str]
    reason: Reason
    overrun: _duration_pb2.Duration
    contender: str
    not_before: _timestamp_pb2.Timestamp
    surplus_only: bool
    def __init__(self, pod_group: _Optional[str] = ..., result: _Optional[_Union[NominationResult, str]] = ..., skip_reason: _Optional[_Union[NominationSkipReason, str]] = ..., nominated_by: _Optional[_Iterable[str]] = ..., reason: _Optional[_Union[Reason, _Mapping]] = ..., overrun: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., contender: _Optional[str] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., surplus_only: bool = ...) -> None: ...

class InFlightGroupStatus(_message.Message):
    __slots__ = ("id", "state", "reason", "reservations", "replaced_pods")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    REPLACED_PODS_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: InFlightGroupState
    reason: Reason
    reservations: _containers.RepeatedCompositeFieldContainer[Reserve]
    replaced_pods: _containers.RepeatedCompositeFieldContainer[ReplacedPod]
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[InFlightGroupState, str]] = ..., reason: _Optional[_Union[Reason, _Mapping]] = ..., reservations: _Optional[_Iterable[_Union[Reserve, _Mapping]]] = ..., replaced_pods: _Optional[_Iterable[_Union[ReplacedPod, _Mapping]]] = ...) -> None: ...

class ReplacedPod(_message.Message):
    __slots__ = ("pod", "by")
    POD_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    pod: str
    by: str
    def __init__(self, pod: _Optional[str] = ..., by: _Optional[str] = ...) -> None: ...

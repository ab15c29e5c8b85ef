import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import resources_pb2 as _resources_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReasonCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_CODE_UNSPECIFIED: _ClassVar[ReasonCode]
    REASON_CODE_ALLOCATED: _ClassVar[ReasonCode]
    REASON_CODE_PIPELINED: _ClassVar[ReasonCode]
    REASON_CODE_RECLAIMED: _ClassVar[ReasonCode]
    REASON_CODE_PREEMPTED: _ClassVar[ReasonCode]
    REASON_CODE_CONSOLIDATED: _ClassVar[ReasonCode]
    REASON_CODE_STALE_GANG: _ClassVar[ReasonCode]
    REASON_CODE_VICTIMS_EVICTED: _ClassVar[ReasonCode]
    REASON_CODE_STATE_CHANGED: _ClassVar[ReasonCode]
    REASON_CODE_NOT_READY: _ClassVar[ReasonCode]
    REASON_CODE_INVALID_QUEUE: _ClassVar[ReasonCode]
    REASON_CODE_OVER_LIMIT: _ClassVar[ReasonCode]
    REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA: _ClassVar[ReasonCode]
    REASON_CODE_OVER_FAIR_SHARE: _ClassVar[ReasonCode]
    REASON_CODE_NO_NODE_MATCHES: _ClassVar[ReasonCode]
    REASON_CODE_NO_ROOM: _ClassVar[ReasonCode]
    REASON_CODE_NO_SOLUTION: _ClassVar[ReasonCode]
    REASON_CODE_BUDGET_EXHAUSTED: _ClassVar[ReasonCode]
    REASON_CODE_PREEMPTION_DELAY: _ClassVar[ReasonCode]
    REASON_CODE_SIMILAR_FAILED: _ClassVar[ReasonCode]
    REASON_CODE_MIN_RUNTIME: _ClassVar[ReasonCode]
    REASON_CODE_NON_PREEMPTIBLE: _ClassVar[ReasonCode]
    REASON_CODE_PRIORITY: _ClassVar[ReasonCode]
    REASON_CODE_WITHIN_SHARE: _ClassVar[ReasonCode]
    REASON_CODE_BLOCKED: _ClassVar[ReasonCode]

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
    OUTCOME_KIND_REJECTED_INPUT: _ClassVar[OutcomeKind]
REASON_CODE_UNSPECIFIED: ReasonCode
REASON_CODE_ALLOCATED: ReasonCode
REASON_CODE_PIPELINED: ReasonCode
REASON_CODE_RECLAIMED: ReasonCode
REASON_CODE_PREEMPTED: ReasonCode
REASON_CODE_CONSOLIDATED: ReasonCode
REASON_CODE_STALE_GANG: ReasonCode
REASON_CODE_VICTIMS_EVICTED: ReasonCode
REASON_CODE_STATE_CHANGED: ReasonCode
REASON_CODE_NOT_READY: ReasonCode
REASON_CODE_INVALID_QUEUE: ReasonCode
REASON_CODE_OVER_LIMIT: ReasonCode
REASON_CODE_NON_PREEMPTIBLE_OVER_QUOTA: ReasonCode
REASON_CODE_OVER_FAIR_SHARE: ReasonCode
REASON_CODE_NO_NODE_MATCHES: ReasonCode
REASON_CODE_NO_ROOM: ReasonCode
REASON_CODE_NO_SOLUTION: ReasonCode
REASON_CODE_BUDGET_EXHAUSTED: ReasonCode
REASON_CODE_PREEMPTION_DELAY: ReasonCode
REASON_CODE_SIMILAR_FAILED: ReasonCode
REASON_CODE_MIN_RUNTIME: ReasonCode
REASON_CODE_NON_PREEMPTIBLE: ReasonCode
REASON_CODE_PRIORITY: ReasonCode
REASON_CODE_WITHIN_SHARE: ReasonCode
REASON_CODE_BLOCKED: ReasonCode
OUTCOME_KIND_UNSPECIFIED: OutcomeKind
OUTCOME_KIND_BOUND: OutcomeKind
OUTCOME_KIND_WAITING_FOR_RELEASE: OutcomeKind
OUTCOME_KIND_WAITING_FOR_VICTIMS: OutcomeKind
OUTCOME_KIND_WAITING_FOR_QUOTA: OutcomeKind
OUTCOME_KIND_DELAYED: OutcomeKind
OUTCOME_KIND_INFEASIBLE: OutcomeKind
OUTCOME_KIND_BUDGET_EXHAUSTED: OutcomeKind
OUTCOME_KIND_REJECTED_INPUT: OutcomeKind

class DecisionGroup(_message.Message):
    __slots__ = ("id", "action", "beneficiary", "decisions")
    ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    BENEFICIARY_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    action: str
    beneficiary: str
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    def __init__(self, id: _Optional[str] = ..., action: _Optional[str] = ..., beneficiary: _Optional[str] = ..., decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("id", "bind", "evict", "hold", "requeue", "patch", "reason", "preconditions")
    ID_FIELD_NUMBER: _ClassVar[int]
    BIND_FIELD_NUMBER: _ClassVar[int]
    EVICT_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    REQUEUE_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRECONDITIONS_FIELD_NUMBER: _ClassVar[int]
    id: str
    bind: Bind
    evict: Evict
    hold: Hold
    requeue: Requeue
    patch: Patch
    reason: Reason
    preconditions: Preconditions
    def __init__(self, id: _Optional[str] = ..., bind: _Optional[_Union[Bind, _Mapping]] = ..., evict: _Optional[_Union[Evict, _Mapping]] = ..., hold: _Optional[_Union[Hold, _Mapping]] = ..., requeue: _Optional[_Union[Requeue, _Mapping]] = ..., patch: _Optional[_Union[Patch, _Mapping]] = ..., reason: _Optional[_Union[Reason, _Mapping]] = ..., preconditions: _Optional[_Union[Preconditions, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("pod", "node", "beneficiary", "moves")
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    BENEFICIARY_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    pod: str
    node: str
    beneficiary: str
    moves: bool
    def __init__(self, pod: _Optional[str] = ..., node: _Optional[str] = ..., beneficiary: _Optional[str] = ..., moves: bool = ...) -> None: ...

class Hold(_message.Message):
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

class Requeue(_message.Message):
    __slots__ = ("pod_group", "not_before")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    not_before: _timestamp_pb2.Timestamp
    def __init__(self, pod_group: _Optional[str] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Patch(_message.Message):
    __slots__ = ("pod_group", "last_start_time", "last_eviction_time", "stale_since", "clear_stale_since")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    LAST_START_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_EVICTION_TIME_FIELD_NUMBER: _ClassVar[int]
    STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    CLEAR_STALE_SINCE_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    last_start_time: _timestamp_pb2.Timestamp
    last_eviction_time: _timestamp_pb2.Timestamp
    stale_since: _timestamp_pb2.Timestamp
    clear_stale_since: bool
    def __init__(self, pod_group: _Optional[str] = ..., last_start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_eviction_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stale_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., clear_stale_since: bool = ...) -> None: ...

class Reason(_message.Message):
    __slots__ = ("code", "message", "source", "until")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    code: ReasonCode
    message: str
    source: str
    until: _timestamp_pb2.Timestamp
    def __init__(self, code: _Optional[_Union[ReasonCode, str]] = ..., message: _Optional[str] = ..., source: _Optional[str] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("pod_group", "kind", "reason", "bound", "held", "pending")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    kind: OutcomeKind
    reason: Reason
    bound: int
    held: int
    pending: int
    def __init__(self, pod_group: _Optional[str] = ..., kind: _Optional[_Union[OutcomeKind, str]] = ..., reason: _Optional[_Union[Reason, _Mapping]] = ..., bound: _Optional[int] = ..., held: _Optional[int] = ..., pending: _Optional[int] = ...) -> None: ...

class Protection(_message.Message):
    __slots__ = ("pod_group", "guard", "action", "until", "source", "against")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AGAINST_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    guard: str
    action: str
    until: _timestamp_pb2.Timestamp
    source: str
    against: str
    def __init__(self, pod_group: _Optional[str] = ..., guard: _Optional[str] = ..., action: _Optional[str] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[str] = ..., against: _Optional[str] = ...) -> None: ...

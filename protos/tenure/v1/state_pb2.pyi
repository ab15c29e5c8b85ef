import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import pod_group_status_pb2 as _pod_group_status_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Faults(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAULTS_UNSPECIFIED: _ClassVar[Faults]
    FAULTS_REFUSE: _ClassVar[Faults]
    FAULTS_SET_ASIDE: _ClassVar[Faults]

class StateErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_ERROR_CODE_UNSPECIFIED: _ClassVar[StateErrorCode]
    STATE_ERROR_CODE_UNKNOWN_STATE: _ClassVar[StateErrorCode]
    STATE_ERROR_CODE_VERSION_GAP: _ClassVar[StateErrorCode]
    STATE_ERROR_CODE_INVALID: _ClassVar[StateErrorCode]
    STATE_ERROR_CODE_CLOCK_REGRESSION: _ClassVar[StateErrorCode]
    STATE_ERROR_CODE_TOO_LARGE: _ClassVar[StateErrorCode]
    STATE_ERROR_CODE_STALE: _ClassVar[StateErrorCode]
FAULTS_UNSPECIFIED: Faults
FAULTS_REFUSE: Faults
FAULTS_SET_ASIDE: Faults
STATE_ERROR_CODE_UNSPECIFIED: StateErrorCode
STATE_ERROR_CODE_UNKNOWN_STATE: StateErrorCode
STATE_ERROR_CODE_VERSION_GAP: StateErrorCode
STATE_ERROR_CODE_INVALID: StateErrorCode
STATE_ERROR_CODE_CLOCK_REGRESSION: StateErrorCode
STATE_ERROR_CODE_TOO_LARGE: StateErrorCode
STATE_ERROR_CODE_STALE: StateErrorCode

class StateReference(_message.Message):
    __slots__ = ("cluster_id", "node_pool", "epoch", "version")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_POOL_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    node_pool: str
    epoch: str
    version: int
    def __init__(self, cluster_id: _Optional[str] = ..., node_pool: _Optional[str] = ..., epoch: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class PutSnapshotRequest(_message.Message):
    __slots__ = ("epoch", "chunk", "last_chunk", "faults")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    LAST_CHUNK_FIELD_NUMBER: _ClassVar[int]
    FAULTS_FIELD_NUMBER: _ClassVar[int]
    epoch: str
    chunk: _snapshot_pb2.ClusterSnapshot
    last_chunk: bool
    faults: Faults
    def __init__(self, epoch: _Optional[str] = ..., chunk: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., last_chunk: bool = ..., faults: _Optional[_Union[Faults, str]] = ...) -> None: ...

class PutSnapshotResponse(_message.Message):
    __slots__ = ("state", "set_aside")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SET_ASIDE_FIELD_NUMBER: _ClassVar[int]
    state: StateReference
    set_aside: SetAsideRows
    def __init__(self, state: _Optional[_Union[StateReference, _Mapping]] = ..., set_aside: _Optional[_Union[SetAsideRows, _Mapping]] = ...) -> None: ...

class SetAsideRows(_message.Message):
    __slots__ = ("rows", "total")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[SetAsideRow]
    total: int
    def __init__(self, rows: _Optional[_Iterable[_Union[SetAsideRow, _Mapping]]] = ..., total: _Optional[int] = ...) -> None: ...

class SetAsideRow(_message.Message):
    __slots__ = ("field", "key", "violations", "dependent")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    DEPENDENT_FIELD_NUMBER: _ClassVar[int]
    field: str
    key: str
    violations: _containers.RepeatedCompositeFieldContainer[FieldViolation]
    dependent: bool
    def __init__(self, field: _Optional[str] = ..., key: _Optional[str] = ..., violations: _Optional[_Iterable[_Union[FieldViolation, _Mapping]]] = ..., dependent: bool = ...) -> None: ...

class GetStateRequest(_message.Message):
    __slots__ = ("cluster_id", "node_pool", "include_pod_group_statuses")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_POOL_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_POD_GROUP_STATUSES_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    node_pool: str
    include_pod_group_statuses: bool
    def __init__(self, cluster_id: _Optional[str] = ..., node_pool: _Optional[str] = ..., include_pod_group_statuses: bool = ...) -> None: ...

class GetStateResponse(_message.Message):
    __slots__ = ("state", "chunk", "last_chunk", "pod_group_statuses", "unusable_gpus")
    STATE_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    LAST_CHUNK_FIELD_NUMBER: _ClassVar[int]
    POD_GROUP_STATUSES_FIELD_NUMBER: _ClassVar[int]
    UNUSABLE_GPUS_FIELD_NUMBER: _ClassVar[int]
    state: StateReference
    chunk: _snapshot_pb2.ClusterSnapshot
    last_chunk: bool
    pod_group_statuses: _containers.RepeatedCompositeFieldContainer[_pod_group_status_pb2.PodGroupStatus]
    unusable_gpus: _pod_group_status_pb2.UnusableGpus
    def __init__(self, state: _Optional[_Union[StateReference, _Mapping]] = ..., chunk: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., last_chunk: bool = ..., pod_group_statuses: _Optional[_Iterable[_Union[_pod_group_status_pb2.PodGroupStatus, _Mapping]]] = ..., unusable_gpus: _Optional[_Union[_pod_group_status_pb2.UnusableGpus, _Mapping]] = ...) -> None: ...

class StateDelta(_message.Message):
    __slots__ = ("base", "version", "now", "upserts", "removals")
    BASE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    UPSERTS_FIELD_NUMBER: _ClassVar[int]
    REMOVALS_FIELD_NUMBER: _ClassVar[int]
    base: StateReference
    version: int
    now: _timestamp_pb2.Timestamp
    upserts: _snapshot_pb2.ClusterSnapshot
    removals: StateKeys
    def __init__(self, base: _Optional[_Union[StateReference, _Mapping]] = ..., version: _Optional[int] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., upserts: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., removals: _Optional[_Union[StateKeys, _Mapping]] = ...) -> None: ...

class StateKeys(_message.Message):
    __slots__ = ("nodes", "queues", "pod_groups", "pods", "shapes", "topologies", "resource_claims", "eviction_history", "in_flight_groups", "disruption_budgets", "queue_usage", "eviction_rates", "planned_starts", "queue_runtimes", "postponed_pod_groups")
    NODES_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    SHAPES_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGIES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_CLAIMS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_HISTORY_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_GROUPS_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_BUDGETS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_USAGE_FIELD_NUMBER: _ClassVar[int]
    EVICTION_RATES_FIELD_NUMBER: _ClassVar[int]
    PLANNED_STARTS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RUNTIMES_FIELD_NUMBER: _ClassVar[int]
    POSTPONED_POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedScalarFieldContainer[str]
    queues: _containers.RepeatedScalarFieldContainer[str]
    pod_groups: _containers.RepeatedScalarFieldContainer[str]
    pods: _containers.RepeatedScalarFieldContainer[str]
    shapes: _containers.RepeatedScalarFieldContainer[str]
    topologies: _containers.RepeatedScalarFieldContainer[str]
    resource_claims: _containers.RepeatedScalarFieldContainer[str]
    eviction_history: _containers.RepeatedCompositeFieldContainer[_snapshot_pb2.EvictionRecord]
    in_flight_groups: _containers.RepeatedScalarFieldContainer[str]
    disruption_budgets: _containers.RepeatedScalarFieldContainer[str]
    queue_usage: _containers.RepeatedScalarFieldContainer[str]
    eviction_rates: _containers.RepeatedScalarFieldContainer[str]
    planned_starts: _containers.RepeatedScalarFieldContainer[str]
    queue_runtimes: _containers.RepeatedScalarFieldContainer[str]
    postponed_pod_groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodes: _Optional[_Iterable[str]] = ..., queues: _Optional[_Iterable[str]] = ..., pod_groups: _Optional[_Iterable[str]] = ..., pods: _Optional[_Iterable[str]] = ..., shapes: _Optional[_Iterable[str]] = ..., topologies: _Optional[_Iterable[str]] = ..., resource_claims: _Optional[_Iterable[str]] = ..., eviction_history: _Optional[_Iterable[_Union[_snapshot_pb2.EvictionRecord, _Mapping]]] = ..., in_flight_groups: _Optional[_Iterable[str]] = ..., disruption_budgets: _Optional[_Iterable[str]] = ..., queue_usage: _Optional[_Iterable[str]] = ..., eviction_rates: _Optional[_Iterable[str]] = ..., planned_starts: _Optional[_Iterable[str]] = ..., queue_runtimes: _Optional[_Iterable[str]] = ..., postponed_pod_groups: _Optional[_Iterable[str]] = ...) -> None: ...

class ApplyDeltaRequest(_message.Message):
    __slots__ = ("delta", "faults")
    DELTA_FIELD_NUMBER: _ClassVar[int]
    FAULTS_FIELD_NUMBER: _ClassVar[int]
    delta: StateDelta
    faults: Faults
    def __init__(self, delta: _Optional[_Union[StateDelta, _Mapping]] = ..., faults: _Optional[_Union[Faults, str]] = ...) -> None: ...

class ApplyDeltaResponse(_message.Message):
    __slots__ = ("state", "set_aside")
    STATE_FIELD_NUMBER: _ClassVar[int]
    SET_ASIDE_FIELD_NUMBER: _ClassVar[int]
    state: StateReference
    set_aside: SetAsideRows
    def __init__(self, state: _Optional[_Union[StateReference, _Mapping]] = ..., set_aside: _Optional[_Union[SetAsideRows, _Mapping]] = ...) -> None: ...

class SyncStateRequest(_message.Message):
    __slots__ = ("nonce", "delta", "faults")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    FAULTS_FIELD_NUMBER: _ClassVar[int]
    nonce: str
    delta: StateDelta
    faults: Faults
    def __init__(self, nonce: _Optional[str] = ..., delta: _Optional[_Union[StateDelta, _Mapping]] = ..., faults: _Optional[_Union[Faults, str]] = ...) -> None: ...

class SyncStateResponse(_message.Message):
    __slots__ = ("nonce", "state", "error", "set_aside")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SET_ASIDE_FIELD_NUMBER: _ClassVar[int]
    nonce: str
    state: StateReference
    error: StateError
    set_aside: SetAsideRows
    def __init__(self, nonce: _Optional[str] = ..., state: _Optional[_Union[StateReference, _Mapping]] = ..., error: _Optional[_Union[StateError, _Mapping]] = ..., set_aside: _Optional[_Union[SetAsideRows, _Mapping]] = ...) -> None: ...

class StateError(_message.Message):
    __slots__ = ("code", "message", "violations", "resync_required")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    RESYNC_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    code: StateErrorCode
    message: str
    violations: _containers.RepeatedCompositeFieldContainer[FieldViolation]
    resync_required: bool
    def __init__(self, code: _Optional[_Union[StateErrorCode, str]] = ..., message: _Optional[str] = ..., violations: _Optional[_Iterable[_Union[FieldViolation, _Mapping]]] = ..., resync_required: bool = ...) -> None: ...

class FieldViolation(_message.Message):
    __slots__ = ("field", "description")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    description: str
    def __init__(self, field: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

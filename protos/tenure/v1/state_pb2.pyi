import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StateFaultCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_FAULT_CODE_UNSPECIFIED: _ClassVar[StateFaultCode]
    STATE_FAULT_CODE_UNKNOWN_STATE: _ClassVar[StateFaultCode]
    STATE_FAULT_CODE_VERSION_GAP: _ClassVar[StateFaultCode]
    STATE_FAULT_CODE_INVALID: _ClassVar[StateFaultCode]
    STATE_FAULT_CODE_CLOCK_REGRESSION: _ClassVar[StateFaultCode]
    STATE_FAULT_CODE_TOO_LARGE: _ClassVar[StateFaultCode]
    STATE_FAULT_CODE_STALE: _ClassVar[StateFaultCode]
STATE_FAULT_CODE_UNSPECIFIED: StateFaultCode
STATE_FAULT_CODE_UNKNOWN_STATE: StateFaultCode
STATE_FAULT_CODE_VERSION_GAP: StateFaultCode
STATE_FAULT_CODE_INVALID: StateFaultCode
STATE_FAULT_CODE_CLOCK_REGRESSION: StateFaultCode
STATE_FAULT_CODE_TOO_LARGE: StateFaultCode
STATE_FAULT_CODE_STALE: StateFaultCode

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
    __slots__ = ("epoch", "part", "last")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    epoch: str
    part: _snapshot_pb2.ClusterSnapshot
    last: bool
    def __init__(self, epoch: _Optional[str] = ..., part: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., last: bool = ...) -> None: ...

class PutSnapshotResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: StateReference
    def __init__(self, state: _Optional[_Union[StateReference, _Mapping]] = ...) -> None: ...

class GetStateRequest(_message.Message):
    __slots__ = ("cluster_id", "node_pool")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_POOL_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    node_pool: str
    def __init__(self, cluster_id: _Optional[str] = ..., node_pool: _Optional[str] = ...) -> None: ...

class GetStateResponse(_message.Message):
    __slots__ = ("state", "part", "last")
    STATE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    state: StateReference
    part: _snapshot_pb2.ClusterSnapshot
    last: bool
    def __init__(self, state: _Optional[_Union[StateReference, _Mapping]] = ..., part: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., last: bool = ...) -> None: ...

class StateDelta(_message.Message):
    __slots__ = ("base", "version", "now", "upserts", "removes")
    BASE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    UPSERTS_FIELD_NUMBER: _ClassVar[int]
    REMOVES_FIELD_NUMBER: _ClassVar[int]
    base: StateReference
    version: int
    now: _timestamp_pb2.Timestamp
    upserts: _snapshot_pb2.ClusterSnapshot
    removes: StateKeys
    def __init__(self, base: _Optional[_Union[StateReference, _Mapping]] = ..., version: _Optional[int] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., upserts: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., removes: _Optional[_Union[StateKeys, _Mapping]] = ...) -> None: ...

class StateKeys(_message.Message):
    __slots__ = ("nodes", "queues", "pod_groups", "pods", "shapes", "topologies", "device_claims", "eviction_memory", "in_flight_groups")
    NODES_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    POD_GROUPS_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    SHAPES_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGIES_FIELD_NUMBER: _ClassVar[int]
    DEVICE_CLAIMS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_MEMORY_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_GROUPS_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedScalarFieldContainer[str]
    queues: _containers.RepeatedScalarFieldContainer[str]
    pod_groups: _containers.RepeatedScalarFieldContainer[str]
    pods: _containers.RepeatedScalarFieldContainer[str]
    shapes: _containers.RepeatedScalarFieldContainer[str]
    topologies: _containers.RepeatedScalarFieldContainer[str]
    device_claims: _containers.RepeatedScalarFieldContainer[str]
    eviction_memory: _containers.RepeatedCompositeFieldContainer[_snapshot_pb2.EvictionMemory]
    in_flight_groups: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodes: _Optional[_Iterable[str]] = ..., queues: _Optional[_Iterable[str]] = ..., pod_groups: _Optional[_Iterable[str]] = ..., pods: _Optional[_Iterable[str]] = ..., shapes: _Optional[_Iterable[str]] = ..., topologies: _Optional[_Iterable[str]] = ..., device_claims: _Optional[_Iterable[str]] = ..., eviction_memory: _Optional[_Iterable[_Union[_snapshot_pb2.EvictionMemory, _Mapping]]] = ..., in_flight_groups: _Optional[_Iterable[str]] = ...) -> None: ...

class ApplyDeltaRequest(_message.Message):
    __slots__ = ("delta",)
    DELTA_FIELD_NUMBER: _ClassVar[int]
    delta: StateDelta
    def __init__(self, delta: _Optional[_Union[StateDelta, _Mapping]] = ...) -> None: ...

class ApplyDeltaResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: StateReference
    def __init__(self, state: _Optional[_Union[StateReference, _Mapping]] = ...) -> None: ...

class SyncStateRequest(_message.Message):
    __slots__ = ("nonce", "delta")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    nonce: str
    delta: StateDelta
    def __init__(self, nonce: _Optional[str] = ..., delta: _Optional[_Union[StateDelta, _Mapping]] = ...) -> None: ...

class SyncStateResponse(_message.Message):
    __slots__ = ("nonce", "state", "fault")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    nonce: str
    state: StateReference
    fault: StateFault
    def __init__(self, nonce: _Optional[str] = ..., state: _Optional[_Union[StateReference, _Mapping]] = ..., fault: _Optional[_Union[StateFault, _Mapping]] = ...) -> None: ...

class StateFault(_message.Message):
    __slots__ = ("code", "message", "fields", "resync_required")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    RESYNC_REQUIRED_FIELD_NUMBER: _ClassVar[int]
    code: StateFaultCode
    message: str
    fields: _containers.RepeatedCompositeFieldContainer[FieldFault]
    resync_required: bool
    def __init__(self, code: _Optional[_Union[StateFaultCode, str]] = ..., message: _Optional[str] = ..., fields: _Optional[_Iterable[_Union[FieldFault, _Mapping]]] = ..., resync_required: bool = ...) -> None: ...

class FieldFault(_message.Message):
    __slots__ = ("field", "description")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    description: str
    def __init__(self, field: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

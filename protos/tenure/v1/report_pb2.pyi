import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import decision_pb2 as _decision_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ApplyStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPLY_STATUS_UNSPECIFIED: _ClassVar[ApplyStatus]
    APPLY_STATUS_APPLIED: _ClassVar[ApplyStatus]
    APPLY_STATUS_PRECONDITION_FAILED: _ClassVar[ApplyStatus]
    APPLY_STATUS_FAILED: _ClassVar[ApplyStatus]

class GroupState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GROUP_STATE_UNSPECIFIED: _ClassVar[GroupState]
    GROUP_STATE_COMPLETED: _ClassVar[GroupState]
    GROUP_STATE_IN_FLIGHT: _ClassVar[GroupState]
    GROUP_STATE_CANCELLED: _ClassVar[GroupState]
    GROUP_STATE_RETRY: _ClassVar[GroupState]
    GROUP_STATE_CONFLICT: _ClassVar[GroupState]
APPLY_STATUS_UNSPECIFIED: ApplyStatus
APPLY_STATUS_APPLIED: ApplyStatus
APPLY_STATUS_PRECONDITION_FAILED: ApplyStatus
APPLY_STATUS_FAILED: ApplyStatus
GROUP_STATE_UNSPECIFIED: GroupState
GROUP_STATE_COMPLETED: GroupState
GROUP_STATE_IN_FLIGHT: GroupState
GROUP_STATE_CANCELLED: GroupState
GROUP_STATE_RETRY: GroupState
GROUP_STATE_CONFLICT: GroupState

class ReportResultsRequest(_message.Message):
    __slots__ = ("cluster_id", "node_pool", "now", "groups")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_POOL_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    node_pool: str
    now: _timestamp_pb2.Timestamp
    groups: _containers.RepeatedCompositeFieldContainer[GroupReport]
    def __init__(self, cluster_id: _Optional[str] = ..., node_pool: _Optional[str] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[GroupReport, _Mapping]]] = ...) -> None: ...

class GroupReport(_message.Message):
    __slots__ = ("group", "results", "eviction_history")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_HISTORY_FIELD_NUMBER: _ClassVar[int]
    group: _decision_pb2.DecisionGroup
    results: _containers.RepeatedCompositeFieldContainer[DecisionResult]
    eviction_history: _containers.RepeatedCompositeFieldContainer[_snapshot_pb2.EvictionRecord]
    def __init__(self, group: _Optional[_Union[_decision_pb2.DecisionGroup, _Mapping]] = ..., results: _Optional[_Iterable[_Union[DecisionResult, _Mapping]]] = ..., eviction_history: _Optional[_Iterable[_Union[_snapshot_pb2.EvictionRecord, _Mapping]]] = ...) -> None: ...

class DecisionResult(_message.Message):
    __slots__ = ("decision_id", "status", "detail", "retryable", "retry_time")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    decision_id: str
    status: ApplyStatus
    detail: str
    retryable: bool
    retry_time: _timestamp_pb2.Timestamp
    def __init__(self, decision_id: _Optional[str] = ..., status: _Optional[_Union[ApplyStatus, str]] = ..., detail: _Optional[str] = ..., retryable: bool = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ReportResultsResponse(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[GroupStatus]
    def __init__(self, groups: _Optional[_Iterable[_Union[GroupStatus, _Mapping]]] = ...) -> None: ...

class GroupStatus(_message.Message):
    __slots__ = ("id", "state", "message", "patches", "retry_time", "conflicting_decision_ids", "in_flight")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PATCHES_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    CONFLICTING_DECISION_IDS_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: GroupState
    message: str
    patches: _containers.RepeatedCompositeFieldContainer[PatchToStore]
    retry_time: _timestamp_pb2.Timestamp
    conflicting_decision_ids: _containers.RepeatedScalarFieldContainer[str]
    in_flight: _snapshot_pb2.InFlightGroup
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[GroupState, str]] = ..., message: _Optional[str] = ..., patches: _Optional[_Iterable[_Union[PatchToStore, _Mapping]]] = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., conflicting_decision_ids: _Optional[_Iterable[str]] = ..., in_flight: _Optional[_Union[_snapshot_pb2.InFlightGroup, _Mapping]] = ...) -> None: ...

class PatchToStore(_message.Message):
    __slots__ = ("decision_id", "patch", "returned_tokens")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    RETURNED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    decision_id: str
    patch: _decision_pb2.Patch
    returned_tokens: ReturnedTokens
    def __init__(self, decision_id: _Optional[str] = ..., patch: _Optional[_Union[_decision_pb2.Patch, _Mapping]] = ..., returned_tokens: _Optional[_Union[ReturnedTokens, _Mapping]] = ...) -> None: ...

class ReturnedTokens(_message.Message):
    __slots__ = ("name", "tokens_milli")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MILLI_FIELD_NUMBER: _ClassVar[int]
    name: str
    tokens_milli: int
    def __init__(self, name: _Optional[str] = ..., tokens_milli: _Optional[int] = ...) -> None: ...

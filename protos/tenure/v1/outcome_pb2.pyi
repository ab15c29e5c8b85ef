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

class StepResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_RESULT_UNSPECIFIED: _ClassVar[StepResult]
    STEP_RESULT_APPLIED: _ClassVar[StepResult]
    STEP_RESULT_REJECTED_PRECONDITION: _ClassVar[StepResult]
    STEP_RESULT_FAILED: _ClassVar[StepResult]

class GroupFate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GROUP_FATE_UNSPECIFIED: _ClassVar[GroupFate]
    GROUP_FATE_FINISHED: _ClassVar[GroupFate]
    GROUP_FATE_IN_FLIGHT: _ClassVar[GroupFate]
    GROUP_FATE_CANCEL: _ClassVar[GroupFate]
    GROUP_FATE_RETRY: _ClassVar[GroupFate]
    GROUP_FATE_CONFLICT: _ClassVar[GroupFate]
STEP_RESULT_UNSPECIFIED: StepResult
STEP_RESULT_APPLIED: StepResult
STEP_RESULT_REJECTED_PRECONDITION: StepResult
STEP_RESULT_FAILED: StepResult
GROUP_FATE_UNSPECIFIED: GroupFate
GROUP_FATE_FINISHED: GroupFate
GROUP_FATE_IN_FLIGHT: GroupFate
GROUP_FATE_CANCEL: GroupFate
GROUP_FATE_RETRY: GroupFate
GROUP_FATE_CONFLICT: GroupFate

class ReportOutcomeRequest(_message.Message):
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
    __slots__ = ("group", "steps", "eviction_memory")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    EVICTION_MEMORY_FIELD_NUMBER: _ClassVar[int]
    group: _decision_pb2.DecisionGroup
    steps: _containers.RepeatedCompositeFieldContainer[StepReport]
    eviction_memory: _containers.RepeatedCompositeFieldContainer[_snapshot_pb2.EvictionMemory]
    def __init__(self, group: _Optional[_Union[_decision_pb2.DecisionGroup, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[StepReport, _Mapping]]] = ..., eviction_memory: _Optional[_Iterable[_Union[_snapshot_pb2.EvictionMemory, _Mapping]]] = ...) -> None: ...

class StepReport(_message.Message):
    __slots__ = ("decision_id", "result", "detail", "retryable", "retry_time")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    decision_id: str
    result: StepResult
    detail: str
    retryable: bool
    retry_time: _timestamp_pb2.Timestamp
    def __init__(self, decision_id: _Optional[str] = ..., result: _Optional[_Union[StepResult, str]] = ..., detail: _Optional[str] = ..., retryable: bool = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ReportOutcomeResponse(_message.Message):
    __slots__ = ("groups",)
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[GroupVerdict]
    def __init__(self, groups: _Optional[_Iterable[_Union[GroupVerdict, _Mapping]]] = ...) -> None: ...

class GroupVerdict(_message.Message):
    __slots__ = ("id", "fate", "message", "patches", "retry_time", "conflicting_steps")
    ID_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PATCHES_FIELD_NUMBER: _ClassVar[int]
    RETRY_TIME_FIELD_NUMBER: _ClassVar[int]
    CONFLICTING_STEPS_FIELD_NUMBER: _ClassVar[int]
    id: str
    fate: GroupFate
    message: str
    patches: _containers.RepeatedCompositeFieldContainer[DuePatch]
    retry_time: _timestamp_pb2.Timestamp
    conflicting_steps: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., fate: _Optional[_Union[GroupFate, str]] = ..., message: _Optional[str] = ..., patches: _Optional[_Iterable[_Union[DuePatch, _Mapping]]] = ..., retry_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., conflicting_steps: _Optional[_Iterable[str]] = ...) -> None: ...

class DuePatch(_message.Message):
    __slots__ = ("decision_id", "patch")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    decision_id: str
    patch: _decision_pb2.Patch
    def __init__(self, decision_id: _Optional[str] = ..., patch: _Optional[_Union[_decision_pb2.Patch, _Mapping]] = ...) -> None: ...

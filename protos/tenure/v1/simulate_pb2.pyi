import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import decide_pb2 as _decide_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from tenure.v1 import state_pb2 as _state_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SimulateRequest(_message.Message):
    __slots__ = ("snapshot", "state", "now", "upserts", "removals", "actions", "cycles", "interval", "estimate_starts", "include_pod_group_statuses")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    UPSERTS_FIELD_NUMBER: _ClassVar[int]
    REMOVALS_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_STARTS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_POD_GROUP_STATUSES_FIELD_NUMBER: _ClassVar[int]
    snapshot: _snapshot_pb2.ClusterSnapshot
    state: _state_pb2.StateReference
    now: _timestamp_pb2.Timestamp
    upserts: _snapshot_pb2.ClusterSnapshot
    removals: _state_pb2.StateKeys
    actions: _containers.RepeatedScalarFieldContainer[str]
    cycles: int
    interval: _duration_pb2.Duration
    estimate_starts: bool
    include_pod_group_statuses: bool
    def __init__(self, snapshot: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., state: _Optional[_Union[_state_pb2.StateReference, _Mapping]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., upserts: _Optional[_Union[_snapshot_pb2.ClusterSnapshot, _Mapping]] = ..., removals: _Optional[_Union[_state_pb2.StateKeys, _Mapping]] = ..., actions: _Optional[_Iterable[str]] = ..., cycles: _Optional[int] = ..., interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., estimate_starts: bool = ..., include_pod_group_statuses: bool = ...) -> None: ...

class SimulateResponse(_message.Message):
    __slots__ = ("cycles",)
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    cycles: _containers.RepeatedCompositeFieldContainer[_decide_pb2.DecideResponse]
    def __init__(self, cycles: _Optional[_Iterable[_Union[_decide_pb2.DecideResponse, _Mapping]]] = ...) -> None: ...
